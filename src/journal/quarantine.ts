// What is cut off or replaced is kept, for people to look at. Bounded: the oldest go first.

import { basename, join } from 'node:path';
import type { Disk } from '../disk/disk.js';
import { hasNoLinks } from '../disk/faults.js';
import { readFrom, writeFully } from '../disk/files.js';
import type { Places } from './places.js';

const KEPT_MAX = 64;

export function keepBytes(disk: Disk, places: Places, name: string, bytes: Buffer): string {
  const path = freePath(disk, places, name);
  const handle = disk.open(path, 'create');
  try {
    writeFully(disk, handle, bytes, 0);
    // Retention deletes the file these bytes came from; the copy has to be there before.
    disk.sync(handle);
  } finally {
    disk.close(handle);
  }
  disk.syncDirectory(places.quarantine);
  removeOldest(disk, places);
  return path;
}

/** Keeps what a file holds, under a second name where the file system has such: it may be large. The file stays. */
export function keepCopy(disk: Disk, places: Places, name: string, path: string): string {
  const kept = addName(disk, places, path, name);
  disk.syncDirectory(places.quarantine);
  removeOldest(disk, places);
  return kept;
}

/** Moves files here. At every moment each has at least one durable name. */
export function keepFiles(disk: Disk, places: Places, paths: readonly string[]): string[] {
  const kept = paths.map((path) => addName(disk, places, path));
  // Before the old names go: a crash between the halves of a rename may leave neither name.
  if (kept.length > 0) disk.syncDirectory(places.quarantine);
  for (const path of paths) disk.unlink(path);
  removeOldest(disk, places);
  return kept;
}

function addName(disk: Disk, places: Places, path: string, name = basename(path)): string {
  const kept = freePath(disk, places, name);
  try {
    disk.link(path, kept);
    return kept;
  } catch (error) {
    // File systems without hard links get a copy.
    if (!hasNoLinks(error)) throw error;
    return keepBytes(disk, places, name, readFrom(disk, path));
  }
}

/** Names begin with a running number, so that the oldest sort first. */
function freePath(disk: Disk, places: Places, name: string): string {
  const newest = disk
    .list(places.quarantine)
    .map((kept) => Number.parseInt(kept, 10) || 0)
    .reduce((max, number) => Math.max(max, number), 0);
  return join(places.quarantine, `${String(newest + 1).padStart(6, '0')}-${name}`);
}

function removeOldest(disk: Disk, places: Places): void {
  const kept = disk.list(places.quarantine).sort();
  for (const name of kept.slice(0, Math.max(0, kept.length - KEPT_MAX))) disk.unlink(join(places.quarantine, name));
}
