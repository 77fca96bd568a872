// The real disk without the calls that change it: so that nothing a reader calls can write, whatever becomes of it.

import type { PublicDisk } from './disk.js';
import { nodeDisk } from './node-disk.js';

function refuse(): never {
  throw new Error('A store opened for reading was about to be written to');
}

export const readingDisk: PublicDisk = {
  open: (path, access) => (access === 'read' ? nodeDisk.open(path, access) : refuse()),
  close: nodeDisk.close,
  read: nodeDisk.read,
  size: nodeDisk.size,
  list: nodeDisk.list,
  entry: nodeDisk.entry,
  realPath: nodeDisk.realPath,
  write: refuse,
  truncate: refuse,
  syncData: refuse,
  sync: refuse,
  syncDirectory: refuse,
  rename: refuse,
  link: refuse,
  unlink: refuse,
  makeDirectory: refuse,
  setMode: refuse,
};
