// What a person may point at: the folder of a store, the file of a single document, or the hidden folder of either.

import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { isCode } from '../disk/faults.js';
import { readingDisk } from '../disk/reading-disk.js';
import { HoldfastError } from '../errors.js';
import { hiddenBeside, onlyFileOf, Places, parseTruthName } from '../journal/places.js';
import { assertPath } from '../opening.js';
import { targetOf } from '../projection/target.js';

/** The places of the store that is meant. HF_MISSING when there is none; nothing is created. */
export function placesOf(path: string): Places {
  assertPath('path', path);
  const places = new Places(homeOf(resolve(path)));
  if (!hasTruth(places)) throw missing(path);
  return places;
}

function homeOf(path: string): string {
  if (onlyFileOf(path) !== null) return path;
  if (basename(path) === '.holdfast') return dirname(path);
  if (readingDisk.entry(path)?.kind === 'directory') return path;
  const file = targetOf(readingDisk, path);
  const beside = hiddenBeside(file);
  // A link to a folder is a folder.
  return readingDisk.entry(beside)?.kind === 'directory' ? beside : file;
}

/** As recovery counts: a hidden folder that holds no file of the journal is one in which nothing was saved yet. */
function hasTruth(places: Places): boolean {
  try {
    if (readingDisk.entry(places.highWater) !== null) return true;
    return readingDisk.list(places.hidden).some((name) => parseTruthName(name) !== null);
  } catch (error) {
    if (isCode(error, 'ENOENT', 'ENOTDIR')) return false;
    throw error;
  }
}

function missing(path: string): HoldfastError {
  const owner = storeAbove(resolve(path));
  if (owner !== null) {
    const name = relative(owner, resolve(path))
      .split(sep)
      .join('/')
      .replace(/\.jsonl?$/, '');
    return new HoldfastError(
      'HF_MISSING',
      `${path} is not a store of its own: it is in the store ${owner}. Give that folder, and '${name}' as the document.`,
    );
  }
  return new HoldfastError(
    'HF_MISSING',
    `${path} holds no store. Give the folder that the program opens, or the file of a single document. Nothing was created.`,
  );
}

/** The store whose folder this is in. */
function storeAbove(path: string): string | null {
  if (readingDisk.entry(path) === null) return null;
  for (let at = dirname(path); ; at = dirname(at)) {
    if (hasTruth(new Places(at))) return at;
    if (at === dirname(at) || readingDisk.entry(join(at, '.git')) !== null) return null;
  }
}
