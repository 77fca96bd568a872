// Files where a document's would be, that nothing is saved of and that cannot be read: what a crash of another program
// leaves. Whole ones are left alone, the program may take them over.

import { basename } from 'node:path';
import { isContainer } from '../change/plain.js';
import { readingDisk } from '../disk/reading-disk.js';
import { onlyFileOf, type Places } from '../journal/places.js';
import { importCandidate } from '../projection/inspect.js';
import { documentNameOf, jsonFiles } from '../projection/json-files.js';
import { realGround } from '../real-ground.js';

export interface Unreadable {
  kind: 'unknown';
  name: string;
  path: string;
  /** The newest one that can be read. */
  backup: string | null;
}

/** `saved`: the documents of the store. */
export function* unreadableFiles(places: Places, saved: ReadonlySet<string>): Generator<Unreadable> {
  for (const name of namesBeside(places, saved)) {
    if (saved.has(name)) continue;
    const found = importCandidate(readingDisk, places, { name, edition: undefined, check: isContainer });
    if (found.kind === 'empty' || found.kind === 'unparseable')
      yield { kind: 'unknown', name, path: found.path, backup: found.backup?.path ?? null };
  }
}

function* namesBeside({ directory }: Places, saved: ReadonlySet<string>): Generator<string> {
  const file = onlyFileOf(directory);
  if (file === null) {
    for (const { path, kind } of jsonFiles(realGround, directory))
      if (kind === 'file') yield documentNameOf(directory, path);
    return;
  }
  // The folder around a single document is not the store's. Moved together with it, the document keeps its old name.
  if (saved.size === 0) yield basename(file);
}
