// A damaged store, made one that opens: what can be saved becomes its state, what was damaged is kept in quarantine.
//
// Stopped anywhere it can be done again, with the same result: salvage is built so (docs/durability.md), and a file is
// replaced only after its successor is whole and durable.

import { isContainer } from '../change/plain.js';
import { readFrom } from '../disk/files.js';
import { readingDisk } from '../disk/reading-disk.js';
import { storedIn } from '../inspect/stored.js';
import type { RecoveryNote } from '../journal/open.js';
import { parse } from '../projection/serialize.js';
import type { Store } from '../store.js';
import { homeOf } from './home.js';
import { putBack } from './put-back.js';
import { type Unreadable, unreadableFiles } from './unreadable.js';
import { type MendOptions, withStore } from './writing.js';

export interface Repaired {
  /** What recovery did, with the damage report when there was damage. */
  notes: RecoveryNote[];
  /** Unreadable files of documents that are not saved, replaced by a backup. */
  putBack: { name: string; backup: string }[];
  /** Files that somebody changed, or that hold more than could be kept: a person has to choose. */
  drifted: { name: string; path: string }[];
  /** Files that no backup could replace. */
  unreadable: Unreadable[];
  /** Everything that had to give way. */
  kept: string[];
}

/** Does what `planRepair` says. A sound store is opened and closed, which is what mends small things. */
export async function repair(path: string, options: MendOptions = {}): Promise<Repaired> {
  return withStore(homeOf(path), { ...options, onDamage: 'salvage' }, async (store, places) => {
    const notes: RecoveryNote[] = [];
    store.on('recovered', (found) => notes.push(...found.notes));
    await store.flush({ projected: true });
    await replaceRefused(store);
    const saved = new Set(savedIn(store));
    const done: Repaired['putBack'] = [];
    for (const { name, path: file, backup } of [...unreadableFiles(places, saved)]) {
      if (backup === null) continue;
      putBack(places, { name, path: file, backup });
      done.push({ name, backup });
    }
    const drifted = store.documents().filter(({ status }) => status === 'drifted');
    return { notes, putBack: done, drifted, unreadable: [...unreadableFiles(places, saved)] };
  });
}

/** A number or a text where a document belongs is nobody's change: opened, the document gets its file back. */
async function replaceRefused(store: Store): Promise<void> {
  for (const { name, status, path } of store.documents()) {
    if (status !== 'drifted') continue;
    const found = parse(readFrom(readingDisk, path));
    if (found.kind === 'unparseable' || isContainer(found.value)) continue;
    const { document } = await storedIn(store.directory, name);
    await store.doc<object>(name, { initial: {}, version: document.schemaVersion });
  }
  await store.flush({ projected: true });
}

function savedIn(store: Store): string[] {
  return store.documents().flatMap(({ name, version }) => (version > 0 ? [name] : []));
}
