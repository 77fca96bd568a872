// A loop that can be killed at any moment and goes on where it was.

import type { Claim, Items } from './claims.js';
import { type RunOptions, settleLoop } from './options.js';
import { pause, retryDelay } from './pause.js';
import { Glitch, type ItemEnd, type LoopSummary, reasonOf } from './progress.js';
import { Session } from './session.js';
import { onInterrupt } from './stop.js';

export interface WorkContext {
  readonly id: string;
  /** Which try of this run it is, from 1. */
  readonly attempt: number;
  /** Aborted when the run is to stop: work that then throws leaves its item outstanding. */
  readonly signal: AbortSignal;
}

export type Work<T> = (item: T, context: WorkContext) => unknown;

/**
 * Runs `work` for every item that is not done, and saves after each one. What was in progress when an earlier run died
 * comes first, where `items` can be walked twice. Work that throws is tried again (`retries`), then recorded as failed;
 * if it throws a `Glitch`, nothing is recorded and a later run tries again. Resolves with counts when all items were
 * seen or `signal` was aborted. Rejects when saving or taking items fails; what was acknowledged stays so.
 */
export async function runLoop<T>(
  items: Items<T>,
  path: string,
  work: Work<T>,
  options: RunOptions<T> = {},
): Promise<LoopSummary> {
  if (typeof work !== 'function') throw new TypeError(`Expected \`work\` to be a function, got ${typeof work}`);
  const session = await Session.open(items, path, settleLoop(options));
  const leave = onInterrupt(() => session.stop('SIGINT'));
  try {
    await workOnAll(session, work);
  } finally {
    await leave();
  }
  return session.summary;
}

async function workOnAll<T>(session: Session<T>, work: Work<T>): Promise<void> {
  const faults: unknown[] = [];
  const worker = async () => {
    try {
      for (let claim = await session.next(); claim !== null; claim = await session.next()) {
        await session.end(await workOn(session, work, claim));
      }
    } catch (error) {
      // The others finish what they have begun; nothing more is begun.
      faults.push(error);
      session.stop(null);
    }
  };
  await Promise.all(Array.from({ length: session.settings.concurrency }, worker));
  try {
    await session.close(faults.length === 0);
  } catch (error) {
    faults.push(error);
  }
  if (faults.length > 0) throw faults[0];
}

async function workOn<T>(session: Session<T>, work: Work<T>, { id, item }: Claim<T>): Promise<ItemEnd> {
  const { settings, stopSignal: signal } = session;
  for (let attempt = 1; ; attempt++) {
    try {
      const output = await work(item, { id, attempt, signal });
      return { id, status: 'done', output };
    } catch (error) {
      if (!session.isStopped && attempt <= settings.retries) await pause(retryDelay(attempt, settings), signal);
      // Whoever stops in the middle throws something: that says nothing about the item.
      if (session.isStopped) return { id, status: 'outstanding' };
      if (attempt > settings.retries) {
        if (error instanceof Glitch) return { id, status: 'outstanding' };
        return { id, status: 'failed', reason: reasonOf(error) };
      }
      session.state.beginAgain(id);
    }
  }
}
