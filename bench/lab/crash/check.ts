// One recording put through its crashes: the states, what the subject makes of each, and whether it may.

import { realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Driver, Found } from '../contract.js';
import { memoryFolder } from '../folder-copy.js';
import type { LoaderPool } from '../loader-pool.js';
import type { Row, RowCounter } from '../report.js';
import { build } from './build.js';
import { type CrashCase, type ExploreOptions, explore, judgeCase } from './explore.js';
import { assertFaithful } from './fidelity.js';
import { loadAll } from './loaders.js';
import { emptyRoot, type Recording, record, recordLoad } from './record.js';
import { Replay, type Sync } from './replay.js';

export interface CheckOptions extends ExploreOptions {
  scratch: string;
  pool: LoaderPool;
  /** Such a sync does nothing. */
  ignoreSync?: (sync: Sync) => boolean;
  onProgress?: () => void;
}

/** Returns the states of which the subject made what it may: what comes of the others is known. */
export async function check(
  counter: RowCounter,
  driver: Driver,
  { base, lives }: Recording,
  { ignoreSync, ...options }: CheckOptions,
): Promise<CrashCase[]> {
  const isLogged = options.model === 'journal';
  const begin = () => new Replay({ base, root: emptyRoot(), isLogged, ...(ignoreSync && { ignoreSync }) });
  const cases = explore(begin, lives, options);
  return judgeAll(counter, driver, cases, options);
}

/** Crashes while what a crash left is being opened: the folder is this state, and the calls are those of a load. */
export async function checkRecovery(
  counter: RowCounter,
  driver: Driver,
  { state, moments }: CrashCase,
  options: CheckOptions,
): Promise<void> {
  const base = join(options.scratch, 'recovery');
  build(state, base);
  const { calls } = await recordLoad(driver.id, base);
  rmSync(base, { recursive: true });
  const [acked, issued] = [Math.max(...moments.map((at) => at.acked)), Math.min(...moments.map((at) => at.issued))];
  const begin = () => new Replay({ base, root: state.clone().root, acked, issued });
  await judgeAll(counter, driver, explore(begin, [calls], options), options);
}

async function judgeAll(
  counter: RowCounter,
  { id }: Driver,
  cases: readonly CrashCase[],
  { onProgress, ...where }: CheckOptions,
): Promise<CrashCase[]> {
  const intact: CrashCase[] = [];
  await loadAll(id, cases, where, (one: CrashCase, found: Found) => {
    const { verdict, at } = judgeCase(one, found);
    counter.add(verdict, `after ${at?.what} (${at?.acked} of ${at?.issued} acknowledged), ${brief(one)}`);
    if (verdict.kind === 'intact') intact.push(one);
    onProgress?.();
  });
  return intact;
}

const LINES_MAX = 4;

/** What was not kept, which is mostly less than what was. */
function brief({ state }: CrashCase): string {
  const lines = state.origin().split('\n').slice(1);
  const gone = lines.filter((line) => !line.endsWith(' kept')).map((line) => line.trim());
  const more = gone.length - LINES_MAX;
  return `power cut: ${gone.slice(0, LINES_MAX).join('; ') || 'all kept'}${more > 0 ? `; and ${more} more` : ''}`;
}

/**
 * A recording, and a folder of its own for what is done with it, gone afterwards. In memory where there is such a place: the
 * model is the disk, and it knows what is synced. Waiting for a real one shows nothing.
 */
export async function withRecording<T>(
  driver: Driver,
  { scratch, seed }: { scratch: string; seed: number },
  use: (recording: Recording, scratch: string) => Promise<T>,
): Promise<T> {
  // What the traced process says of its folder has no links in it.
  const own = realpathSync(memoryFolder(scratch));
  try {
    const recording = await record(driver.id, join(own, 'run'), seed);
    assertFaithful(recording);
    return await use(recording, own);
  } finally {
    rmSync(own, { recursive: true });
  }
}

export function violations({ outcomes }: Row): number {
  return outcomes.lost + outcomes.missing + outcomes.damaged + outcomes.wrong;
}

export function seen({ trials, outcomes }: Row): string {
  const bad = Object.entries(outcomes).filter(([kind, count]) => kind !== 'intact' && count > 0);
  return `${bad.map(([kind, count]) => `${count} ${kind}`).join(', ') || 'all intact'} of ${trials}`;
}
