// The same, written as a loop: one job at a time, and the body says how it ended.

import { HoldfastError } from '../errors.js';
import type { Claim, Items } from './claims.js';
import { type ResumableOptions, settleLoop } from './options.js';
import { pause, retryDelay } from './pause.js';
import { Glitch, type ItemEnd, reasonOf } from './progress.js';
import { Session } from './session.js';

/** One try of one item. It takes exactly one result. */
export interface Job<T> {
  readonly id: string;
  readonly item: T;
  /** Which try of this run it is, from 1. */
  readonly attempt: number;
  /** Resolves when it is durable: this item never runs again. `output` is passed on to `onProgress`; it is not saved. */
  done(output?: unknown): Promise<void>;
  /**
   * The job comes again after a while, as long as there are `retries`; then the item is recorded as failed. After the run
   * was stopped, or with a `Glitch` as the reason, nothing is recorded, as with `glitch()`.
   */
  failed(reason: unknown): Promise<void>;
  /** The item is not at fault: nothing is recorded, a later run tries again. */
  glitch(): Promise<void>;
}

/**
 * Jobs for every item that is not done. What was in progress when an earlier run died comes first, where `items` can be
 * walked twice. Ends after the job in hand when `signal` is aborted. A body that throws, breaks or returns leaves its job
 * in progress, to be run again next time.
 */
export async function* resumable<T>(
  items: Items<T>,
  path: string,
  options: ResumableOptions<T> = {},
): AsyncGenerator<Job<T>, void, undefined> {
  const session = await Session.open(items, path, settleLoop(options));
  let isWhole = false;
  try {
    for (let claim = await session.next(); claim !== null; claim = await session.next()) {
      for (let attempt = 1; ; attempt++) {
        const job = new Attempt(session, claim, attempt);
        yield job;
        if (!(await job.ending())) break;
        session.state.beginAgain(claim.id);
      }
    }
    isWhole = true;
  } finally {
    await session.close(isWhole);
  }
}

class Attempt<T> implements Job<T> {
  readonly id: string;
  readonly item: T;
  readonly attempt: number;
  readonly #session: Session<T>;
  #ended: Promise<void> | null = null;
  #mayRetry = false;
  #reason = '';

  constructor(session: Session<T>, { id, item }: Claim<T>, attempt: number) {
    this.#session = session;
    this.id = id;
    this.item = item;
    this.attempt = attempt;
  }

  done(output?: unknown): Promise<void> {
    return this.#end({ id: this.id, status: 'done', output });
  }

  failed(reason: unknown): Promise<void> {
    const { isStopped, settings } = this.#session;
    // Whoever stops in the middle throws something: that says nothing about the item.
    if (isStopped) return this.glitch();
    if (this.attempt > settings.retries) return reason instanceof Glitch ? this.glitch() : this.#fail(reason);
    return this.#once(() => {
      this.#mayRetry = true;
      this.#reason = reasonOf(reason);
      return Promise.resolve();
    });
  }

  glitch(): Promise<void> {
    return this.#end({ id: this.id, status: 'outstanding' });
  }

  #fail(reason: unknown): Promise<void> {
    return this.#end({ id: this.id, status: 'failed', reason: reasonOf(reason) });
  }

  /** Waits for the result, also when the body did not. True when the job is to be tried again now. */
  async ending(): Promise<boolean> {
    const session = this.#session;
    if (this.#ended === null) {
      throw new HoldfastError(
        'HF_LOOP',
        `The job '${this.id}' got no result. Call done, failed or glitch before the next one. It will run again.`,
        { details: { id: this.id } },
      );
    }
    await this.#ended;
    if (!this.#mayRetry) return false;
    await pause(retryDelay(this.attempt, session.settings), session.stopSignal);
    if (session.isStopped) await session.end({ id: this.id, status: 'outstanding' });
    return !session.isStopped;
  }

  #end(end: ItemEnd): Promise<void> {
    return this.#once(() => this.#session.end(end));
  }

  #once(act: () => Promise<void>): Promise<void> {
    if (this.#ended !== null) {
      const message = `The job '${this.id}' has its result already${this.#reason && `: it failed (${this.#reason})`}.`;
      return Promise.reject(new HoldfastError('HF_LOOP', message, { details: { id: this.id } }));
    }
    this.#ended = act();
    // Whoever did not wait for it hears of it at the next job.
    this.#ended.catch(() => undefined);
    return this.#ended;
  }
}
