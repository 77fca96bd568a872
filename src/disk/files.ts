// Whole reads and writes on top of calls that may do less than asked.

import { HoldfastError } from '../errors.js';
import type { Disk, Handle } from './disk.js';
import { withPath } from './faults.js';

/** A full disk can write less than asked without failing: go on until every byte is down or a call says no. */
export function writeFully(disk: Disk, handle: Handle, bytes: Uint8Array, position: number): void {
  let done = 0;
  while (done < bytes.length) {
    const wanted = Math.min(bytes.length - done, CALL_BYTES_MAX);
    const written = disk.write(handle, bytes, done, wanted, position + done);
    if (written <= 0) throw new HoldfastError('HF_IO', `A write of ${wanted} bytes wrote nothing.`);
    done += written;
  }
}

/** One call takes at most 2^31 - 1 bytes. */
const CALL_BYTES_MAX = 1024 * 1024 * 1024;

/** Fewer bytes than asked for only where the file ends. */
export function readAt(disk: Disk, handle: Handle, position: number, length: number): Buffer {
  return readInto(disk, handle, position, Buffer.allocUnsafeSlow(length));
}

/** The part of `bytes` that was filled: all of it, except where the file ends. */
export function readInto(disk: Disk, handle: Handle, position: number, bytes: Buffer): Buffer {
  let done = 0;
  while (done < bytes.length) {
    const read = disk.read(handle, bytes, done, Math.min(bytes.length - done, CALL_BYTES_MAX), position + done);
    if (read === 0) break;
    done += read;
  }
  return bytes.subarray(0, done);
}

export function withFile<R>(disk: Disk, path: string, use: (handle: Handle) => R): R {
  const handle = disk.open(path, 'read');
  try {
    return use(handle);
  } catch (error) {
    throw withPath(error, path);
  } finally {
    disk.close(handle);
  }
}

/** As `withFile`, for work that is done in steps: the file stays open between them. */
export function* withFileSteps<S, R>(
  disk: Disk,
  path: string,
  use: (handle: Handle) => Generator<S, R>,
): Generator<S, R> {
  const handle = disk.open(path, 'read');
  try {
    return yield* use(handle);
  } catch (error) {
    throw withPath(error, path);
  } finally {
    disk.close(handle);
  }
}

/** The bytes of a file from `start` on. */
export function readFrom(disk: Disk, path: string, start = 0): Buffer {
  return withFile(disk, path, (handle) => readAt(disk, handle, start, Math.max(0, disk.size(handle) - start)));
}
