// One document at any path. Around it is a whole store, in a hidden folder named after the file, so that two documents
// in one folder share nothing: neither truth nor lock.

import { basename, resolve } from 'node:path';
import type { ZodType, z } from 'zod';
import { nodeDisk } from './disk/node-disk.js';
import type { DocOptions } from './doc-options.js';
import type { Document } from './document.js';
import { HoldfastError } from './errors.js';
import { hiddenBeside, isHiddenName } from './journal/places.js';
import { assertGiven } from './misuse.js';
import { assertPath, openAt } from './opening.js';
import { type StoreOptions, settle } from './options.js';
import { assertDocumentName } from './projection/names.js';
import { fileAt, targetOf } from './projection/target.js';
import type { Store } from './store.js';

export interface OpenDocOptions<T> extends StoreOptions, DocOptions<T> {}

/** A document with a store of its own. */
export interface OpenDocument<T> extends Document<T>, AsyncDisposable {
  /** Saves everything, the file too, and lets go. One that was opened twice is closed with its last `close`. */
  close(): Promise<void>;
}

/**
 * Opens the document whose file is exactly `path`, or makes it with `initial`. A JSON file that is already there is taken
 * over. What is saved is in a hidden folder beside it (`.state.json.holdfast`), earlier versions in `path.bak1` and so on.
 * Opened twice in one process it is the same document, with the options of the store that it was opened with first, and each
 * `openDoc` takes a `close` of its own.
 */
export function openDoc<S extends ZodType>(
  path: string,
  options: Omit<OpenDocOptions<z.input<S>>, 'schema'> & { schema: S },
): Promise<OpenDocument<z.output<S>>>;
export function openDoc<T>(path: string, options: OpenDocOptions<T> & { schema?: undefined }): Promise<OpenDocument<T>>;
export async function openDoc(path: string, options: OpenDocOptions<unknown>): Promise<OpenDocument<unknown>> {
  assertPath('path', path);
  assertGiven(options, 'openDoc');
  const { schema, initial, version, migrate, ...rest } = options;
  const settings = settle(rest);
  const { backups, onDrift } = settings;
  const file = fileFor(path);
  const store = await openAt(hiddenBeside(file), settings);
  try {
    // Moved together with its folder, a document keeps the name that it was made with.
    const own = { schema, initial, version, migrate, backups, onDrift };
    const name = store.documents()[0]?.name ?? basename(file);
    return closing(await store.doc(name, own as DocOptions<unknown> & { schema?: undefined }), store);
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Before anything is made. One file, one truth: what a symbolic link points to is the document. */
function fileFor(path: string): string {
  const file = targetOf(nodeDisk, resolve(path));
  assertDocumentName(basename(file));
  if (isHiddenName(basename(file)))
    throw new HoldfastError('HF_NAME', `${file} is where a store keeps its own files. Choose another name.`);
  // A folder or a device is refused with the error that reading it would give.
  fileAt(nodeDisk, file);
  return file;
}

/** The same object for everybody who opened it: what is compared or remembered by one is found by the other. */
function closing(document: Document<unknown>, store: Store): OpenDocument<unknown> {
  if ('close' in document) return document as OpenDocument<unknown>;
  const close = { value: () => store.close(), configurable: true };
  return Object.defineProperties(document, { close, [Symbol.asyncDispose]: close }) as OpenDocument<unknown>;
}
