// What runs in the processes that are killed, cut off and refused: a subject that saves at an irregular pace, or loads.
// Lines go out by a blocking write: what was printed was printed before the next thing happened.

import { once } from 'node:events';
import { say } from '../../src/cli/say.js';
import { sleep } from '../../test/support/process-child.js';
import { randomFrom } from '../../test/support/random.js';
import type { Driver, Found, Session } from './contract.js';
import { driverOf } from './drivers/index.js';
import { identify, stateOf } from './state.js';
import { wayOf } from './ways.js';
import { limitWorkers } from './worker-memory.js';

export interface SaveOrder {
  driver: string;
  directory: string;
  seed: number;
  /** The first version to save. @default one more than is found */
  from?: number;
  /** @default until it is ended */
  saves?: number;
  /** The longest pause between two saves. @default 6 */
  paceMs?: number;
  /** Between saying that it opens and opening: whoever cuts then needs a moment too. @default 0 */
  openDelayMs?: number;
  /** The first save that fails is the last. @default it goes on */
  endsAtFailure?: boolean;
  /** Do not close at the end. */
  isLeft?: boolean;
  /** Print `holding n` after these versions, 0 being before the folder is opened, and wait for a line on stdin. */
  holdsAt?: readonly number[];
  /** Instead of closing: begin one more save, wait for nothing, and end so much later: SIGKILL, or one of WAYS. */
  ending?: { way: string; afterMs: number };
  /** Worker threads that are started have so much memory. */
  workerHeapMb?: number;
}

/** Prints `opening`, `found <json>`, then `issued n` and `acked n` (or `failed n message`) for each save, then `closed`. */
export async function save(order: SaveOrder): Promise<void> {
  const { seed, saves = Number.POSITIVE_INFINITY, paceMs = 6 } = order;
  const random = randomFrom(seed);
  say('opening');
  if (order.openDelayMs !== undefined) await sleep(order.openDelayMs);
  if (order.workerHeapMb !== undefined) limitWorkers(order.workerHeapMb);
  await hold(order, 0);
  const { session, found } = await openAndLoad(driverOf(order.driver), order.directory);
  say(`found ${JSON.stringify(found)}`);
  if (session === null) {
    process.exitCode = 3;
    return;
  }
  let n = order.from ?? (found.kind === 'intact' ? found.n + 1 : 1);
  for (const end = n + saves; n < end; n++) {
    say(`issued ${n}`);
    try {
      await session.save(stateOf(n));
      say(`acked ${n}`);
    } catch (error) {
      say(`failed ${n} ${oneLine(error)}`);
      if (order.endsAtFailure === true) break;
    }
    await hold(order, n);
    if (random() < 0.7) await sleep(random() * paceMs);
  }
  if (order.ending !== undefined) {
    say(`issued ${n}`);
    session.saveSoon(stateOf(n));
    await endBy(order.ending);
    return;
  }
  if (order.isLeft !== true) await session.close();
  say('closed');
}

async function endBy({ way, afterMs }: { way: string; afterMs: number }): Promise<void> {
  if (afterMs > 0) await sleep(afterMs);
  if (way === 'SIGKILL') process.kill(process.pid, way);
  const known = wayOf(way);
  if (known.kind === 'inside') return known.end();
  // Who listens to signals has to end it.
  setInterval(() => undefined, 1000);
  process.kill(process.pid, known.signal);
}

async function hold({ holdsAt = [] }: SaveOrder, n: number): Promise<void> {
  if (!holdsAt.includes(n)) return;
  say(`holding ${n}`);
  process.stdin.resume();
  await once(process.stdin, 'data');
  process.stdin.pause();
}

/** Prints `found <json>`, then `closed`. */
export async function load(order: { driver: string; directory: string }): Promise<void> {
  const { session, found } = await openAndLoad(driverOf(order.driver), order.directory);
  say(`found ${JSON.stringify(found)}`);
  await session?.close();
  say('closed');
}

export interface LeaveOrder {
  driver: string;
  directory: string;
  /** Saves that are awaited before the one that is not. */
  saves: number;
  /** The name of one of WAYS. */
  way: string;
}

/** Prints `found`, `issued` and `acked` like `save`, `issued` for the save that nobody waits for, and `ready` for a signal. */
export async function leave({ driver, directory, saves, way: name }: LeaveOrder): Promise<void> {
  const way = wayOf(name);
  const { session, found } = await openAndLoad(driverOf(driver), directory);
  say(`found ${JSON.stringify(found)}`);
  if (session === null) throw new Error(`${driver} could not be opened`);
  for (let n = 1; n <= saves; n++) {
    say(`issued ${n}`);
    await session.save(stateOf(n));
    say(`acked ${n}`);
  }
  say(`issued ${saves + 1}`);
  session.saveSoon(stateOf(saves + 1));
  if (way.kind === 'inside') return way.end();
  setInterval(() => undefined, 1000);
  say('ready');
}

/** The session is null when it could not even be opened. */
export async function openAndLoad(
  driver: Driver,
  directory: string,
): Promise<{ session: Session | null; found: Found }> {
  let session: Session | null = null;
  try {
    session = await driver.open(directory);
    return { session, found: identify(await session.load()) };
  } catch (error) {
    return { session, found: { kind: 'refused', message: oneLine(error) } };
  }
}

export function oneLine(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return `${code === undefined ? '' : `${String(code)} `}${String(message ?? error)}`.replaceAll(/\s+/g, ' ');
}
