// Where things are in a store's directory.

import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import type { Disk } from '../disk/disk.js';
import { isCode } from '../disk/faults.js';
import { writeFully } from '../disk/files.js';

export type TruthKind = 'base' | 'tail';

const TRUTH_NAME = /^(\d{10})\.(base|tail)$/;

export class Places {
  readonly hidden: string;
  readonly tmp: string;
  readonly quarantine: string;
  readonly highWater: string;

  constructor(readonly directory: string) {
    this.hidden = join(directory, '.holdfast');
    this.tmp = join(this.hidden, 'tmp');
    this.quarantine = join(this.hidden, 'quarantine');
    this.highWater = join(this.hidden, 'high-water');
  }

  truth(number: number, kind: TruthKind): string {
    return join(this.hidden, truthName(number, kind));
  }

  temp(name: string): string {
    return join(this.tmp, `${name}.${randomBytes(8).toString('hex')}`);
  }
}

export function truthName(number: number, kind: TruthKind): string {
  return `${String(number).padStart(10, '0')}.${kind}`;
}

export function parseTruthName(name: string): { number: number; kind: TruthKind } | null {
  const match = TRUTH_NAME.exec(name);
  return match === null ? null : { number: Number(match[1]), kind: match[2] as TruthKind };
}

/** Makes what is missing, and makes every new name durable in the directory that holds it. */
export function makePlaces(disk: Disk, places: Places): void {
  makeDurable(disk, places.directory, 0o777);
  makeDurable(disk, places.hidden, 0o700);
  makeIfMissing(disk, places.tmp);
  makeIfMissing(disk, places.quarantine);
  for (const name of disk.list(places.tmp)) disk.unlink(join(places.tmp, name));
  const ignore = join(places.hidden, '.gitignore');
  if (disk.entry(ignore) === null) {
    const handle = disk.open(ignore, 'create', 0o644);
    try {
      writeFully(disk, handle, Buffer.from('*\n'), 0);
    } finally {
      disk.close(handle);
    }
  }
}

function makeDurable(disk: Disk, path: string, mode: number): void {
  const parent = dirname(path);
  if (disk.entry(path) === null) {
    if (parent !== path) makeDurable(disk, parent, 0o777);
    makeIfMissing(disk, path, mode);
  } else if (path !== parent && !path.endsWith('.holdfast')) return;
  // Also when it was there: a crash may have come between making it and syncing its name.
  disk.syncDirectory(parent);
}

function makeIfMissing(disk: Disk, path: string, mode = 0o700): void {
  try {
    disk.makeDirectory(path, mode);
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error;
  }
}
