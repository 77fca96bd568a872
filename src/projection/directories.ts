// The folders of documents whose names contain '/'.

import { dirname, join, relative, sep } from 'node:path';
import type { Disk } from '../disk/disk.js';
import { makeIfMissing } from '../journal/places.js';

/**
 * Makes every missing folder from `root` down to `directory`. `durable` holds those whose names are known to be on the
 * medium; one that merely exists may have been made by a process that was killed before it could sync the name.
 */
export function makeDirectories(disk: Disk, root: string, directory: string, durable: Set<string>): void {
  let path = root;
  for (const part of relative(root, directory).split(sep)) {
    if (part === '') continue;
    path = join(path, part);
    if (disk.entry(path) === null) makeIfMissing(disk, path, 0o777);
    else if (durable.has(path)) continue;
    disk.syncDirectory(dirname(path));
    durable.add(path);
  }
}
