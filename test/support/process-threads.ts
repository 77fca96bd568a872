// Threads that end at random moments while a store is busy. Nothing may be lost, and nobody may wait for ever.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { open } from '../../src/opening.js';
import type { Store } from '../../src/store.js';
import { JournalThread } from '../../src/threads/journal-thread.js';
import { sleep } from './process-child.js';
import { randomFrom } from './random.js';

export type Thread = 'journal' | 'snapshot';

export interface ThreadReport {
  deaths: number;
  steps: number;
  flushes: number;
  /** Codes of what was reported, with how often. */
  faults: Record<string, number>;
  wrong: string[];
}

interface State {
  n: number;
  items: number[];
  text: string;
}

/**
 * The first flush that resolves after a death may have been durable before it. The second may be durable while its
 * successor is still starting. The third is the work of one that is up.
 */
const FLUSHES_OF_USE = 3;

const POOLS = Symbol.for('holdfast.snapshot-pools');

function snapshotWorkers(): Worker[] {
  const pools = (globalThis as { [POOLS]?: Map<string, { pool: { threads: Worker[] } }> })[POOLS];
  return [...(pools?.values() ?? [])].flatMap(({ pool }) => pool.threads);
}

export async function terminateAgainAndAgain(
  directory: string,
  thread: Thread,
  deaths: number,
  seed: number,
  workersUrl: URL,
): Promise<ThreadReport> {
  const random = randomFrom(seed);
  const report: ThreadReport = { deaths: 0, steps: 0, flushes: 0, faults: {}, wrong: [] };
  const options = { workersUrl, projectDelayMs: 5, audit: true };
  const listen = (store: Store) => {
    store.on('fault', ({ code, message }) => {
      report.faults[code] = (report.faults[code] ?? 0) + 1;
      if (code !== 'HF_THREAD') report.wrong.push(`${code}: ${message}`);
    });
    return store;
  };
  const initial: State = { n: 0, items: [], text: '' };
  let store = listen(await open(directory, options));
  let doc = await store.doc<State>('a', { initial });
  const step = () => {
    const isLarge = random() < 0.02;
    doc.update((s) => {
      s.n++;
      s.items.push(s.n);
      if (s.items.length > 50) s.items.shift();
      // Now and then a frame too large for the ring.
      s.text = 'x'.repeat(isLarge ? 400_000 : Math.floor(random() * 500));
    });
    report.steps++;
  };
  let isRunning = true;
  const busy = (async () => {
    while (isRunning) {
      for (let left = 1 + random() * 10; left > 0; left--) step();
      if (random() < 0.5) {
        const { version } = doc;
        await store.flush({ projected: random() < 0.3 });
        if (doc.durableVersion < version) report.wrong.push(`flushed ${version}, durable is ${doc.durableVersion}`);
        report.flushes++;
      } else await sleep(random() * 4);
    }
  })();
  busy.catch((error: Error) => {
    isRunning = false;
    report.wrong.push(error.message);
  });
  let flushes = 0;
  let isFresh = true;
  while (report.deaths < deaths && isRunning) {
    await sleep(random() * 60);
    // Twice in a row before it is of any use, and then it has its turn: one that never gets up is another matter.
    while (!isFresh && report.flushes < flushes + FLUSHES_OF_USE && isRunning) await sleep(1);
    isFresh = report.flushes >= flushes + FLUSHES_OF_USE;
    const workers = snapshotWorkers();
    if (thread === 'journal') await JournalThread.of(workersUrl).terminate();
    else await Promise.all(workers.map((worker) => worker.terminate()));
    // Only now: what resolves while a thread is ending is still its work.
    flushes = report.flushes;
    // One that is between two lives cannot die.
    if (thread === 'journal') report.deaths = report.faults.HF_THREAD ?? 0;
    else if (workers.length > 0) report.deaths++;
  }
  isRunning = false;
  await busy.catch(() => undefined);
  await store.flush({ projected: true });
  const text = readFileSync(join(directory, 'a.json'), 'utf8');
  if (text !== `${JSON.stringify(doc.state, null, 2)}\n`) report.wrong.push('a.json did not catch up');
  if (store.health().phase !== 'open') report.wrong.push(`the phase is ${store.health().phase}`);
  const expected = JSON.stringify(doc.state);
  await store.close();
  store = listen(await open(directory, options));
  doc = await store.doc<State>('a', { initial });
  if (JSON.stringify(doc.state) !== expected) report.wrong.push(`found ${doc.state.n} after reopening`);
  await store.close();
  return report;
}

export function show(thread: Thread, { deaths, steps, flushes, faults }: ThreadReport): string {
  return `The ${thread} thread died ${deaths} times in ${steps} steps and ${flushes} flushes; reported: ${JSON.stringify(faults)}`;
}
