// A lab that is ended by a signal leaves nothing behind: no file system mounted, no folder of hundreds of megabytes.

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { endOnSignals } from '../endings.js';

/** Folders in memory are named so: whoever cleans up knows which are ours. */
export const MEMORY_PREFIX = `holdfast-lab-${process.pid}-`;
export const MEMORY = '/dev/shm';

/** All that is mounted or made is below `scratch`, or has the prefix. */
export function cleanUpOnSignals(scratch: string): void {
  endOnSignals(() => cleanUp(scratch));
}

function cleanUp(scratch: string): void {
  // Before their folders go: a subject that is at work would make them again.
  for (const pid of descendants(process.pid)) kill(pid);
  // The innermost first. Lazily: the end of a subject is not waited for.
  for (const path of mountsBelow(scratch).reverse()) spawnSync('umount', ['-l', path], { stdio: 'ignore' });
  rmSync(scratch, { recursive: true, force: true });
  for (const name of ownInMemory()) rmSync(join(MEMORY, name), { recursive: true, force: true });
}

function descendants(pid: number): number[] {
  const children = parents()
    .filter(([, parent]) => parent === pid)
    .map(([child]) => child);
  return children.flatMap((child) => [child, ...descendants(child)]);
}

function parents(): [pid: number, parent: number][] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => [Number(name), parentOf(name)]);
}

/** 0 for one that has ended meanwhile. What stands before the parent may have blanks and brackets in it. */
function parentOf(pid: string): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch (error) {
    if (!isGone(error)) throw error;
    return 0;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

function isGone(error: unknown): boolean {
  return ['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '');
}

function mountsBelow(folder: string): string[] {
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n');
  return mounts.map((line) => line.split(' ')[1] ?? '').filter((path) => path.startsWith(`${folder}/`));
}

function ownInMemory(): string[] {
  try {
    return readdirSync(MEMORY).filter((name) => name.startsWith(MEMORY_PREFIX));
  } catch (error) {
    // Not every machine has one.
    if (!isGone(error)) throw error;
    return [];
  }
}
