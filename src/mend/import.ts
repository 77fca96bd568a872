// A JSON file becomes a document: in the store beside it, as `openDoc` and loops have it, or in a directory's store.
//
// Not promised: that a schema accepts it, and that a schema's defaults are filled in; the program that opens it does the
// one and not the other. Where defaults are missing, let the program take the file over instead: `doc` and `openDoc` do.

import { basename, resolve } from 'node:path';
import { assertRoot } from '../change/copy-in.js';
import { commandLine } from '../command-line.js';
import { readFrom } from '../disk/files.js';
import { nodeDisk } from '../disk/node-disk.js';
import { HoldfastError } from '../errors.js';
import { hiddenBeside } from '../journal/places.js';
import { assertPath } from '../opening.js';
import { assertDocumentName, documentPaths } from '../projection/names.js';
import { parse } from '../projection/serialize.js';
import { fileAt, targetOf } from '../projection/target.js';
import { homeOf, pathOf } from './home.js';
import { type MendOptions, withStore } from './writing.js';

export interface ImportOptions extends MendOptions {
  /** The directory of the store, which must be there. Without it the document has a store of its own beside the file. */
  into?: string;
  /** @default the name of the file, without `.json` */
  as?: string;
}

export interface Imported {
  document: string;
  /** Where its JSON is from now on. */
  path: string;
  version: number;
  kept: string[];
}

export async function importFile(file: string, { into, as, ...options }: ImportOptions = {}): Promise<Imported> {
  assertPath('file', file);
  const source = targetOf(nodeDisk, resolve(file));
  const state = stateIn(source);
  const home = into === undefined ? hiddenBeside(source) : homeOf(into);
  const name = as ?? (into === undefined ? basename(source) : basename(source).replace(/\.json$/i, ''));
  assertDocumentName(name);
  return withStore(home, options, async (store) => {
    const path = documentPaths(store.directory, name).main;
    const saved = store.documents().filter(({ version }) => version > 0);
    if (saved.some((one) => into === undefined || one.name === name)) throw taken(home, source, name);
    // `doc` would take that one and not ours.
    if (path !== source && fileAt(nodeDisk, path) !== null) throw inTheWay(source, path, name);
    const document = await store.doc(name, { initial: state as object });
    return { document: name, path, version: document.version };
  });
}

function stateIn(source: string): unknown {
  if (fileAt(nodeDisk, source) === null)
    throw new HoldfastError('HF_MISSING', `There is no file ${source}. Nothing was created.`);
  const parsed = parse(readFrom(nodeDisk, source));
  if (parsed.kind === 'unparseable')
    throw new HoldfastError(
      'HF_DAMAGED',
      `${source} is not whole JSON (${parsed.reason}). Nothing was touched. Mend it, then import it.`,
    );
  assertRoot(parsed.value, `The content of ${source}`);
  return parsed.value;
}

function taken(home: string, source: string, name: string): HoldfastError {
  const path = documentPaths(home, name).main;
  const copy = path === source ? '' : `cp ${source} ${path} && `;
  return new HoldfastError(
    'HF_EXISTS',
    `'${name}' is saved in ${pathOf(home)} already. Nothing was touched. To make the file its new state: ${copy}${commandLine('adopt', home, name)}`,
  );
}

function inTheWay(source: string, path: string, name: string): HoldfastError {
  return new HoldfastError(
    'HF_EXISTS',
    `${path} is there already, and nothing of '${name}' is saved. Nothing was touched. Import that file, or import ${source} under another name (--as).`,
  );
}
