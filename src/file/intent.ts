// What `writeFiles` leaves on disk while it is under way.
//
// A pointer (`.holdfast-files`) in each directory it writes to: who is at work there, and where the intent would be. It is
// the lock of the directory, too: it appears whole, by link(), which fails when there is one.
// The intent (`.holdfast-<id>.intent`) in one of them, home. It is there from the moment all files are to be replaced, up
// to the moment all of them durably are. Its presence is the whole of the decision.
//
// Paths in both are relative: a tree that was moved after a crash is completed where it is now.

import { basename, dirname, join, relative, resolve } from 'node:path';
import { isCode } from '../disk/faults.js';
import { readFrom } from '../disk/files.js';
import type { LockRecord } from '../disk/lock-record.js';
import { HoldfastError } from '../errors.js';
import { sha256Of } from '../projection/serialize.js';
import { fill, misread } from '../projection/stage.js';
import type { FileDisk } from './disk.js';
import { isStagedName, removeTemp, stagedName, tempName } from './temps.js';

/** On disk. Never renumber. */
const FORMAT = 1;

const POINTER = '.holdfast-files';

export interface Pointer {
  format: number;
  id: string;
  /** The directory of the intent, from this one. */
  home: string;
  owner: LockRecord;
  /** What is staged in this directory, and for which file. */
  files: { name: string; staged: string }[];
}

export interface Content {
  size: number;
  sha256: string;
}

export interface IntendedFile extends Content {
  /** From home. */
  directory: string;
  name: string;
  staged: string;
  /** What it replaces; null when nothing was there. */
  before: Content | null;
}

export interface Intent {
  format: number;
  id: string;
  files: IntendedFile[];
}

export function pointerPath(directory: string): string {
  return join(directory, POINTER);
}

export function intentPath(home: string, id: string): string {
  return join(home, `.holdfast-${id}.intent`);
}

export function pointerFor(directory: string, home: string, id: string, owner: LockRecord, targets: string[]): Pointer {
  const files = targets.flatMap((target, index) => {
    return dirname(target) === directory ? [{ name: basename(target), staged: stagedName(id, index) }] : [];
  });
  return { format: FORMAT, id, home: relative(directory, home), owner, files };
}

export function intentOf(
  home: string,
  id: string,
  files: (Omit<IntendedFile, 'directory'> & { at: string })[],
): Intent {
  const intended = files.map(({ at, ...file }) => ({ ...file, directory: relative(home, at) }));
  return { format: FORMAT, id, files: intended };
}

export function homeOf(directory: string, pointer: Pointer): string {
  return resolve(directory, pointer.home);
}

/** A new file with these bytes, durable, under a name of its own: the caller gives it the one that counts. */
export function writeRecord(disk: FileDisk, directory: string, value: Pointer | Intent, mode: number): string {
  const body = JSON.stringify(value);
  const bytes = Buffer.from(`${body}\n${sha256Of(Buffer.from(body))}\n`);
  const temp = join(directory, tempName());
  const handle = disk.open(temp, 'create', mode);
  try {
    if (!fill(disk, handle, temp, bytes).equals(bytes)) throw misread(temp);
  } catch (error) {
    removeTemp(disk, temp);
    throw error;
  } finally {
    disk.close(handle);
  }
  return temp;
}

export function readPointer(disk: FileDisk, directory: string): Pointer | null {
  return readRecord<Pointer>(disk, pointerPath(directory));
}

export function readIntent(disk: FileDisk, home: string, id: string): Intent | null {
  return readRecord<Intent>(disk, intentPath(home, id));
}

/** Null when it is not there. These appear whole: one that cannot be read has rotted, and nothing is guessed from it. */
function readRecord<T extends Pointer | Intent>(disk: FileDisk, path: string): T | null {
  let text: string;
  try {
    text = readFrom(disk, path).toString('utf8');
  } catch (error) {
    if (isCode(error, 'ENOENT', 'ENOTDIR')) return null;
    throw error;
  }
  const [body = '', sum] = text.split('\n');
  if (sum !== sha256Of(Buffer.from(body))) throw isDamaged(path);
  const value = JSON.parse(body) as T;
  if (value.format === FORMAT && namesAreOurs(value)) return value;
  if (value.format === FORMAT) throw isDamaged(path);
  const message = `${path} was left by a later version of holdfast (format ${value.format}). Recover it with that version.`;
  throw new HoldfastError('HF_VERSION', message);
}

/** What is staged is moved and removed on the word of these: nothing else may be named by them. */
function namesAreOurs({ files }: Pointer | Intent): boolean {
  return files.every(({ name, staged }) => isStagedName(staged) && name === basename(name) && name !== '');
}

function isDamaged(path: string): HoldfastError {
  return new HoldfastError(
    'HF_DAMAGED',
    `${path} is damaged: which files an interrupted \`writeFiles\` had replaced there is not known. Nothing was touched. ` +
      'Compare the files with the `.staged` ones beside them, then remove it.',
  );
}
