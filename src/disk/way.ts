// The names that lead to a folder. Each is an entry of the folder above it, and only a sync of that one keeps it: a file
// in a folder that was made a moment ago is gone with the folder, however well it was synced itself.

import { dirname } from 'node:path';
import type { Disk } from './disk.js';
import { isCode } from './faults.js';

/** After this the folder is found by its path after a power cut. */
export function syncWay(disk: Disk, folder: string): void {
  for (let path = folder; dirname(path) !== path; path = dirname(path)) syncIfReadable(disk, dirname(path));
}

/** Directories that this user may not read were made by others, and long before. */
export function syncIfReadable(disk: Disk, path: string): void {
  try {
    disk.syncDirectory(path);
  } catch (error) {
    if (!isCode(error, 'EACCES', 'EPERM', 'EROFS')) throw error;
  }
}
