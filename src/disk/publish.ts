// A file appears whole or not at all: temp, write, sync, read back, give it its name, sync the directory.

import { HoldfastError } from '../errors.js';
import type { Disk, Handle } from './disk.js';
import { hasNoLinks, isCode, writeFault } from './faults.js';
import { writeFully } from './files.js';

export interface Publication {
  temp: string;
  path: string;
  /** The directory of `path`. */
  directory: string;
  chunks: Iterable<Uint8Array>;
  /** Reads the file back and throws when it is not what was meant. */
  verify(handle: Handle): void;
}

/** Returns the open file. It may be relied on: after any crash it is there, whole, under its name. */
export function publish(disk: Disk, { temp, path, directory, chunks, verify }: Publication): Handle {
  let handle: Handle | null = null;
  try {
    handle = disk.open(temp, 'create');
    let size = 0;
    for (const chunk of chunks) {
      writeFully(disk, handle, chunk, size);
      size += chunk.length;
    }
    const found = disk.size(handle);
    if (found !== size) throw new HoldfastError('HF_IO', `${temp} has ${found} bytes instead of ${size}.`);
    // Before the rename: a name that is durable while its data is not comes back as an empty file.
    disk.sync(handle);
    verify(handle);
    const isLinked = giveName(disk, temp, path);
    // The name is durable only once its directory is synced: without this a power cut takes the file back.
    disk.syncDirectory(directory);
    if (isLinked) disk.unlink(temp);
    return handle;
  } catch (error) {
    abandon(disk, handle, temp);
    throw writeFault(error, 'Writing', path);
  }
}

/**
 * By a link, because a rename would replace a file that is there already: a writer that was stalled while another took
 * over must not overwrite what that one wrote. True when the temp still has its own name too.
 */
function giveName(disk: Disk, temp: string, path: string): boolean {
  try {
    disk.link(temp, path);
    return true;
  } catch (error) {
    if (!hasNoLinks(error)) throw error;
    disk.rename(temp, path);
    return false;
  }
}

function abandon(disk: Disk, handle: Handle | null, temp: string): void {
  if (handle === null) return;
  disk.close(handle);
  try {
    disk.unlink(temp);
  } catch (error) {
    // Renamed already, or a disk that refuses everything: the next open sweeps `tmp`. The first error is the one to tell.
    if (!isCode(error, 'ENOENT', 'EIO', 'EROFS', 'ENOSPC')) throw error;
  }
}
