// What recovery would find, without taking the store: for saying what would be done before anything is.
//
// A verdict of damage counts only if nothing changed while it was reached: beside a running writer files come and go.

import { join } from 'node:path';
import type { Disk } from '../disk/disk.js';
import { isCode } from '../disk/faults.js';
import { readingDisk } from '../disk/reading-disk.js';
import { HoldfastError } from '../errors.js';
import { Places } from '../journal/places.js';
import { recover } from '../journal/recover.js';
import type { Damaged, Sound } from '../journal/recovery.js';

// Captured at import: a program's fake timers must not freeze it.
const { setTimeout } = globalThis;

const ATTEMPTS_MAX = 8;
const PAUSE_MS = 5;

export type Found = Sound | Damaged;

export async function look(home: string, disk: Disk = readingDisk): Promise<Found> {
  const places = new Places(home);
  for (let attempt = 1; ; attempt++) {
    const found = tryToLook(disk, places, attempt === ATTEMPTS_MAX);
    if (found !== null) return found;
    await new Promise<void>((resolve) => setTimeout(resolve, PAUSE_MS * attempt));
  }
}

/** Null when it has to be tried again. */
function tryToLook(disk: Disk, places: Places, isLast: boolean): Found | null {
  try {
    const before = printOf(disk, places);
    const found = recover(disk, places);
    if (found.kind === 'new') throw gone(places.directory);
    if (found.kind === 'damaged' && !isLast && printOf(disk, places) !== before) return null;
    return found;
  } catch (error) {
    if (isLast || !isCode(error, 'ENOENT')) throw error;
    return null;
  }
}

/** Since it was looked up. */
function gone(directory: string): HoldfastError {
  return new HoldfastError('HF_MISSING', `${directory} holds no store any more. Nothing was created.`);
}

/** The same as long as nobody writes. */
function printOf(disk: Disk, { hidden }: Places): string {
  const names = disk.list(hidden).sort();
  return JSON.stringify(names.map((name) => [name, disk.entry(join(hidden, name))]));
}
