// One document as it is saved, read beside whoever has the store.

import { readingDisk } from '../disk/reading-disk.js';
import { HoldfastError } from '../errors.js';
import { damageError } from '../journal/damage.js';
import { onlyFileOf, Places } from '../journal/places.js';
import type { Sound } from '../journal/recovery.js';
import type { ReplicaDocument } from '../journal/replica.js';
import { pathOf } from '../mend/home.js';
import { type Edition, readRecord } from '../projection/record.js';
import { look } from './look.js';

export interface Stored {
  name: string;
  document: ReplicaDocument;
  /** What was published of it last. */
  edition: Edition | undefined;
}

/** HF_DAMAGED when the store is, HF_MISSING when the document is not in it. `name` may be left out where there is only one. */
export async function storedIn(home: string, name?: string): Promise<Stored> {
  const found = await soundAt(home);
  const { documents } = found.replica;
  const chosen = name ?? onlyNameIn(home, found);
  const document = documents.get(chosen);
  if (document === undefined) throw missingDocument(home, chosen, [...documents.keys()]);
  return {
    name: chosen,
    document,
    edition: readRecord(readingDisk, new Places(home), found.storeId).editions.get(chosen),
  };
}

export async function soundAt(home: string): Promise<Sound> {
  const found = await look(home);
  if (found.kind === 'damaged') throw damageError(found.report);
  return found;
}

/** The store of a single document needs no name for it. */
export function onlyNameIn(home: string, { replica }: Sound): string {
  const [only] = replica.documents.keys();
  if (onlyFileOf(home) !== null && only !== undefined) return only;
  throw new TypeError(`Expected the name of a document in ${home}. It has ${listed([...replica.documents.keys()])}`);
}

export function missingDocument(home: string, name: string, names: readonly string[]): HoldfastError {
  return new HoldfastError('HF_MISSING', `There is no document '${name}' in ${pathOf(home)}. It has ${listed(names)}.`);
}

const LISTED_MAX = 8;

function listed(names: readonly string[]): string {
  if (names.length === 0) return 'none';
  const more = names.length - LISTED_MAX;
  return `${names.toSorted().slice(0, LISTED_MAX).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
