// Temps say in their names which process they belong to, so that another one can tell whether anybody still needs them.
//
// T1. A temp is swept only when its process is proven dead, or, where that cannot be known (another container or machine),
//     a day after it was last written. A write that was stalled for that long fails; it never replaces anything wrongly.
// T2. What a `writeFiles` has staged has another name, and belongs to it as long as its pointer is there.

import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { isCode } from '../disk/faults.js';
import { judgeProcess, seek } from '../disk/lock-liveness.js';
import { type Identity, ownIdentity } from '../disk/lock-record.js';
import type { FileDisk } from './disk.js';

/** On disk. The parts are pid, start time, boot, pid namespace, machine, host. */
const TEMP = /^\.holdfast-(\d+)-(\d*)-([0-9a-f]*)-([0-9a-f]*)-([0-9a-f]*)-([0-9a-f]*)-[0-9a-f]{16}\.(?:tmp|sock)$/;
const CLAIM = /^\.holdfast-([0-9a-f]{16})\.claim\.\d+$/;
const STAGED = /^\.holdfast-[0-9a-f]{16}-\d+\.staged$/;

const AGE_MS = 24 * 60 * 60 * 1000;

let own: Identity | undefined;

/** Names are for everyone to see: the facts in them are hashed. They are only ever compared. */
function ownHashed(): Identity {
  own ??= hashed(ownIdentity());
  return own;
}

function hashed({ pid, startTime, ...facts }: Identity): Identity {
  const short = (fact: string) => (fact === '' ? '' : createHash('sha256').update(fact).digest('hex').slice(0, 8));
  const { pidNamespace, bootId, machineId, host } = facts;
  return {
    pid,
    startTime,
    pidNamespace: short(pidNamespace),
    bootId: short(bootId),
    machineId: short(machineId),
    host: short(host),
  };
}

export function tempName(kind: 'tmp' | 'sock' = 'tmp'): string {
  const { pid, startTime, bootId, pidNamespace, machineId, host } = ownHashed();
  const parts = [pid, startTime, bootId, pidNamespace, machineId, host, randomBytes(8).toString('hex')];
  return `.holdfast-${parts.join('-')}.${kind}`;
}

export function stagedName(id: string, index: number): string {
  return `.holdfast-${id}-${index}.staged`;
}

export function isStagedName(name: string): boolean {
  return STAGED.test(name);
}

/** Null for any other name. */
function processOf(name: string): Identity | null {
  const parts = TEMP.exec(name);
  if (parts === null) return null;
  const [, pid = '', startTime = '', bootId = '', pidNamespace = '', machineId = '', host = ''] = parts;
  return { pid: Number(pid), startTime, bootId, pidNamespace, machineId, host };
}

/** What cannot be removed now is swept later: the first error is the one to tell. */
const NOT_REMOVABLE = ['ENOENT', 'ENOTDIR', 'EIO', 'EROFS', 'ENOSPC', 'EACCES', 'EPERM', 'EBUSY'];

export function removeTemp(disk: FileDisk, path: string): void {
  try {
    disk.unlink(path);
  } catch (error) {
    if (!isCode(error, ...NOT_REMOVABLE)) throw error;
  }
}

/**
 * Removes what dead processes left in a directory. `pointerId` is asked after the directory was listed: whatever was staged
 * or claimed under a pointer that is gone by then is nobody's (T2).
 */
export function sweepTemps(disk: FileDisk, directory: string, pointerId: () => string | null, now = Date.now()): void {
  const names = listIfReadable(disk, directory);
  for (const name of names) {
    const process = processOf(name);
    if (process !== null && isDead(disk, join(directory, name), process, now)) removeTemp(disk, join(directory, name));
  }
  const entrusted = names.filter((name) => isStagedName(name) || CLAIM.test(name));
  if (entrusted.length === 0) return;
  const id = pointerId();
  for (const name of entrusted) {
    if (isNobodys(disk, directory, name, id, now)) removeTemp(disk, join(directory, name));
  }
}

function isNobodys(disk: FileDisk, directory: string, name: string, id: string | null, now: number): boolean {
  if (isStagedName(name)) return id === null;
  // A claim may be there for the pointer of another directory: then somebody is at work on it, but not for a day.
  return CLAIM.exec(name)?.[1] !== id && isOld(disk, join(directory, name), now);
}

function listIfReadable(disk: FileDisk, directory: string): string[] {
  try {
    return disk.list(directory);
  } catch (error) {
    // One may write to a directory that one may not list. Then it is swept by someone who may.
    if (isCode(error, 'EACCES', 'EPERM', 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  }
}

function isDead(disk: FileDisk, path: string, process: Identity, now: number): boolean {
  const verdict = judgeProcess(process, ownHashed(), seek(process));
  if (verdict.kind !== 'unprovable') return verdict.kind === 'dead';
  return isOld(disk, path, now);
}

function isOld(disk: FileDisk, path: string, now: number): boolean {
  const entry = disk.entry(path);
  return entry !== null && now - entry.mtimeMs > AGE_MS;
}
