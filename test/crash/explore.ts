// Stops a script after every call, lets the power fail in every way the medium allows, and recovers.

import { Truth } from '../../src/truth.js';
import { crashStates, killState } from '../support/crash-states.js';
import { type Call, RecordingDisk, Stopped } from '../support/recording-disk.js';
import { Script, STORE, stateOf } from './script.js';

export type Story = (script: Script) => void;

export interface ExploreOptions {
  model?: 'posix' | 'journal';
  /** Random fates per stop, beside the extremes. */
  random?: number;
  /** Of the states found, every n-th is also recovered with a stop at each call of recovery. 0 for none. */
  interruptEvery?: number;
  ignoreSync?: (call: Call) => boolean;
  /** Stop at the first violation. */
  isHasty?: boolean;
}

export interface Exploration {
  stops: number;
  states: number;
  interrupted: number;
  violations: string[];
}

/** Runs the story until the machine stops after `steps` calls; null for all of it. */
export function runUntil(story: Story, steps: number | null, ignoreSync?: (call: Call) => boolean): Script {
  const disk = new RecordingDisk(ignoreSync === undefined ? {} : { ignoreSync, siteDepth: 1 });
  if (steps !== null) disk.stopAfter(steps);
  const script = new Script(disk);
  try {
    story(script);
  } catch (error) {
    if (!(error instanceof Stopped)) throw error;
  }
  return script;
}

export function explore(story: Story, options: ExploreOptions = {}): Exploration {
  const { model = 'posix', random = 0, interruptEvery = 0, ignoreSync, isHasty = false } = options;
  const found: Exploration = { stops: 0, states: 0, interrupted: 0, violations: [] };
  const total = runUntil(story, null, ignoreSync).disk.steps;
  for (let steps = 0; steps <= total; steps++) {
    const script = runUntil(story, steps, ignoreSync);
    found.stops++;
    for (const state of [killState(script.disk), ...crashStates(script.disk, { model, random, seed: steps })]) {
      found.states++;
      const where = `stopped after ${steps} of ${total} calls`;
      const problem = judge(state, script) ?? null;
      if (problem !== null) found.violations.push(`${where}: ${problem}\n${state.dump()}`);
      if (problem === null && interruptEvery > 0 && found.states % interruptEvery === 0) {
        interrupt(state, script, where, found);
      }
      if (isHasty && found.violations.length > 0) return found;
    }
  }
  return found;
}

/** Null when recovery gives a state between acknowledged and issued and goes on to work. */
function judge(state: RecordingDisk, script: Script): string | null {
  const disk = state.clone();
  const opened = tryOpen(disk);
  if (opened instanceof Error) return opened.message;
  const problem = compare(opened, script);
  if (problem !== null) return problem;
  return goOn(opened, disk);
}

function tryOpen(disk: RecordingDisk): Truth | Error {
  try {
    return new Truth(STORE, { disk, now: () => 1_700_000_000_000 });
  } catch (error) {
    if (error instanceof Stopped) throw error;
    return error as Error;
  }
}

function compare(truth: Truth, { states, acknowledged, issued }: Script): string | null {
  const { lastSeq } = truth;
  if (lastSeq < acknowledged || lastSeq > issued) return `recovered ${lastSeq}, not ${acknowledged} to ${issued}`;
  if (stateOf(truth) !== states[lastSeq]) return `commit ${lastSeq} is ${stateOf(truth)}, not ${states[lastSeq]}`;
  const note = truth.notes.find(({ kind }) => kind !== 'cut');
  return note === undefined ? null : `a crash was taken for damage: ${JSON.stringify(note)}`;
}

/** What recovery accepted, and what is saved after it, must survive the next power cut. */
function goOn(truth: Truth, disk: RecordingDisk): string | null {
  const { lastSeq } = truth;
  truth.doc('later', { initial: { saved: true } });
  truth.flush();
  const [worst] = crashStates(disk);
  const again = tryOpen(worst as RecordingDisk);
  if (again instanceof Error) return `after recovery and a power cut: ${again.message}`;
  return again.lastSeq > lastSeq ? null : 'what was saved after recovery is gone after a power cut';
}

function interrupt(state: RecordingDisk, script: Script, where: string, found: Exploration): void {
  const whole = state.clone();
  tryOpen(whole);
  for (let steps = state.steps; steps <= whole.steps; steps++) {
    const disk = state.clone();
    disk.stopAfter(steps);
    try {
      tryOpen(disk);
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
    }
    for (const next of [killState(disk), ...crashStates(disk)]) {
      found.interrupted++;
      const problem = judge(next, script);
      if (problem !== null) found.violations.push(`${where}, then recovery after ${steps} calls: ${problem}`);
    }
  }
}
