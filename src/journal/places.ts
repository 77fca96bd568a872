// Where things are. A store is known by one path, its home, and that path is all that threads, locks and messages pass on:
// the directory of its documents, with everything else in `.holdfast` inside; or, for a store of a single document at any
// path, the hidden folder itself, named after the file beside it: `.state.json.holdfast`. The name tells which it is.

import { randomBytes } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import type { Disk } from '../disk/disk.js';
import { isCode } from '../disk/faults.js';
import { writeFully } from '../disk/files.js';
import { syncIfReadable } from '../disk/way.js';

export type TruthKind = 'base' | 'tail';

const HIDDEN = '.holdfast';
const HIDDEN_BESIDE = /^\.(.+)\.holdfast$/;
const TRUTH_NAME = /^(\d{10})\.(base|tail)$/;

export class Places {
  readonly hidden: string;
  readonly tmp: string;
  readonly quarantine: string;
  readonly highWater: string;
  readonly logs: string;

  constructor(readonly directory: string) {
    this.hidden = onlyFileOf(directory) === null ? join(directory, HIDDEN) : directory;
    this.tmp = join(this.hidden, 'tmp');
    this.quarantine = join(this.hidden, 'quarantine');
    this.highWater = join(this.hidden, 'high-water');
    this.logs = join(this.hidden, 'logs');
  }

  truth(number: number, kind: TruthKind): string {
    return join(this.hidden, truthName(number, kind));
  }

  temp(name: string): string {
    return join(this.tmp, `${name}.${randomBytes(8).toString('hex')}`);
  }
}

/** The home of the store that holds nothing but this file. */
export function hiddenBeside(file: string): string {
  return join(dirname(file), `.${basename(file)}${HIDDEN}`);
}

/** The file of a store that holds a single document; null for one that is a directory of documents. */
export function onlyFileOf(home: string): string | null {
  const name = HIDDEN_BESIDE.exec(basename(home))?.[1];
  return name === undefined ? null : join(dirname(home), name);
}

/** True for a folder that a store keeps its own files in. */
export function isHiddenName(name: string): boolean {
  return name === HIDDEN || HIDDEN_BESIDE.test(name);
}

export function truthName(number: number, kind: TruthKind): string {
  return `${String(number).padStart(10, '0')}.${kind}`;
}

export function parseTruthName(name: string): { number: number; kind: TruthKind } | null {
  const match = TRUTH_NAME.exec(name);
  return match === null ? null : { number: Number(match[1]), kind: match[2] as TruthKind };
}

/** Makes what is missing. For a new store every name on the way to it is made durable. */
export function makePlaces(disk: Disk, places: Places, isNew: boolean): void {
  if (isNew) makeDurable(disk, places.hidden, 0o700);
  makeIfMissing(disk, places.tmp);
  makeIfMissing(disk, places.quarantine);
  for (const name of disk.list(places.tmp)) disk.unlink(join(places.tmp, name));
  writeIgnore(disk, join(places.hidden, '.gitignore'));
}

function writeIgnore(disk: Disk, path: string): void {
  if (disk.entry(path) !== null) return;
  const handle = disk.open(path, 'create', 0o644);
  try {
    writeFully(disk, handle, Buffer.from('*\n'), 0);
  } finally {
    disk.close(handle);
  }
}

function makeDurable(disk: Disk, path: string, mode: number): void {
  const parent = dirname(path);
  if (parent === path) return;
  makeDurable(disk, parent, 0o777);
  if (disk.entry(path) === null) makeIfMissing(disk, path, mode);
  // Also when it was there: an earlier attempt may have been killed between making a directory and syncing its name.
  syncIfReadable(disk, parent);
}

export function makeIfMissing(disk: Disk, path: string, mode = 0o700): void {
  try {
    disk.makeDirectory(path, mode);
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error;
  }
}
