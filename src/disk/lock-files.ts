// The files of the lock protocol in a .holdfast directory: lock.<n>, owner-<random>.sock, and lock-<random>.tmp while a
// lock file is being written. The rules they follow (L1 to L5) are in lock.ts.

import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { isCode } from './faults.js';
import { readFrom, writeFully } from './files.js';
import { encodeRecord, isSocketName, type LockRecord, parseRecord } from './lock-record.js';
import { ask } from './lock-socket.js';
import { nodeDisk } from './node-disk.js';

/** For the journal thread, which compares its own number before it acknowledges. 0 when there is none. */
export function highestLock(hidden: string): number {
  return listLocks(hidden).highest;
}

const LOCK_NAME = /^lock\.([1-9]\d{0,14})$/;
const TEMP_NAME = /^lock-[0-9a-f]{16}\.tmp$/;

/** 0 for any other file. */
function lockNumber(name: string): number {
  return Number(LOCK_NAME.exec(name)?.[1] ?? 0);
}

function lockPath(directory: string, number: number): string {
  return join(directory, `lock.${number}`);
}

export function listLocks(directory: string): { highest: number; sockets: string[] } {
  const names = nodeDisk.list(directory);
  return { highest: Math.max(0, ...names.map(lockNumber)), sockets: names.filter(isSocketName) };
}

/** Null for one without usable content; 'swept' when it was not the highest any more. */
export function readLock(directory: string, number: number): LockRecord | null | 'swept' {
  try {
    return parseRecord(readFrom(nodeDisk, lockPath(directory, number)));
  } catch (error) {
    if (isCode(error, 'ENOENT')) return 'swept';
    throw error;
  }
}

/** Twice: a listing may miss a name that appears while it runs and the one below it that is swept in the same moment. */
export function isHighest(directory: string, number: number): boolean {
  return highestLock(directory) === number && highestLock(directory) === number;
}

/** False when the number is taken. */
export function linkLock(directory: string, number: number, record: LockRecord): boolean {
  const temp = join(directory, `lock-${randomBytes(8).toString('hex')}.tmp`);
  // Readable for other users, who may want to know who holds it. The directory decides whether they get that far.
  const handle = nodeDisk.open(temp, 'create', 0o644);
  try {
    writeFully(nodeDisk, handle, encodeRecord(record), 0);
    nodeDisk.link(temp, lockPath(directory, number));
    return true;
  } catch (error) {
    // ENOENT: a new owner swept our temp.
    if (isCode(error, 'EEXIST', 'ENOENT')) return false;
    throw error;
  } finally {
    nodeDisk.close(handle);
    removeFile(temp);
  }
}

export function removeLock(directory: string, number: number): void {
  removeFile(lockPath(directory, number));
}

function removeFile(path: string): void {
  try {
    nodeDisk.unlink(path);
  } catch (error) {
    if (!isCode(error, 'ENOENT')) throw error;
  }
}

/** Removes what dead owners and claimers left. */
export async function sweep(directory: string, number: number, ownSocket: string | null): Promise<void> {
  const names = nodeDisk.list(directory);
  const lower = names.map(lockNumber).filter((n) => n > 0 && n < number);
  // From below: see L3.
  for (const n of lower.sort((a, b) => a - b)) removeLock(directory, n);
  for (const name of names) {
    const isLitter =
      TEMP_NAME.test(name) || (isSocketName(name) && name !== ownSocket && (await ask(directory, name)) !== 'answers');
    if (isLitter) removeFile(join(directory, name));
  }
}
