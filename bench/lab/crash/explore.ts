// The disks that a crash may leave at any moment of a recording: each once, with all the moments at which it may be left.

import { crashStates } from '../../../test/support/crash-states.js';
import { randomFrom } from '../../../test/support/random.js';
import { RecordingDisk } from '../../../test/support/recording-disk.js';
import { type Found, judge, type Verdict } from '../contract.js';
import { shuffled } from '../lanes.js';
import type { Replay, Step } from './replay.js';
import type { TracedCall } from './trace-text.js';

/**
 * 'posix': a name is durable when its directory was synced, and before that any subset of them is kept. 'journal': names
 * are kept in the order they were made, and a sync that has to write the log takes along all before it.
 */
export type Model = 'posix' | 'journal';

export interface CrashCase {
  state: RecordingDisk;
  /** After these steps it may be what is left. */
  moments: Step[];
}

export interface ExploreOptions {
  model: Model;
  /** At most so many states. */
  size: number;
  seed: number;
}

/** From about this many times as many as are wanted the ones to check are drawn. */
const DRAWN_FROM = 3;
/** A step that is looked into is looked into so far at least. */
const PER_STEP_MIN = 12;
/** What never syncs has thousands of pieces in the end. */
const SINGLES_MAX = 20;

const FATES = { pages: 'cached', singlesMax: SINGLES_MAX } as const;

/** `begin` gives a new replay each time: the first run only counts the steps. */
export function explore(
  begin: () => Replay,
  lives: readonly TracedCall[][],
  { model, size, seed }: ExploreOptions,
): CrashCase[] {
  const stepCount = Math.max(1, [...allSteps(begin(), lives)].length);
  const perStep = (DRAWN_FROM * size) / stepCount;
  const perStepMax = Math.max(PER_STEP_MIN, Math.ceil(perStep));
  const draw = randomFrom(seed);
  const known = new Map<string, CrashCase>();
  // What is durable at each step comes first: it is what most syncs are there for.
  const surest: CrashCase[] = [];
  const others: CrashCase[] = [];
  const replay = begin();
  let at = 0;
  for (const step of allSteps(replay, lives)) {
    const disk = RecordingDisk.fromTree(replay.root, () => '');
    const states = crashStates(disk, { ...FATES, model, random: perStepMax, seed: seed + at++ });
    const isLookedInto = draw() < perStep / PER_STEP_MIN;
    for (const [index, state] of (isLookedInto ? sample(states, perStepMax, draw) : first(states)).entries()) {
      const hash = state.hash();
      const same = known.get(hash);
      if (same !== undefined) {
        same.moments.push(step);
        continue;
      }
      const one = { state, moments: [step] };
      known.set(hash, one);
      (index === 0 ? surest : others).push(one);
    }
  }
  return [...shuffled(surest, draw), ...shuffled(others, draw)].slice(0, size);
}

function* allSteps(replay: Replay, lives: readonly TracedCall[][]): Generator<Step> {
  for (const life of lives) yield* replay.run(life);
}

function first<T>(from: Iterable<T>): T[] {
  for (const one of from) return [one];
  return [];
}

/** The first one always; of the others each is as likely as the next. */
function sample<T>(from: Iterable<T>, max: number, draw: () => number): T[] {
  const kept: T[] = [];
  let count = 0;
  for (const one of from) {
    count++;
    if (kept.length < max) kept.push(one);
    else {
      const at = 1 + Math.floor(draw() * (count - 1));
      if (at < max) kept[at] = one;
    }
  }
  return kept;
}

/** The first promise that is broken, if any: at each of its moments the same must do. */
export function judgeCase({ moments }: CrashCase, found: Found): { verdict: Verdict; at: Step | undefined } {
  for (const at of moments) {
    const verdict = judge(found, at);
    if (verdict.kind !== 'intact') return { verdict, at };
  }
  return { verdict: { kind: 'intact' }, at: moments[0] };
}
