// Folders whose names are known to be on the medium. The caller makes them, perhaps a moment before the first file in them
// is written; each is looked at once by every thread.

import { syncWay } from '../disk/way.js';
import type { FileDisk } from './disk.js';

const FOLDERS_MAX = 1_000;

/** By disk and path: which folder was there. One that was removed and made again is another. */
const known = new WeakMap<FileDisk, Map<string, string>>();

/** After this the folder, too, is there after a power cut. */
export function keepFolder(disk: FileDisk, folder: string): void {
  const folders = known.get(disk) ?? new Map<string, string>();
  known.set(disk, folders);
  const identity = disk.identityOf(folder);
  if (folders.get(folder) === identity) return;
  syncWay(disk, folder);
  if (folders.size >= FOLDERS_MAX) folders.clear();
  folders.set(folder, identity);
}
