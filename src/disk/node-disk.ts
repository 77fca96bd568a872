// The real disk: Node's synchronous calls, which block only the thread that makes them.

import {
  closeSync,
  constants,
  fchmodSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  renameSync,
  type Stats,
  unlinkSync,
  writeSync,
} from 'node:fs';
import type { Access, Details, Handle, PublicDisk } from './disk.js';
import { isCode } from './faults.js';

const FLAGS: Record<Access, number> = {
  create: constants.O_CREAT | constants.O_EXCL | constants.O_RDWR,
  read: constants.O_RDONLY,
  write: constants.O_RDWR,
};

export const nodeDisk: PublicDisk = {
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
  link: linkSync,
  unlink: unlinkSync,
  makeDirectory: (path, mode = 0o777) => {
    mkdirSync(path, { mode });
  },
  list: (path) => readdirSync(path),
  entry,
  realPath: (path) => realpathSync(path),
  setMode: fchmodSync,
};

function syncDirectory(path: string): void {
  // Windows has no handle for a directory that can be synced; NTFS journals the rename itself.
  if (process.platform === 'win32') return;
  const handle = openSync(path, constants.O_RDONLY);
  try {
    fsyncSync(handle);
  } catch (error) {
    // Some network file systems cannot sync a directory at all: refusing them would save nobody's data.
    if (!isCode(error, 'EINVAL', 'ENOTSUP', 'EOPNOTSUPP')) throw error;
  } finally {
    closeSync(handle);
  }
}

function entry(path: string): Details | null {
  try {
    const stats = lstatSync(path);
    const { size, ino, mtimeMs, mode } = stats;
    return { kind: kindOf(stats), size, ino, mtimeMs, mode: mode & 0o7777 };
  } catch (error) {
    if (isCode(error, 'ENOENT')) return null;
    throw error;
  }
}

export function kindOf(stats: Pick<Stats, 'isFile' | 'isDirectory' | 'isSymbolicLink'>): Details['kind'] {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'directory';
  return stats.isSymbolicLink() ? 'link' : 'other';
}
