// The real disk: Node's synchronous calls, which block only the thread that makes them.

import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import type { Access, Disk, Entry, Handle } from './disk.js';
import { isCode } from './faults.js';

const FLAGS: Record<Access, number> = {
  create: constants.O_CREAT | constants.O_EXCL | constants.O_RDWR,
  read: constants.O_RDONLY,
  write: constants.O_RDWR,
};

export const nodeDisk: Disk = {
  open: (path, access, mode = 0o600): Handle => openSync(path, FLAGS[access], mode),
  close: closeSync,
  read: readSync,
  write: writeSync,
  size: (handle) => fstatSync(handle).size,
  truncate: ftruncateSync,
  syncData: fdatasyncSync,
  sync: fsyncSync,
  syncDirectory,
  rename: renameSync,
  unlink: unlinkSync,
  makeDirectory: (path, mode = 0o777) => {
    mkdirSync(path, { mode });
  },
  list: (path) => readdirSync(path),
  entry,
};

function syncDirectory(path: string): void {
  // Windows has no handle for a directory that can be synced; NTFS journals the rename itself.
  if (process.platform === 'win32') return;
  const handle = openSync(path, constants.O_RDONLY);
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

function entry(path: string): Entry | null {
  try {
    const stats = lstatSync(path);
    const kind = stats.isFile() ? 'file' : stats.isDirectory() ? 'directory' : 'other';
    return { kind, size: stats.size };
  } catch (error) {
    if (isCode(error, 'ENOENT')) return null;
    throw error;
  }
}
