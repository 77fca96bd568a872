// May a log of this name be begun?

import type { TrackedLog } from './change/tracked-log.js';
import type { Disk } from './disk/disk.js';
import { HoldfastError } from './errors.js';
import { assertDocumentName, foldedName, linesPath } from './projection/names.js';

/** Nothing of it is saved in `directory`: then a file of that name is somebody else's, and not ours to append to. */
export function assertFreeForLog(disk: Disk, directory: string, known: Iterable<TrackedLog>, name: string): void {
  assertDocumentName(name);
  const folded = foldedName(name);
  for (const { name: other, length } of known) {
    if (other === name && length > 0) return;
    if (other !== name && foldedName(other) === folded)
      throw new HoldfastError(
        'HF_NAME',
        `'${name}' and '${other}' would be the same file on some file systems. Choose a name that differs by more than case.`,
      );
  }
  const path = linesPath(directory, name);
  if ((disk.entry(path)?.size ?? 0) === 0) return;
  throw new HoldfastError(
    'HF_EXISTS',
    `${path} is there already, and nothing of the log '${name}' is saved in this store. Nothing was touched. Move the file away, or choose another name.`,
  );
}
