// The disk as files of other people need it: owners, links, and what Windows does to a rename.

import { fchownSync, lstatSync, readlinkSync } from 'node:fs';
import type { Handle, PublicDisk } from '../disk/disk.js';
import { isCode } from '../disk/faults.js';
import { nodeDisk } from '../disk/node-disk.js';

export interface Owner {
  uid: number;
  gid: number;
}

export interface FileDisk extends PublicDisk {
  /** Not of what a link points to. Null when there is nothing. */
  ownerOf(path: string): Owner | null;
  setOwner(handle: Handle, owner: Owner): void;
  readLink(path: string): string;
  /** Of the file or folder that has this name now: another one of the same name has another. */
  identityOf(path: string): string;
}

/** About 1.5 seconds in all: a virus scanner lets go of a new file sooner than that. */
const WAITS_MS = [1, 5, 10, 25, 50, 100, 200, 400, 800];

/** On Windows a file that a scanner or an indexer has open cannot be renamed for a moment. Elsewhere such an error is final. */
export function patiently(run: () => void, platform = process.platform, wait = block): void {
  for (const waitMs of WAITS_MS) {
    try {
      run();
      return;
    } catch (error) {
      if (platform !== 'win32' || !isCode(error, 'EPERM', 'EACCES', 'EBUSY')) throw error;
    }
    wait(waitMs);
  }
  run();
}

/** Blocks this thread only. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

export const fileDisk: FileDisk = {
  ...nodeDisk,
  rename: (from, to) => patiently(() => nodeDisk.rename(from, to)),
  ownerOf: (path) => {
    const found = lstatSync(path, { throwIfNoEntry: false });
    return found === undefined ? null : { uid: found.uid, gid: found.gid };
  },
  setOwner: (handle, { uid, gid }) => fchownSync(handle, uid, gid),
  readLink: (path) => readlinkSync(path),
  identityOf: (path) => {
    // Inode numbers are given out again as soon as they are free.
    const { dev, ino, birthtimeNs } = lstatSync(path, { bigint: true });
    return `${dev} ${ino} ${birthtimeNs}`;
  },
};
