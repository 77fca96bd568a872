// A file that cannot be read, replaced by its backup. The document in it is not the store's yet: the program takes it
// over when it opens it, with its schema and its defaults, as it would have taken the file.

import { dirname } from 'node:path';
import { readFrom } from '../disk/files.js';
import { nodeDisk } from '../disk/node-disk.js';
import { HoldfastError } from '../errors.js';
import type { Places } from '../journal/places.js';
import { keepBytes } from '../journal/quarantine.js';
import { parse, textOf } from '../projection/serialize.js';
import { Stage } from '../projection/stage.js';
import { fileAt, keptName } from '../projection/target.js';

/** Returns where the unreadable file is kept. At every moment, and after a crash at any of them, one of the two is there. */
export function putBack(
  places: Places,
  { name, path, backup }: { name: string; path: string; backup: string },
): string {
  const bytes = readFrom(nodeDisk, backup);
  if (parse(bytes).kind !== 'value')
    throw new HoldfastError('HF_DAMAGED', `${backup} does not parse any more. Nothing was touched. Look at it.`);
  const kept = keepBytes(nodeDisk, places, keptName(name), readFrom(nodeDisk, path));
  const stage = new Stage(nodeDisk, places);
  try {
    // A copy: renaming one link of a file over another does nothing, and the backup stays a backup.
    const temp = stage.write(textOf([bytes]), fileAt(nodeDisk, path)?.mode ?? null, path);
    nodeDisk.rename(temp.path, path);
    stage.placed(temp.path);
    // The rename is durable only once its directory is synced.
    nodeDisk.syncDirectory(dirname(path));
  } finally {
    stage.sweep();
  }
  return kept;
}
