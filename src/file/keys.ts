// What tells one file from another while calls wait: its real path, also under another name or before it exists.

import { readlink, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { isCode } from '../disk/faults.js';

const LINKS_MAX = 40;

/** Not resolved on the main thread's time. What cannot be resolved is told by the call itself, in its turn. */
export async function keyOf(path: string): Promise<string> {
  let at = resolve(path);
  for (let followed = 0; followed < LINKS_MAX; followed++) {
    const real = await realpath(at).catch(ignoreMissing);
    if (real !== null) return real;
    const directory = await realpath(dirname(at)).catch(ignoreMissing);
    if (directory === null) return at;
    at = join(directory, basename(at));
    const next = await readlink(at).catch(ignoreMissing);
    if (next === null) return at;
    at = resolve(directory, next);
  }
  return at;
}

function ignoreMissing(error: unknown): null {
  if (isCode(error, 'ENOENT', 'EINVAL', 'ENOTDIR', 'EACCES', 'EPERM', 'ELOOP', 'ENAMETOOLONG', 'UNKNOWN')) return null;
  throw error;
}
