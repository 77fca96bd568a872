// A file that is whole, read back and dressed as the one it will replace, under a name that nobody knows yet.

import { basename } from 'node:path';
import type { Details, Handle } from '../disk/disk.js';
import { isCode } from '../disk/faults.js';
import { HoldfastError } from '../errors.js';
import { fill, keepMode, misread } from '../projection/stage.js';
import type { FileDisk } from './disk.js';

export interface Staging {
  temp: string;
  target: string;
  bytes: Buffer;
  /** What is there now; null for a new file. */
  existing: Details | null;
  /** Of a new file, masked by the umask. */
  mode: number;
  durable: boolean;
}

/** Leaves nothing behind when it throws, except for a disk that refuses that too. */
export function stageFile(disk: FileDisk, { temp, target, bytes, existing, mode, durable }: Staging): void {
  const handle = disk.open(temp, 'create', existing?.mode ?? mode);
  try {
    // Before there is anything in it to read. The owner first: changing it takes setuid bits away.
    if (existing !== null) {
      keepOwner(disk, handle, temp, target);
      keepMode(disk, handle, existing.mode);
    }
    if (!fill(disk, handle, temp, bytes, durable).equals(bytes)) throw misread(temp);
  } finally {
    disk.close(handle);
  }
}

function keepOwner(disk: FileDisk, handle: Handle, temp: string, target: string): void {
  const wanted = disk.ownerOf(target);
  const got = disk.ownerOf(temp);
  // A target that has gone meanwhile has no owner to keep.
  if (wanted === null || (wanted.uid === got?.uid && wanted.gid === got.gid)) return;
  try {
    disk.setOwner(handle, wanted);
  } catch (error) {
    if (!isCode(error, 'EPERM', 'EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS')) throw error;
    throw new HoldfastError(
      'HF_IO',
      `${target} belongs to user ${wanted.uid}, group ${wanted.gid}, and this process may not give a new ` +
        `${basename(target)} to them. What was there is as it was. Write it as that user, or remove it first.`,
      { cause: error },
    );
  }
}
