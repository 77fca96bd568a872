// Whole reads and writes on top of calls that may do less than asked.

import { HoldfastError } from '../errors.js';
import type { Disk, Handle } from './disk.js';

/** A full disk can write less than asked without failing: go on until every byte is down or a call says no. */
export function writeFully(disk: Disk, handle: Handle, bytes: Uint8Array, position: number): void {
  let done = 0;
  while (done < bytes.length) {
    const written = disk.write(handle, bytes, done, bytes.length - done, position + done);
    if (written <= 0) throw new HoldfastError('HF_IO', `A write of ${bytes.length - done} bytes wrote nothing.`);
    done += written;
  }
}

export function readWhole(disk: Disk, path: string): Buffer {
  const handle = disk.open(path, 'read');
  try {
    return readHandle(disk, handle);
  } finally {
    disk.close(handle);
  }
}

export function readHandle(disk: Disk, handle: Handle): Buffer {
  const bytes = Buffer.allocUnsafe(disk.size(handle));
  let done = 0;
  while (done < bytes.length) {
    const read = disk.read(handle, bytes, done, bytes.length - done, done);
    if (read === 0) break;
    done += read;
  }
  return bytes.subarray(0, done);
}
