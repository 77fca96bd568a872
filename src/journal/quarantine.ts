// What is cut off or replaced is kept, for people to look at. Bounded: the oldest go first.

import { join } from 'node:path';
import type { Disk } from '../disk/disk.js';
import { writeFully } from '../disk/files.js';
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

export function keepFile(disk: Disk, places: Places, path: string, name: string): string {
  const kept = freePath(disk, places, name);
  disk.rename(path, kept);
  removeOldest(disk, places);
  return kept;
}

/** Names begin with a running number, so that the oldest sort first. */
function freePath(disk: Disk, places: Places, name: string): string {
  const newest = disk
    .list(places.quarantine)
    .map((kept) => Number.parseInt(kept, 10))
    .reduce((max, number) => Math.max(number, max), 0);
  return join(places.quarantine, `${String(newest + 1).padStart(6, '0')}-${name}`);
}

function removeOldest(disk: Disk, places: Places): void {
  const kept = disk.list(places.quarantine).sort();
  for (const name of kept.slice(0, Math.max(0, kept.length - KEPT_MAX))) disk.unlink(join(places.quarantine, name));
}
