// A document as it was, made its present state. What it was until now is kept, and so is a file that somebody changed.
//
// Going back is going forward: one more commit, whose state is the old one. Stopped anywhere, it was done or it was not.

import { isDeepStrictEqual } from 'node:util';
import { assertRoot } from '../change/copy-in.js';
import { nodeDisk } from '../disk/node-disk.js';
import { at, type Past } from '../inspect/at.js';
import type { Moment } from '../inspect/moment.js';
import { soundAt } from '../inspect/stored.js';
import { keepBytes } from '../journal/quarantine.js';
import { documentPaths } from '../projection/names.js';
import { serialize, wholeOf } from '../projection/serialize.js';
import { keptName } from '../projection/target.js';
import { homeOf } from './home.js';
import { type MendOptions, withStore } from './writing.js';

export interface Restored {
  document: string;
  path: string;
  /** Where the state came from. */
  from: Past;
  /** False when it is the present state: then only the file was written anew, if it was another one. */
  isNew: boolean;
  version: number;
  kept: string[];
}

/** `to`: a moment, or 'saved' for the present state, which writes a file anew that somebody changed. */
export async function restore(
  path: string,
  name: string | undefined,
  to: Moment | 'saved',
  options: MendOptions = {},
): Promise<Restored> {
  const home = homeOf(path);
  // Of a damaged store nothing is certain: it is repaired first.
  await soundAt(home);
  const find = () => at(home, name, to === 'saved' ? undefined : to);
  // What cannot be had is refused before anything is touched.
  assertRestorable(await find());
  return withStore(home, options, async (store, places) => {
    // Once more, now that nobody else writes.
    const past = await find();
    const document = past.name;
    const present = (await soundAt(home)).replica.documents.get(document);
    const isNew = present === undefined || !isSameState(present.state, past.state);
    if (isNew && present !== undefined)
      keepBytes(
        nodeDisk,
        places,
        `version-${present.version}-${keptName(document)}`,
        wholeOf(serialize(present.state)),
      );
    const schemaVersion = past.kind === 'commit' ? past.schemaVersion : (present?.schemaVersion ?? 1);
    await store.put(document, past.state, schemaVersion);
    const version = store.documents().find((one) => one.name === document)?.version ?? 0;
    return { document, path: documentPaths(home, document).main, from: past, isNew, version };
  });
}

function assertRestorable(past: Past): void {
  assertRoot(past.state, past.kind === 'backup' ? `The content of ${past.path}` : `The state of '${past.name}'`);
}

/** Key order counts: it is what people see. */
function isSameState(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(one, other) && JSON.stringify(one) === JSON.stringify(other);
}
