// A file that somebody changed becomes the state of its document.
//
// Not promised: that a schema accepts it. Nothing here knows the program's schema; it is asked when the program opens the
// document. To have it checked first, adopt from the program: `onDrift: 'adopt'`.

import { isContainer } from '../change/plain.js';
import { commandLine } from '../command-line.js';
import { nodeDisk } from '../disk/node-disk.js';
import { HoldfastError } from '../errors.js';
import { type Stored, storedIn } from '../inspect/stored.js';
import { Places } from '../journal/places.js';
import { keepBytes } from '../journal/quarantine.js';
import { inspect } from '../projection/inspect.js';
import { documentPaths } from '../projection/names.js';
import { serialize, wholeOf } from '../projection/serialize.js';
import { keptName } from '../projection/target.js';
import { homeOf } from './home.js';
import { type MendOptions, withStore } from './writing.js';

export interface Adopted {
  document: string;
  path: string;
  /** False when the file holds what is saved already: then nothing was done. */
  isNew: boolean;
  version: number;
  /** The state that was saved before. */
  kept: string[];
}

/** `name` may be left out for the file of a single document. */
export async function adopt(path: string, name?: string, options: MendOptions = {}): Promise<Adopted> {
  const home = homeOf(path);
  // What cannot be adopted is refused before anything is touched: opening the store would write an unreadable file anew.
  const stored = await storedIn(home, name);
  const unchanged = { document: stored.name, path: documentPaths(home, stored.name).main, isNew: false };
  if (!isAdoptable(home, stored)) return { ...unchanged, version: stored.document.version, kept: [] };
  return withStore(home, options, async (store, places) => {
    // Once more, now that nobody else writes.
    const { document, name: only } = await storedIn(home, stored.name);
    if (!isAdoptable(home, { ...stored, document })) return { ...unchanged, version: document.version };
    const { state, version: replaced, schemaVersion: version } = document;
    keepBytes(nodeDisk, places, `version-${replaced}-${keptName(only)}`, wholeOf(serialize(state)));
    const adopted = await store.doc<object>(only, { initial: {}, version, onDrift: 'adopt' });
    return { ...unchanged, isNew: true, version: adopted.version };
  });
}

/** False when the file holds what is saved, or an earlier version of it; throws when it holds nothing to adopt. */
function isAdoptable(home: string, { name, document, edition }: Stored): boolean {
  const { state, version } = document;
  const expected = () => serialize(state);
  const seen = inspect(nodeDisk, new Places(home), { name, version, expected, edition, check: isContainer });
  const file = documentPaths(home, name).main;
  switch (seen.kind) {
    case 'drifted':
      return seen.sha256 !== document.adopted;
    case 'sound':
    case 'stale':
      return false;
    case 'missing':
      throw unusable(`${file} is not there`, home, name);
    case 'empty':
      throw unusable(`${file} is empty`, home, name);
    case 'unparseable':
      throw unusable(`${file} is not whole JSON (${seen.reason})`, home, name);
    case 'refused':
      throw unusable(`${file} holds neither an object nor an array`, home, name);
    default:
      return seen satisfies never;
  }
}

function unusable(what: string, home: string, name: string): HoldfastError {
  return new HoldfastError(
    'HF_DAMAGED',
    `${what}, so it cannot be adopted. Nothing was touched. Mend the file, or write it anew from what is saved: ${commandLine('restore', home, name, '--to saved')}`,
    { details: { document: name, path: documentPaths(home, name).main } },
  );
}
