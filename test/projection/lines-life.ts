// The JSON Lines of a log through a life with projections, a compaction and a restart, stopped after any call.

import { compact, forget, project } from '../../src/projection/station.js';
import { Truth } from '../../src/truth.js';
import { crashStates, killState } from '../support/crash-states.js';
import { type Call, RecordingDisk, Stopped } from '../support/recording-disk.js';
import { STORE, storeIdAt } from './support.js';

export const LINES = `${STORE}/events.jsonl`;

export type Ignore = ((call: Call) => boolean) | undefined;

export function projectLog(disk: RecordingDisk, truth: Truth, owner: number) {
  truth.flush();
  const request = { directory: STORE, storeId: storeIdAt(disk), owner, toSeq: truth.durableSeq };
  const report = project(
    { ...request, documents: [{ name: 'log:events', backups: 0 }] },
    { disk, critical: (fn) => fn(), isNewest: () => true },
  );
  return report.documents[0]?.outcome;
}

function life(disk: RecordingDisk): void {
  const truth = new Truth(STORE, { disk });
  const append = (from: number, to: number) => {
    for (let n = from; n < to; n++) truth.log('events').append({ n, text: 'x'.repeat(n * 7) });
  };
  append(0, 3);
  projectLog(disk, truth, 1);
  append(3, 5);
  projectLog(disk, truth, 1);
  truth.rotate();
  const request = { directory: STORE, storeId: storeIdAt(disk), owner: 1, number: 50, timeMs: 0 };
  compact({ ...request, toSeq: truth.durableSeq }, { disk, critical: (fn) => fn(), isNewest: () => true });
  append(5, 7);
  projectLog(disk, truth, 1);
  truth.abandon();
}

export interface Found {
  states: number;
  violations: string[];
}

/** Wherever it stopped, the next process shows every entry, and takes nothing of it for damage. */
export function exploreLines(ignoreSync: Ignore): Found {
  const found: Found = { states: 0, violations: [] };
  const run = (steps: number | null) => {
    const disk = new RecordingDisk(ignoreSync === undefined ? {} : { ignoreSync, siteDepth: 1 });
    if (steps !== null) disk.stopAfter(steps);
    try {
      life(disk);
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
    }
    return disk;
  };
  const total = run(null).steps;
  for (let steps = 0; steps <= total; steps++) {
    const disk = run(steps);
    for (const state of [killState(disk), ...crashStates(disk)]) {
      found.states++;
      const problem = problemOf(state);
      if (problem !== null) found.violations.push(`stopped after ${steps} of ${total}: ${problem}`);
      if (ignoreSync !== undefined && found.violations.length > 0) return found;
    }
  }
  return found;
}

/** Also when its disk has stopped. */
function letGo(id: Buffer): void {
  try {
    forget(id);
  } catch (error) {
    if (!(error instanceof Stopped)) throw error;
  }
}

function problemOf(state: RecordingDisk): string | null {
  const truth = new Truth(STORE, { disk: state });
  truth.log('events').append('last');
  const storeId = storeIdAt(state);
  letGo(storeId);
  try {
    const outcome = projectLog(state, truth, 2);
    const text = Buffer.from(state.files().get(LINES) ?? '').toString();
    const right = truth.readLog('events').map((entry) => `${JSON.stringify(entry)}\n`);
    if (text !== right.join('')) return `the lines are ${text}`;
    if (outcome?.kind !== 'published') return `nothing was written: ${JSON.stringify(outcome)}`;
    return outcome.found === undefined ? null : `a crash was taken for: ${outcome.found}`;
  } finally {
    forget(storeId);
  }
}
