// One run over the items: the state, the next item, and what is told about both. Who works on the items is not known here.

import { setMaxListeners } from 'node:events';
import { assertItems, type Claim, Claims, type Items, keyWith, sizeOf } from './claims.js';
import type { LoopSettings } from './options.js';
import { type ItemEnd, type LoopSummary, resumedLine, Tally } from './progress.js';
import { LoopState } from './state.js';

export class Session<T> {
  readonly claims: Claims<T>;
  readonly state: LoopState;
  readonly settings: LoopSettings<T>;
  readonly #tally: Tally;
  readonly #stop: AbortController;
  readonly #onAbort = () => this.stop('signal');
  #stopped: LoopSummary['stopped'] = null;
  #interrupted = 0;

  /** Opens the state, tells what was interrupted, and waits for whoever wants to clear up after it. */
  static async open<T>(items: Items<T>, path: string, settings: LoopSettings<T>): Promise<Session<T>> {
    assertItems(items);
    const total = settings.given.total ?? sizeOf(items);
    const state = await LoopState.create(path, { ...settings.state, total });
    const session = new Session(items, state, settings);
    try {
      await session.#begin(items);
      return session;
    } catch (error) {
      await session.close(false);
      throw error;
    }
  }

  private constructor(items: Items<T>, state: LoopState, settings: LoopSettings<T>) {
    const { key, total, signal } = settings.given;
    this.state = state;
    this.settings = settings;
    this.#tally = new Tally(total ?? sizeOf(items));
    this.#stop = new AbortController();
    // As many as are being worked on listen to it, and what their work calls.
    setMaxListeners(0, this.#stop.signal);
    this.claims = new Claims(items, state, keyWith(key), this.#tally, this.#stop.signal);
    if (signal?.aborted === true) this.#onAbort();
    signal?.addEventListener('abort', this.#onAbort);
  }

  /** Aborted when nothing more is to be begun. */
  get stopSignal(): AbortSignal {
    return this.#stop.signal;
  }

  get isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  /** `why`: null when the run cannot go on, which its caller learns by an error. */
  stop(why: LoopSummary['stopped']): void {
    if (this.isStopped) return;
    this.#stopped = why;
    this.#stop.abort(this.settings.given.signal?.reason);
  }

  next(): Promise<Claim<T> | null> {
    return this.claims.next();
  }

  /** Records what became of an item. Durable when it resolves, and told after that. */
  async end(end: ItemEnd): Promise<void> {
    const { id } = end;
    if (end.status === 'outstanding') this.claims.leave(id);
    await this.state.end(id, resultOf(end));
    const progress = this.#tally.note(end);
    await this.settings.given.onProgress?.(progress);
  }

  get summary(): LoopSummary {
    const { counts, elapsedMs } = this.#tally;
    return { ...counts, interrupted: this.#interrupted, stopped: this.#stopped, elapsedMs };
  }

  /** `isWhole`: all items were seen. */
  async close(isWhole: boolean): Promise<void> {
    this.settings.given.signal?.removeEventListener('abort', this.#onAbort);
    this.claims.close();
    try {
      if (isWhole && !this.isStopped) await this.claims.forgetLost();
    } finally {
      await this.state.close();
    }
  }

  async #begin(items: Items<T>): Promise<void> {
    const { given, retryFailed } = this.settings;
    const interrupted = this.claims.findInterrupted();
    this.#interrupted = interrupted.length;
    if (given.log !== undefined) this.#greet(items, given.log);
    if (retryFailed) this.state.reopen();
    if (interrupted.length > 0) await given.onInterrupted?.(interrupted);
  }

  #greet(items: Items<T>, log: (line: string) => void): void {
    const { given } = this.settings;
    const { completed, failed } = this.state;
    // Of a list at hand those that are done can be counted; it may no longer hold all that ever were.
    const keyOf = keyWith(given.key);
    const done = Array.isArray(items)
      ? items.reduce((sum: number, item: T) => sum + Number(this.state.isDone(keyOf(item))), 0)
      : completed.length + failed.length;
    const line = resumedLine(done, given.total ?? sizeOf(items), this.#interrupted);
    if (line !== null) log(line);
  }
}

function resultOf(end: ItemEnd) {
  switch (end.status) {
    case 'done':
      return { status: 'success' } as const;
    case 'failed':
      return { status: 'error', reason: end.reason } as const;
    case 'outstanding':
      return { status: 'glitch' } as const;
    default:
      return end satisfies never;
  }
}
