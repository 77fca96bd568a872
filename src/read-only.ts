// A store as its writer leaves it from moment to moment, for another process: a viewer, a status command, a test.
//
// Not promised: that what is seen is durable. A commit shows once it is written, and a power cut may still take it away;
// `health().durableSeq` says up to where it cannot.

import { resolve } from 'node:path';
import type { ZodType, z } from 'zod';
import { Checker } from './change/checker.js';
import type { DeepReadonly } from './change/tracked.js';
import { HoldfastError, showPath } from './errors.js';
import { Places } from './journal/places.js';
import { StoreReader } from './journal/reader.js';
import type { ReplicaDocument } from './journal/replica.js';
import { assertPath } from './opening.js';
import { assertLogOptions } from './options.js';
import { assertDocumentName } from './projection/names.js';

export interface ReadOnlyHealth {
  phase: 'open' | 'closed';
  /** The newest commit that was read, and the newest one known to survive a power cut. */
  lastSeq: number;
  durableSeq: number;
}

export interface ReadOnlyDocument<T> {
  readonly name: string;
  /**
   * As of the last `refresh`, of this or any document of the store. Throws HF_MISSING while the document is removed and
   * HF_SCHEMA while the schema refuses what the writer made of it. The same object may change with a `refresh`.
   */
  readonly state: DeepReadonly<T>;
  /** Counts the writer's updates; 0 while the document is removed. */
  readonly version: number;
  /** Of the whole store: documents of one transaction are never seen apart. */
  refresh(): Promise<void>;
}

/**
 * Opens a store for reading, also while another process has it open. Takes no lock and writes nothing. HF_MISSING when
 * there is no store, HF_DAMAGED with the report that `open` would give. For a document of `openDoc`, give its hidden folder.
 */
export async function openReadOnly(directory: string): Promise<ReadOnlyStore> {
  assertPath('directory', directory);
  const home = resolve(directory);
  const reader = new StoreReader(new Places(home));
  await reader.read();
  return new ReadOnlyStore(home, reader);
}

export class ReadOnlyStore implements AsyncDisposable {
  readonly directory: string;
  #reader: StoreReader | null;

  constructor(directory: string, reader: StoreReader) {
    this.directory = directory;
    this.#reader = reader;
  }

  /** A document as of the last `refresh`; HF_MISSING when it is not in the store. */
  doc<S extends ZodType>(name: string, options: { schema: S }): Promise<ReadOnlyDocument<z.output<S>>>;
  doc<T>(name: string, options?: { schema?: undefined }): Promise<ReadOnlyDocument<T>>;
  async doc(name: string, options: { schema?: ZodType | undefined } = {}): Promise<ReadOnlyDocument<unknown>> {
    assertLogOptions(options, 'doc');
    const { schema } = options;
    assertDocumentName(name);
    const document = new Viewed(name, this, schema === undefined ? null : new Checker(schema, name));
    document.check();
    return document;
  }

  /** Every document that is saved, by name. The JSON files are not looked at. */
  documents(): { name: string; version: number }[] {
    const found = [...this.#open().documents].map(([name, { version }]) => ({ name, version }));
    return found.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /**
   * Catches up with the writer, all documents at once. Reads only what the journal has gained; everything again when the
   * writer began a new file (every few MiB, or when the store was opened anew). When it rejects, what was read before stays.
   */
  async refresh(): Promise<void> {
    await this.#open().catchUp();
    this.#open();
  }

  health(): ReadOnlyHealth {
    const { lastSeq = 0, durableSeq = 0 } = this.#reader ?? {};
    return { phase: this.#reader === null ? 'closed' : 'open', lastSeq, durableSeq };
  }

  async close(): Promise<void> {
    this.#reader = null;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** For its documents. */
  find(name: string): ReplicaDocument | undefined {
    return this.#open().documents.get(name);
  }

  #open(): StoreReader {
    if (this.#reader !== null) return this.#reader;
    throw new HoldfastError('HF_CLOSED', `The store ${this.directory} is closed. Open it again.`);
  }
}

class Viewed implements ReadOnlyDocument<unknown> {
  readonly name: string;
  readonly #store: ReadOnlyStore;
  readonly #checker: Checker | null;
  /** What was accepted last. A document that was removed and made again can have the same version. */
  #accepted: { state: unknown; version: number } | null = null;

  constructor(name: string, store: ReadOnlyStore, checker: Checker | null) {
    this.name = name;
    this.#store = store;
    this.#checker = checker;
  }

  get state(): DeepReadonly<unknown> {
    return this.check();
  }

  get version(): number {
    return this.#store.find(this.name)?.version ?? 0;
  }

  async refresh(): Promise<void> {
    await this.#store.refresh();
    this.check();
  }

  /** Once per version: the writer may have another schema. */
  check(): unknown {
    const found = this.#store.find(this.name);
    if (found === undefined)
      throw new HoldfastError('HF_MISSING', `There is no '${this.name}' in ${this.#store.directory}.`);
    const { state, version, checkedBy } = found;
    if (this.#checker === null || (this.#accepted?.state === state && this.#accepted.version === version)) return state;
    const problem = this.#checker.trusts(checkedBy) ? null : this.#checker.checkWhole(state);
    if (problem !== null)
      throw new HoldfastError(
        'HF_SCHEMA',
        `The schema of '${this.name}' refuses its saved state at ${showPath(problem.path)}: ${problem.message}.`,
        { path: problem.path, details: problem.issues },
      );
    this.#accepted = { state, version };
    return state;
  }
}
