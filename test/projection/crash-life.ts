// A document's files through a life with publications, failures and restarts, stopped after any call; and what must
// hold of whatever is then found.

import type { Press } from '../../src/projection/press.js';
import { removeDocument } from '../../src/projection/remove.js';
import { crashStates, killState } from '../support/crash-states.js';
import { type Call, faultOf, type RecordingDisk, Stopped } from '../support/recording-disk.js';
import { emptyStore, inspectAt, newPress, publishVersion, STORE, version, versionsOf } from './support.js';

export interface Life {
  disk: RecordingDisk;
  /** Per document: the highest version asked for, and the highest one that was reported as published. */
  issued: Map<string, number>;
  published: Map<string, number>;
}

export type Story = (life: Life) => void;

export function publishIn(life: Life, press: Press, name: string, n: number, backups = 3): void {
  life.issued.set(name, n);
  publishVersion(press, name, n, { backups });
  life.published.set(name, n);
}

/** Three documents, one in new folders; a rename that fails; then another process goes on. */
export function wholeLife(life: Life): void {
  const { disk } = life;
  const press = newPress(disk);
  for (let n = 1; n <= 3; n++) publishIn(life, press, 'loop', n);
  publishIn(life, press, 'a/b/c', 1);
  publishIn(life, press, 'one', 1, 1);
  disk.inject = failingRename;
  try {
    publishIn(life, press, 'loop', 4);
  } catch (error) {
    if (error instanceof Stopped) throw error;
  }
  disk.inject = undefined;
  publishIn(life, press, 'a/b/c', 2);
  publishIn(life, press, 'loop', 5);
  const next = newPress(disk);
  publishIn(life, next, 'loop', 5);
  publishIn(life, next, 'loop', 6);
  publishIn(life, next, 'one', 2, 1);
  publishIn(life, next, 'one', 3, 1);
}

const failingRename = (call: Call) =>
  call.name === 'rename' && call.to === `${STORE}/loop.json` ? faultOf('EIO', call) : undefined;

export function removal(life: Life): void {
  const press = newPress(life.disk);
  for (let n = 1; n <= 2; n++) publishIn(life, press, 'loop', n);
  life.published.set('loop', 0);
  removeDocument(press, { name: 'loop', isKept: false, isNewest: () => true });
}

export interface Options {
  ignoreSync?: ((call: Call) => boolean) | undefined;
  model?: 'posix' | 'journal';
  random?: number;
  /** After every n-th stop another process goes on, with a stop at each of its calls. 0 for none. */
  goOnEvery?: number;
  /** What it publishes: 0 is what it finds in truth, 1 the next version. */
  goOnWith?: number[];
  isNested?: boolean;
}

export function runUntil(
  story: Story,
  from: RecordingDisk,
  steps: number | null,
  ignoreSync?: Options['ignoreSync'],
): Life {
  const disk = from.clone();
  if (ignoreSync !== undefined) Object.assign(disk, { ignoreSync, siteDepth: 1 });
  if (steps !== null) disk.stopAfter(steps);
  const life: Life = { disk, issued: new Map(), published: new Map() };
  try {
    story(life);
  } catch (error) {
    if (!(error instanceof Stopped)) throw error;
  }
  return life;
}

export interface Found {
  stops: number;
  states: number;
  violations: string[];
}

/** Stops the story after every call and looks at every state that may be left. */
export function explore(story: Story, options: Options = {}, start = emptyStore()): Found {
  const { model = 'posix', random = 0, goOnEvery = 0, ignoreSync, isNested = false } = options;
  const found: Found = { stops: 0, states: 0, violations: [] };
  const total = runUntil(story, start, null, ignoreSync).disk.steps;
  for (let steps = start.steps; steps <= total; steps++) {
    const life = runUntil(story, start, steps, ignoreSync);
    found.stops++;
    for (const state of [killState(life.disk), ...crashStates(life.disk, { model, random, seed: steps })]) {
      found.states++;
      const problem = problemOf(state, life) ?? (isNested ? null : goesOn(state, life));
      if (problem !== null) found.violations.push(`stopped after ${steps} of ${total}: ${problem}\n${state.dump()}`);
    }
    if (ignoreSync !== undefined && found.violations.length > 0) return found;
    if (goOnEvery > 0 && steps % goOnEvery === 0) interrupt(killState(life.disk), life, options, found);
  }
  return found;
}

/** Killed, not cut off: what was not synced is still there for the next process, and may be lost under it. */
function interrupt(killed: RecordingDisk, before: Life, options: Options, found: Found): void {
  const { ignoreSync, goOnWith = [0, 1] } = options;
  const story: Story = (life) => {
    for (const [name, n] of before.issued) life.issued.set(name, n);
    for (const [name, n] of before.published) life.published.set(name, n);
    const press = newPress(life.disk);
    for (const [name, n] of before.issued) for (const more of goOnWith) publishIn(life, press, name, n + more);
  };
  const nested = explore(story, { ignoreSync, isNested: true }, killed);
  found.states += nested.states;
  found.violations.push(...nested.violations);
}

/** Null when every file is one complete version, in order, and nothing of ours is taken for somebody else's. */
function problemOf(state: RecordingDisk, { issued, published }: Life): string | null {
  for (const [name, highest] of issued) {
    const versions = versionsOf(state, `${STORE}/${name}.json`);
    const shown = `${name}: ${versions.map((n) => String(n).slice(0, 30)).join(', ')}`;
    const [main] = versions;
    const least = published.get(name) ?? 0;
    if (least > 0 && (main === null || Number(main) < least)) return `${shown}: ${least} was published`;
    const present = versions.filter((n) => n !== null);
    if (present.some((n) => typeof n === 'string')) return `${shown}: not a complete version`;
    if (present.some((n, index) => index > 0 && Number(n) > Number(present[index - 1])))
      return `${shown}: not in order`;
    const { kind } = inspectAt(state, name, version(highest));
    if (kind !== 'sound' && kind !== 'stale' && !(kind === 'missing' && least === 0)) return `${shown}: ${kind}`;
  }
  return null;
}

/** The next process publishes, and that survives. */
function goesOn(state: RecordingDisk, { issued }: Life): string | null {
  const disk = state.clone();
  const press = newPress(disk);
  for (const [name, highest] of issued) {
    const { kind } = publishVersion(press, name, highest + 1);
    if (kind !== 'published') return `${name}: the next version is ${kind}`;
  }
  const [worst] = crashStates(disk);
  for (const [name, highest] of issued) {
    const { kind } = inspectAt(worst as RecordingDisk, name, version(highest + 1));
    if (kind !== 'sound') return `${name}: after the next version it is ${kind}`;
  }
  return null;
}
