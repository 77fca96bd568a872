// Ends what a dead process began: carries it out if it was decided, takes it away if it was not.
//
// V1. Nothing of a `writeFiles` is touched while the one at work on it may be alive.
// V2. One at a time recovers: the owner of the highest claim of that id, in home. A claim is not removed before the pointer
//     that led to it is, and whoever got one looks at the pointer again. So who comes late finds nothing to do.

import { join } from 'node:path';
import { isCode } from '../disk/faults.js';
import type { LockRecord } from '../disk/lock-record.js';
import { HoldfastError } from '../errors.js';
import { Claim } from './claim.js';
import { type Conflict, clear, complete, directoriesOf } from './complete.js';
import type { FileDisk } from './disk.js';
import { fileFault } from './faults.js';
import { homeOf, intentPath, type Pointer, pointerPath, readIntent, readPointer } from './intent.js';
import type { Liveness } from './liveness.js';
import { removeTemp } from './temps.js';

export interface RecoveryReport {
  /** Files of decided transactions, all in place now. */
  completed: string[];
  /** Files of undecided ones: they are as they were. */
  undone: string[];
  /** Files of decided ones that somebody else changed meanwhile. */
  conflicts: Conflict[];
}

export interface Tools {
  disk: FileDisk;
  liveness: Liveness;
}

export interface Errand {
  directory: string;
  report: RecoveryReport;
  /** True for what may go on beside this one while its owner lives. */
  isCompatible(pointer: Pointer): boolean;
  /** True for what has nothing to do with this one, and may go on where this process has no right to end it. */
  isUnrelated(pointer: Pointer): boolean;
  /** Recover also what cannot be proven dead. */
  takeover: boolean;
}

export function emptyReport(): RecoveryReport {
  return { completed: [], undone: [], conflicts: [] };
}

/** How long somebody else may be at work in a directory before we give up. */
const WAIT_MAX_MS = 10_000;
const WAIT_STEP_MS = 5;

/** Resolves when nothing in the directory stands in the way. */
export async function settle(tools: Tools, errand: Errand): Promise<void> {
  const { disk, liveness } = tools;
  const { directory, isCompatible, isUnrelated } = errand;
  const deadline = liveness.now() + WAIT_MAX_MS;
  for (;;) {
    const pointer = readPointer(disk, directory);
    if (pointer === null) return;
    const verdict = await liveness.judge(homeOf(directory, pointer), pointer.owner);
    const isDead = verdict.kind === 'dead' || (verdict.kind === 'unprovable' && errand.takeover);
    if (isDead) {
      const outcome = await tryToRecover(tools, errand, pointer);
      if (outcome.kind === 'done') continue;
      if (outcome.kind === 'forbidden' && isUnrelated(pointer)) return;
      if (outcome.kind === 'forbidden') throw outcome.error;
    } else if (isCompatible(pointer)) return;
    else if (verdict.kind === 'unprovable') throw mayBeAtWork(directory, pointer.owner, verdict.why);
    if (liveness.now() > deadline) throw isAtWork(directory, pointer.owner);
    await liveness.sleep(WAIT_STEP_MS);
  }
}

type Outcome = { kind: 'done' | 'busy' } | { kind: 'forbidden'; error: Error };

async function tryToRecover(tools: Tools, errand: Errand, pointer: Pointer): Promise<Outcome> {
  try {
    return { kind: (await recoverOne(tools, errand, pointer)) ? 'done' : 'busy' };
  } catch (error) {
    const state = 'Nothing is lost: the next call here, or `recover`, tries again.';
    const fault = fileFault(error, 'Ending an interrupted `writeFiles` in', errand.directory, state);
    // Of another user, or where this one may only read.
    const isForbidden = isCode(error, 'HF_LOCKED', 'EACCES', 'EPERM', 'EROFS');
    if (isForbidden) return { kind: 'forbidden', error: fault };
    throw fault;
  }
}

/** False while another process does it. */
async function recoverOne({ disk, liveness }: Tools, errand: Errand, found: Pointer): Promise<boolean> {
  const { directory, report } = errand;
  const { id } = found;
  const home = homeOf(directory, found);
  if (disk.entry(home)?.kind !== 'directory') {
    // Whoever ended it since may have removed its home too.
    if (readPointer(disk, directory)?.id !== id) return true;
    throw hasNoHome(directory, home);
  }
  assertTrusted(disk, pointerPath(directory));
  const presence = await liveness.announce(home);
  try {
    const claim = new Claim(disk, home, id);
    const isDead = async (owner: LockRecord) => {
      const { kind } = await liveness.judge(home, owner);
      return kind === 'dead' || (kind === 'unprovable' && errand.takeover);
    };
    if (!(await claim.take(presence.record, isDead))) return false;
    // V2.
    const pointer = readPointer(disk, directory);
    if (pointer?.id === id) carryOn(disk, home, directory, pointer, report);
    claim.release();
    if (found.owner.socket !== null) removeTemp(disk, join(home, found.owner.socket));
    return true;
  } finally {
    await presence.close();
  }
}

function carryOn(disk: FileDisk, home: string, directory: string, pointer: Pointer, report: RecoveryReport): void {
  const intent = readIntent(disk, home, pointer.id);
  // What we saw, the intent or its absence, may be a dead process's last call that is not on the medium yet. From here on
  // things are done that are right only if it stays so.
  disk.syncDirectory(home);
  if (intent !== null) assertTrusted(disk, intentPath(home, pointer.id));
  if (intent === null) {
    report.undone.push(...pointer.files.map(({ name }) => join(directory, name)));
    clear(disk, directory, pointer.id);
    return;
  }
  const conflicts = complete(disk, home, intent);
  const lost = new Set(conflicts.map(({ path }) => path));
  const paths = intent.files.map((file) => join(home, file.directory, file.name));
  report.conflicts.push(...conflicts);
  report.completed.push(...paths.filter((path) => !lost.has(path)));
  for (const each of directoriesOf(home, intent)) clear(disk, each, pointer.id);
}

function isAtWork(directory: string, { pid, host }: LockRecord): HoldfastError {
  const message = `Process ${pid} on host ${host} has been writing files in ${directory} for ${WAIT_MAX_MS / 1000} seconds. Nothing was changed. Wait for it or end it, then try again.`;
  return new HoldfastError('HF_LOCKED', message, { details: { pid, host } });
}

function mayBeAtWork(directory: string, { pid, host }: LockRecord, why: string): HoldfastError {
  const message =
    `Process ${pid} on host ${host} was writing files in ${directory} and may still be: ${why}. Nothing was changed. ` +
    'If you are certain that it no longer runs, call `recover(directory, { takeover: true })`.';
  return new HoldfastError('HF_LOCKED', message, { details: { pid, host } });
}

/**
 * Recovery moves files on the word of what it finds. In a directory that others may write to, only what this user or root
 * has put there counts.
 */
function assertTrusted(disk: FileDisk, path: string): void {
  const self = process.geteuid?.();
  const owner = disk.ownerOf(path);
  // Gone: who recovered it, or ended it, was faster. V2 will show that.
  if (self === undefined || owner === null || owner.uid === self || owner.uid === 0) return;
  const { uid } = owner;
  const message =
    `${path} is what an interrupted \`writeFiles\` of user ${uid} left, and this process runs as user ${self}. Nothing was ` +
    'touched. Call `recover` for this directory as that user.';
  throw new HoldfastError('HF_LOCKED', message, { details: { uid } });
}

function hasNoHome(directory: string, home: string): HoldfastError {
  const message =
    `A \`writeFiles\` was interrupted in ${directory}, and what it had decided is written in ${home}, which is not there. ` +
    `Nothing was touched. Put ${home} back; or, to leave the files as they are, remove ${pointerPath(directory)}.`;
  return new HoldfastError('HF_DAMAGED', message);
}
