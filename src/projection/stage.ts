// A file that is whole, on the medium and read back, under a name that nobody knows yet.

import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import type { Disk, Handle, PublicDisk } from '../disk/disk.js';
import { isCode, writeFault } from '../disk/faults.js';
import { readAt, writeFully } from '../disk/files.js';
import { HoldfastError } from '../errors.js';
import type { Places } from '../journal/places.js';
import { sha256OfHandle, type Text } from './serialize.js';
import type { Identity } from './target.js';

export interface Staged {
  path: string;
  identity: Identity;
}

/** Masked by the umask, as for any new file. */
const NEW_MODE = 0o644;
const BESIDE = /^\.holdfast-[0-9a-f]{16}\.tmp$/;

/** Temps of one publication: whatever has not got its name is removed at the end. */
export class Stage {
  readonly #disk: PublicDisk;
  readonly #places: Places;
  readonly #paths: string[] = [];

  constructor(disk: PublicDisk, places: Places) {
    this.#disk = disk;
    this.#places = places;
  }

  /** `beside`: in the folder of this file, when it is not on the file system of the store. `mode`: null for a new file. */
  write(text: Text, mode: number | null, beside: string | null): Staged {
    const path = beside === null ? this.#note(this.#places.temp('file')) : this.spare(beside);
    try {
      const handle = this.#disk.open(path, 'create', mode ?? NEW_MODE);
      try {
        this.#fill(handle, path, text, mode);
      } finally {
        this.#disk.close(handle);
      }
      return { path, identity: this.#disk.entry(path) as Identity };
    } catch (error) {
      throw writeFault(error, 'Writing', path);
    }
  }

  #fill(handle: Handle, path: string, { portions, sha256 }: Text, mode: number | null): void {
    // Before there is anything in it to read.
    if (mode !== null) keepMode(this.#disk, handle, mode);
    put(this.#disk, handle, path, portions);
    // By its checksum, and portion by portion: a copy of a large file, and all it holds once more, would be most of what
    // publishing it takes in memory.
    if (sha256OfHandle(this.#disk, handle) !== sha256) throw misread(path);
  }

  /** A name that nobody uses in the folder of this file. */
  spare(beside: string): string {
    return this.#note(join(dirname(beside), `.holdfast-${randomBytes(8).toString('hex')}.tmp`));
  }

  #note(path: string): string {
    this.#paths.push(path);
    return path;
  }

  /** This one got its name. */
  placed(path: string): void {
    this.#paths.splice(this.#paths.indexOf(path), 1);
  }

  sweep(): void {
    for (const path of this.#paths) removeTemp(this.#disk, path);
  }
}

/** Removes temps that a kill left beside these files. For the time right after an open, when nothing is published. */
export function sweepBeside(disk: PublicDisk, files: Iterable<string>): void {
  const folders = new Set<string>();
  for (const file of files) {
    folders.add(dirname(file));
    whereReadable(() => {
      if (disk.entry(file)?.kind === 'link') folders.add(dirname(disk.realPath(file)));
    });
  }
  for (const folder of folders) {
    whereReadable(() => {
      for (const name of disk.list(folder)) if (BESIDE.test(name)) removeTemp(disk, join(folder, name));
    });
  }
}

/** What is not there, or not ours to read, holds no temps of ours. Publishing will say what is wrong with it. */
function whereReadable(run: () => void): void {
  try {
    run();
  } catch (error) {
    if (!isCode(error, 'ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'ELOOP')) throw error;
  }
}

export function keepMode(disk: PublicDisk, handle: Handle, mode: number): void {
  try {
    disk.setMode(handle, mode);
  } catch (error) {
    // File systems without modes have none to keep.
    if (!isCode(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EINVAL')) throw error;
  }
}

/** Writes a new file, makes its bytes durable (unless told otherwise) and gives back what was read of it. */
export function fill(disk: Disk, handle: Handle, path: string, bytes: Buffer, isDurable = true): Buffer {
  put(disk, handle, path, [bytes], isDurable);
  return readAt(disk, handle, 0, bytes.length + 1);
}

function put(disk: Disk, handle: Handle, path: string, portions: readonly Buffer[], isDurable = true): void {
  let length = 0;
  for (const bytes of portions) {
    writeFully(disk, handle, bytes, length);
    length += bytes.length;
  }
  const found = disk.size(handle);
  if (found !== length) throw new HoldfastError('HF_IO', `${path} has ${found} bytes instead of ${length}.`);
  // Before the rename: a name that is durable while its data is not comes back as an empty file.
  if (isDurable) disk.sync(handle);
}

export function misread(path: string): HoldfastError {
  return new HoldfastError('HF_IO', `${path} does not read back as it was written.`);
}

export function removeTemp(disk: Disk, path: string): void {
  try {
    disk.unlink(path);
  } catch (error) {
    // It got its name, or the disk refuses everything: what is left in `tmp` goes at the next open.
    if (!isCode(error, 'ENOENT', 'EIO', 'EROFS', 'ENOSPC', 'EACCES', 'EPERM')) throw error;
  }
}
