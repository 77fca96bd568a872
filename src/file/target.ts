// The file that a path means: links are followed and stay what they are.

import { basename, dirname, join, resolve } from 'node:path';
import { HoldfastError } from '../errors.js';
import { targetOf } from '../projection/target.js';
import type { FileDisk } from './disk.js';

export type Dangling = 'refuse' | 'create';

/** As many as Linux follows. */
const LINKS_MAX = 40;

/** With the real path of its directory: there the temp goes, and that directory is synced. The file need not exist. */
export function resolveTarget(disk: FileDisk, path: string, dangling: Dangling): string {
  const given = resolve(path);
  const target = dangling === 'create' ? followLinks(disk, given) : targetOf(disk, given);
  return join(disk.realPath(dirname(target)), basename(target));
}

/** Like `realPath`, also when the last link points to nothing. */
function followLinks(disk: FileDisk, path: string): string {
  let at = path;
  for (let followed = 0; disk.entry(at)?.kind === 'link'; followed++) {
    if (followed === LINKS_MAX) throw new HoldfastError('HF_IO', `${path} is a symbolic link that leads in a circle.`);
    // A relative link starts from where the link really is.
    at = resolve(disk.realPath(dirname(at)), disk.readLink(at));
  }
  return at;
}
