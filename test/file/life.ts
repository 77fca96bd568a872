// Files in two directories that are written together, on a disk that can be stopped after any call; and what must hold of
// whatever is then found.

import { dirname } from 'node:path';
import type { LockRecord } from '../../src/disk/lock-record.js';
import { HoldfastError } from '../../src/errors.js';
import type { FileDisk } from '../../src/file/disk.js';
import { readPointer } from '../../src/file/intent.js';
import type { Liveness } from '../../src/file/liveness.js';
import { emptyReport, type RecoveryReport, settle, type Tools } from '../../src/file/recover.js';
import { replaceFile } from '../../src/file/replace.js';
import { sweepTemps } from '../../src/file/temps.js';
import { replaceFiles } from '../../src/file/transaction.js';
import { crashStates, killState } from '../support/crash-states.js';
import { type Call, RecordingDisk, Stopped } from '../support/recording-disk.js';

export type TestDisk = RecordingDisk & FileDisk;

export const A = '/work/a';
export const B = '/work/b';
export const TARGETS = [`${A}/one`, `${A}/two`, `${B}/one`, `${B}/new`];

/** What a version of a file holds; null where there is none. */
export function contentOf(target: string, version: 'old' | 'new' | 'later'): string | null {
  if (version === 'old' && target.endsWith('/new')) return null;
  return `${version} content of ${target} ${version.repeat(100)}`;
}

/** What the recording disk does not model is the same for every file. */
export function asFileDisk(disk: RecordingDisk): TestDisk {
  const owner = { uid: process.geteuid?.() ?? 0, gid: 0 };
  const ownerOf = (path: string) => (disk.entry(path) === null ? null : owner);
  const readLink = (): never => {
    throw new Error('There are no links here');
  };
  const identityOf = (path: string) => String(disk.entry(path)?.ino);
  return Object.assign(disk, { ownerOf, setOwner: () => undefined, readLink, identityOf });
}

export function oldFiles(): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>([[`${B}/other`, Buffer.from('not part of it')]]);
  for (const target of TARGETS) {
    const content = contentOf(target, 'old');
    if (content !== null) files.set(target, Buffer.from(content));
  }
  return files;
}

/** No name is used twice, also on another disk. */
let announced = 0;

/** Everyone who ever announced is alive until the machine or the process stops; then a new one of these knows nobody. */
export function newLiveness(): Liveness & { clockMs: number } {
  const alive = new Set<string | null>();
  return {
    clockMs: 0,
    announce: async () => {
      const socket = `.owner-${++announced}`;
      alive.add(socket);
      const texts = { pidNamespace: '', startTime: '', bootId: '', machineId: '', host: 'here', since: '' };
      const record: LockRecord = { state: 'held', socket, pid: 1, ...texts };
      return { record, close: async () => void alive.delete(socket) };
    },
    judge: async (_directory, { socket }) => (alive.has(socket) ? { kind: 'alive' } : { kind: 'dead' }),
    async sleep(ms) {
      this.clockMs += ms;
    },
    now() {
      return this.clockMs;
    },
  };
}

export function toolsFor(disk: TestDisk): Tools {
  return { disk, liveness: newLiveness() };
}

export interface Life {
  disk: TestDisk;
  /** What each file may hold: the last acknowledged version, or the one under way. */
  isAcknowledged: boolean;
}

export type Story = (life: Life) => Promise<void>;

export const writeAll: Story = async (life) => {
  const files = TARGETS.map((target) => {
    return { target, bytes: Buffer.from(contentOf(target, 'new') ?? ''), mode: 0o644 };
  });
  await replaceFiles(toolsFor(life.disk), files, emptyReport());
  life.isAcknowledged = true;
};

export function write(disk: TestDisk, target: string, content: string, durable = true): void {
  replaceFile(disk, { target, bytes: Buffer.from(content), mode: 0o644, backups: 0, durable, isJson: false });
}

export interface Start {
  steps: number | null;
  ignoreSync?: ((call: Call) => boolean) | undefined;
  files?: RecordingDisk;
}

/** Until the machine stops after `steps` calls; null for all of it. */
export async function runUntil(story: Story, { steps, ignoreSync, files }: Start): Promise<Life> {
  const disk = asFileDisk((files ?? RecordingDisk.fromFiles(oldFiles())).clone());
  disk.ignoreSync = ignoreSync;
  disk.siteDepth = ignoreSync === undefined ? 0 : 3;
  if (steps !== null) disk.stopAfter(disk.steps + steps);
  const life: Life = { disk, isAcknowledged: false };
  await unlessStopped(() => story(life));
  return life;
}

export async function unlessStopped(run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!(error instanceof Stopped)) throw error;
  }
}

/** What a next call in this directory does first. */
export async function recoverIn(disk: TestDisk, directory: string): Promise<RecoveryReport> {
  const report = emptyReport();
  await settle(toolsFor(disk), {
    directory,
    report,
    isCompatible: () => true,
    isUnrelated: () => false,
    takeover: false,
  });
  return report;
}

export function sweepAll(disk: TestDisk): void {
  // Long after: the names here are those of this very process, which is alive.
  const later = Date.now() * 2;
  for (const directory of [A, B]) sweepTemps(disk, directory, () => readPointer(disk, directory)?.id ?? null, later);
}

export type Version = 'old' | 'new' | 'mixed';

export function versionIn(disk: RecordingDisk): Version {
  const files = disk.files();
  const is = (version: 'old' | 'new') =>
    TARGETS.every((target) => {
      const bytes = files.get(target);
      return (bytes === undefined ? null : Buffer.from(bytes).toString()) === contentOf(target, version);
    });
  return is('old') ? 'old' : is('new') ? 'new' : 'mixed';
}

export function litterIn(disk: RecordingDisk): string[] {
  return [...disk.files().keys()].filter((path) => /\/\.|conflict/.test(path) && !path.endsWith('.tmp'));
}

export interface Exploration {
  stops: number;
  states: number;
  interrupted: number;
  violations: string[];
}

export interface Options {
  model?: 'posix' | 'journal';
  random?: number;
  /** Of the states found, every n-th is also recovered with a stop at each call of recovery. 0 for none. */
  interruptEvery?: number;
  ignoreSync?: ((call: Call) => boolean) | undefined;
  files?: RecordingDisk;
  isHasty?: boolean;
  isKillOnly?: boolean;
}

type Judge = (disk: TestDisk, life: Life, directory: string) => Promise<string | null>;

/** Null when the next call, in either directory, finds all old or all new files, and nothing is left of it. */
export const allOrNone: Judge = async (disk, life, directory) => {
  const report = await recoverIn(disk, directory);
  const version = versionIn(disk);
  if (version === 'mixed') return `neither all old nor all new after recovery in ${directory}`;
  if (life.isAcknowledged && version !== 'new') return 'what was acknowledged is gone';
  if (report.conflicts.length > 0) return `a crash was taken for a conflict: ${JSON.stringify(report)}`;
  await recoverIn(disk, directory === A ? B : A);
  sweepAll(disk);
  if (versionIn(disk) !== version) return 'the second recovery changed it';
  if (litterIn(disk).length > 0) return `left behind: ${litterIn(disk).join(' ')}`;
  const [worst] = crashStates(disk);
  const after = asFileDisk(worst as RecordingDisk);
  await recoverIn(after, directory);
  return versionIn(after) === version ? null : 'a power cut after recovery changed it';
};

export async function explore(story: Story, options: Options = {}, judge: Judge = allOrNone): Promise<Exploration> {
  const {
    model = 'posix',
    random = 0,
    interruptEvery = 0,
    ignoreSync,
    files,
    isHasty = false,
    isKillOnly = false,
  } = options;
  const found: Exploration = { stops: 0, states: 0, interrupted: 0, violations: [] };
  const start = files === undefined ? { ignoreSync } : { ignoreSync, files };
  const total = (await runUntil(story, { steps: null, ...start })).disk.steps;
  for (let steps = 0; steps <= total; steps++) {
    const life = await runUntil(story, { steps, ...start });
    found.stops++;
    const where = `stopped after ${steps} of ${total} calls`;
    const cuts = isKillOnly ? [] : crashStates(life.disk, { model, random, seed: steps });
    for (const state of [killState(life.disk), ...cuts]) {
      found.states++;
      for (const directory of [A, B]) {
        const disk = hooked(state, ignoreSync);
        const problem = await told(() => judge(disk, life, directory));
        if (problem !== null) found.violations.push(`${where}: ${problem}\n${state.dump()}`);
      }
      if (interruptEvery > 0 && found.states % interruptEvery === 0) {
        await interrupt(state, life, where, found, judge, ignoreSync);
      }
      if (isHasty && found.violations.length > 0) return found;
    }
  }
  return found;
}

/** A refusal is a violation like any other: no crash may leave what the next call refuses. */
async function told(judge: () => Promise<string | null>): Promise<string | null> {
  try {
    return await judge();
  } catch (error) {
    if (error instanceof HoldfastError) return error.message;
    throw error;
  }
}

function hooked(state: RecordingDisk, ignoreSync: Options['ignoreSync']): TestDisk {
  const disk = asFileDisk(state.clone());
  disk.ignoreSync = ignoreSync;
  disk.siteDepth = ignoreSync === undefined ? 0 : 3;
  return disk;
}

/** Recovery itself is stopped after each of its calls. */
async function interrupt(
  state: RecordingDisk,
  life: Life,
  where: string,
  found: Exploration,
  judge: Judge,
  ignoreSync: Options['ignoreSync'],
): Promise<void> {
  const whole = hooked(state, ignoreSync);
  await recoverIn(whole, B);
  for (let steps = state.steps; steps <= whole.steps; steps++) {
    const disk = hooked(state, ignoreSync);
    disk.stopAfter(steps);
    await unlessStopped(() => recoverIn(disk, B));
    for (const next of [killState(disk), ...crashStates(disk)]) {
      found.interrupted++;
      const directory = dirname(TARGETS[found.interrupted % 4] as string);
      const problem = await told(() => judge(hooked(next, ignoreSync), life, directory));
      if (problem !== null) found.violations.push(`${where}, then recovery after ${steps} calls: ${problem}`);
    }
  }
}
