// Documents whose names follow a pattern: 'features/*/feature' is features/upload/feature and all its like.
//
// C1. `entries` gives every one: of what is saved and of what lies in the folders. One that cannot be read, checked or
//     even listed is an entry with an error. It is never left out, and never keeps the others from being given.
// C2. A file is read when its document is opened for the first time, or when truth does not know it. Documents that are
//     open already, backups, and files that do not match cost nothing.

import { join } from 'node:path';
import type { ZodType } from 'zod';
import { Checker } from './change/checker.js';
import type { Disk } from './disk/disk.js';
import { codeOf, isCode } from './disk/faults.js';
import { driftError, type Presence } from './doc-opening.js';
import type { DocOptions } from './doc-options.js';
import type { Document } from './document.js';
import { HoldfastError } from './errors.js';
import { isHiddenName } from './journal/places.js';
import { assertDocumentName } from './projection/names.js';
import type { FileStatus } from './projection/statuses.js';

// Captured at import: a program's fake timers must not freeze it.
const { setImmediate } = globalThis;

export interface CollectionOptions<T> extends Omit<DocOptions<T>, 'initial'> {
  /** The state of a document that is created without one. */
  initial?: T;
}

/** What the '*'s of the pattern stand for, in order. */
export type Keys = string | readonly string[];

export interface CollectionEntry<T> {
  /** One for each '*'. Fewer when a folder cannot be listed: then `name` has a '*' in it, and stands for all inside. */
  keys: readonly string[];
  name: string;
  /**
   * 'sound': open, in `document`. 'drifted': its file was changed by somebody else. 'damaged': cannot be opened; `error`
   * says why. 'unmanaged': a file that the store does not know; `get` takes it over, unless there is an `error`.
   */
  status: FileStatus;
  document?: Document<T>;
  error?: HoldfastError;
}

/** What a collection needs from its store. */
export interface CollectionHost {
  readonly disk: Disk;
  readonly directory: string;
  /** All saved documents. */
  names(): string[];
  presence(name: string): Presence;
  preview(name: string, options: { schema?: ZodType | undefined }): 'none' | 'importable';
  /** Synchronous up to its result: nothing changes between a look at `presence` and this. */
  doc(name: string, options: DocOptions<unknown>): Promise<Document<unknown>>;
  driftOf(name: string): string | undefined;
  /** False when there is no such document. */
  remove(name: string): boolean;
}

/** The longest that listing many documents may hold up everything else. */
const TURN_MS = 8;

export class Collection<T, Input = T> {
  readonly pattern: string;
  readonly #segments: readonly string[];
  readonly #options: CollectionOptions<unknown>;
  readonly #host: CollectionHost;

  constructor(pattern: string, options: CollectionOptions<unknown>, host: CollectionHost) {
    this.pattern = pattern;
    this.#segments = parsePattern(pattern);
    this.#options = options;
    this.#host = host;
    // A schema that no document can have is refused once, not in every entry.
    if (options.schema !== undefined) new Checker(options.schema, pattern);
  }

  /** The document with these keys, or undefined. A JSON file of that name that is already there is taken over. */
  async get(keys: Keys): Promise<Document<T> | undefined> {
    const name = this.#nameOf(keys);
    return this.#host.presence(name) === 'none' ? undefined : this.#open(name);
  }

  /** Makes a document. HF_EXISTS when there is one already, or a file where its file would be. */
  async create(keys: Keys, initial: Input | undefined = this.#options.initial as Input): Promise<Document<T>> {
    const name = this.#nameOf(keys);
    const presence = this.#host.presence(name);
    if (presence !== 'none') {
      const what = presence === 'file' ? 'A file of that name is' : 'It is';
      const next = presence === 'file' ? 'Take it over with `get`' : 'Use `get`';
      throw new HoldfastError(
        'HF_EXISTS',
        `Cannot create '${name}'. ${what} there already. ${next}, or remove it first.`,
      );
    }
    if (initial === undefined) throw new TypeError(`Expected \`initial\` to be the state of '${name}', got undefined`);
    return this.#open(name, initial);
  }

  /** Removes a document and its files. False when there is none; a file that the store does not know stays. */
  remove(keys: Keys): boolean {
    return this.#host.remove(this.#nameOf(keys));
  }

  /** Every one, by name, also those that cannot be read. Opens what can be opened; takes no file over. */
  async entries(): Promise<CollectionEntry<T>[]> {
    const found: CollectionEntry<T>[] = [];
    const saved = new Set(this.#host.names().filter((name) => this.#matches(name)));
    const turn = new Turn();
    for (const name of saved) {
      const entry = await this.#saved(name);
      if (entry !== null) found.push(entry);
      await turn.end();
    }
    for (const sighting of sightings(this.#host.disk, this.#host.directory, this.#segments, [])) {
      const entry = this.#unsaved(sighting, saved);
      if (entry !== null) found.push(entry);
      await turn.end();
    }
    return found.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async #saved(name: string): Promise<CollectionEntry<T> | null> {
    const keys = this.#keysOf(name);
    const presence = this.#host.presence(name);
    // Removed since the list was made.
    if (presence !== 'open' && presence !== 'saved') return null;
    try {
      const document = await this.#open(name);
      const path = presence === 'open' ? this.#host.driftOf(name) : undefined;
      if (path === undefined) return { keys, name, status: 'sound', document };
      return { keys, name, status: 'drifted', document, error: driftError(this.#host.directory, name, path) };
    } catch (thrown) {
      const error = asHoldfast(thrown, name);
      return { keys, name, status: error.code === 'HF_DRIFT' ? 'drifted' : 'damaged', error };
    }
  }

  #unsaved({ keys, error }: Sighting, saved: ReadonlySet<string>): CollectionEntry<T> | null {
    const name = this.#fill(keys);
    if (error !== undefined) return { keys, name, status: 'damaged', error: asHoldfast(error, name) };
    if (saved.has(name)) return null;
    try {
      // Otherwise it was created since the list was made, and is not of this list.
      if (this.#host.presence(name) !== 'file') return null;
      if (this.#host.preview(name, this.#options) === 'none') return null;
      return { keys, name, status: 'unmanaged' };
    } catch (thrown) {
      const refusal = asHoldfast(thrown, name);
      const isReadable = ['HF_SCHEMA', 'HF_VALUE', 'HF_NAME'].includes(refusal.code);
      return { keys, name, status: isReadable ? 'unmanaged' : 'damaged', error: refusal };
    }
  }

  #open(name: string, initial?: unknown): Promise<Document<T>> {
    return this.#host.doc(name, { ...this.#options, initial }) as Promise<Document<T>>;
  }

  #matches(name: string): boolean {
    const parts = name.split('/');
    return parts.length === this.#segments.length && parts.every((part, at) => fits(this.#segments[at], part));
  }

  #keysOf(name: string): string[] {
    return name.split('/').filter((_, at) => this.#segments[at] === ANY);
  }

  #nameOf(given: Keys): string {
    const keys = typeof given === 'string' ? [given] : given;
    const count = this.#segments.filter((segment) => segment === ANY).length;
    if (!Array.isArray(keys) || keys.length !== count) {
      const got = Array.isArray(keys) ? keys.length : String(keys);
      throw new TypeError(`Expected ${count} key${count === 1 ? '' : 's'} for '${this.pattern}', got ${got}`);
    }
    for (const key of keys) {
      if (typeof key !== 'string')
        throw new TypeError(`Expected keys of '${this.pattern}' to be text, got ${typeof key}`);
      // What is joined must not read as more than one part.
      if (key.includes('/'))
        throw new HoldfastError(
          'HF_NAME',
          `Not a key: ${JSON.stringify(key)}: a key is one part of a name, without '/'.`,
        );
    }
    const name = this.#fill(keys);
    assertDocumentName(name);
    return name;
  }

  /** The pattern with these keys in it, as far as they go. */
  #fill(keys: readonly string[]): string {
    let next = 0;
    return this.#segments.map((segment) => (segment === ANY ? (keys[next++] ?? ANY) : segment)).join('/');
  }
}

const ANY = '*';

function parsePattern(pattern: unknown): string[] {
  const segments = typeof pattern === 'string' ? pattern.split('/') : [];
  const isPattern = segments.includes(ANY) && segments.every((part) => part === ANY || !part.includes(ANY));
  if (!isPattern)
    throw new TypeError(
      `Expected a pattern like 'features/*/feature', each '*' a whole part of the name, got ${JSON.stringify(pattern)}`,
    );
  assertDocumentName(segments.map((part) => (part === ANY ? 'x' : part)).join('/'));
  return segments;
}

function fits(segment: string | undefined, part: string): boolean {
  return segment === ANY || segment === part;
}

interface Sighting {
  keys: string[];
  error?: unknown;
}

/** Keys under which a file may lie, and folders that cannot be listed. */
function* sightings(disk: Disk, folder: string, segments: readonly string[], keys: string[]): Generator<Sighting> {
  const [segment, ...rest] = segments;
  if (segment === undefined) return;
  if (segment !== ANY) {
    if (rest.length === 0) yield { keys };
    else yield* sightings(disk, join(folder, segment), rest, keys);
    return;
  }
  let names: string[];
  try {
    names = disk.list(folder);
  } catch (error) {
    if (!isCode(error, 'ENOENT', 'ENOTDIR')) yield { keys, error };
    return;
  }
  for (const name of names) {
    if (rest.length > 0 && !isHiddenName(name)) yield* sightings(disk, join(folder, name), rest, [...keys, name]);
    else if (rest.length === 0 && name.endsWith('.json')) yield { keys: [...keys, name.slice(0, -'.json'.length)] };
  }
}

/** Anything that one document's opening can throw. That the store is closed is not one document's trouble. */
function asHoldfast(error: unknown, name: string): HoldfastError {
  if (error instanceof HoldfastError && error.code === 'HF_CLOSED') throw error;
  if (error instanceof HoldfastError) return error;
  const why = error instanceof Error ? error.message : String(error);
  // From the file system, or from the program's own `migrate` or refinements.
  const code = codeOf(error) === undefined ? 'HF_SCHEMA' : 'HF_IO';
  return new HoldfastError(code, `'${name}' cannot be opened: ${why}. Nothing was touched.`, { cause: error });
}

class Turn {
  #began = performance.now();

  async end(): Promise<void> {
    if (performance.now() - this.#began < TURN_MS) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.#began = performance.now();
  }
}
