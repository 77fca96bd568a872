// What callers hold of a store: each document and each log once, however often it is asked for.

import { Checker } from './change/checker.js';
import type { CollectionHost } from './collection.js';
import { type DocOpener, type DocOpening, driftError } from './doc-opening.js';
import { assertSameSchema, assertSameVersion, type DocOptions, type LogOptions } from './doc-options.js';
import { Document, type DocumentHost } from './document.js';
import { HoldfastError } from './errors.js';
import type { Ground } from './ground.js';
import type { LogStatus } from './health.js';
import type { Ledger } from './ledger.js';
import { Log, type LogHost } from './log.js';
import { assertFreeForLog } from './log-opening.js';
import { assertDocOptions, assertLogOptions } from './options.js';
import type { Files } from './projection/files.js';
import { linesPath } from './projection/names.js';
import type { Standing } from './standing.js';

export interface HoldingsStart {
  ground: Ground;
  directory: string;
  ledger: Ledger;
  opener: DocOpener;
  files: Files;
  standing: Standing;
  /** The store that the documents and logs turn to. */
  host: DocumentHost & LogHost;
  /** There is something to save. */
  onDirty(): void;
  onFound(document: string, found: string): void;
}

export class Holdings {
  readonly #start: HoldingsStart;
  readonly #documents = new Map<string, Document<unknown>>();
  readonly #logs = new Map<string, Log<unknown>>();

  constructor(start: HoldingsStart) {
    this.#start = start;
  }

  doc(name: string, options: DocOptions<unknown>): Document<unknown> {
    const { standing, ledger, files, host, onDirty, onFound } = this.#start;
    standing.assertOpen();
    assertDocOptions(options, 'doc');
    const known = this.#documents.get(name);
    const opened = ledger.opened(name);
    // One that was made in a transaction and undone with it is not open any more.
    if (known !== undefined && opened !== undefined) {
      assertSameSchema(name, opened.checker, options.schema);
      assertSameVersion(name, opened.schemaVersion, options.version);
      return known;
    }
    const { tracked, file, found } = this.#open(name, options);
    if (options.backups !== undefined) files.keepBackups(name, options.backups);
    const document = new Document<unknown>(tracked, host);
    this.#documents.set(name, document);
    this.#arrangeFile(name, file);
    if (found !== null) onFound(name, found);
    onDirty();
    return document;
  }

  log(name: string, options: LogOptions): Log<unknown> {
    const { standing, ground, directory, ledger, host } = this.#start;
    standing.assertOpen();
    assertLogOptions(options);
    const { schema } = options;
    const known = this.#logs.get(name);
    if (known !== undefined) {
      assertSameSchema(name, ledger.log(name).checker, schema);
      return known;
    }
    assertFreeForLog(ground.disk, directory, ledger.logs, name);
    const checker = schema === undefined ? null : new Checker(schema, name);
    const tracked = ledger.log(name);
    tracked.checker = checker;
    const log = new Log<unknown>(tracked, host);
    this.#logs.set(name, log);
    return log;
  }

  /** Every log of the store, held or not. */
  logs(): LogStatus[] {
    const { standing, ledger, directory } = this.#start;
    standing.assertOpen();
    const logs = [...ledger.logs].map(({ name, length }) => ({ name, length, path: linesPath(directory, name) }));
    return logs.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** False when there is no such document. */
  remove(name: string): boolean {
    const { standing, ledger, opener, files, onDirty } = this.#start;
    standing.assertOpen();
    if (!ledger.remove(name)) return false;
    this.#documents.delete(name);
    opener.forget(name);
    files.forget(name);
    // Before its commit is handed over.
    files.projector.noteRemoved(name);
    onDirty();
    return true;
  }

  /** A whole state, with the version of the schema that it is of. It takes the place of the present one, or makes the document. */
  put(name: string, state: unknown, schemaVersion: number): void {
    const { standing, opener, files, onDirty } = this.#start;
    standing.assertOpen();
    opener.put(name, state, schemaVersion);
    files.projector.settle(name, { onDrift: 'replace' });
    onDirty();
  }

  /** What is to become of a file that somebody else changed. It happens with the next projection. */
  settle(name: string, how: 'adopt' | 'restore'): void {
    const { standing, ledger, files } = this.#start;
    standing.assertOpen();
    if (how !== 'adopt' && how !== 'restore')
      throw new TypeError(`Expected 'adopt' or 'restore', got ${JSON.stringify(how)}`);
    const tracked = ledger.opened(name);
    if (tracked === undefined) throw new HoldfastError('HF_CLOSED', `'${name}' is not open.`);
    // What becomes of the file could not be undone with the rest.
    if (ledger.changes.isOpen)
      throw new HoldfastError('HF_CLOSED', `Cannot resolve '${name}' inside an update or transaction. Do it after.`);
    if (how === 'adopt') {
      const theirs = files.adoptable(name);
      if (theirs === null) return;
      ledger.adopt(tracked, theirs.sha256, () => tracked.replace(theirs.value as never));
      files.projector.settle(name, { adopts: theirs.sha256 });
    } else files.projector.settle(name, { onDrift: 'replace' });
  }

  /** Somebody changed it again, or nothing was settled. */
  assertSettled(name: string): void {
    const { directory, files } = this.#start;
    const path = files.driftOf(name);
    if (path !== undefined) throw driftError(directory, name, path);
  }

  /** For collections. */
  collectionHost(): CollectionHost {
    const { ground, directory, ledger, opener, files, standing } = this.#start;
    const whileOpen = <R>(ask: () => R): R => {
      standing.assertOpen();
      return ask();
    };
    return {
      disk: ground.disk,
      directory,
      names: () => whileOpen(() => ledger.names),
      presence: (name) => whileOpen(() => opener.presence(name)),
      preview: (name, options) => whileOpen(() => opener.preview(name, options)),
      doc: async (name, options) => this.doc(name, options),
      driftOf: (name) => files.driftOf(name),
      remove: (name) => this.remove(name),
    };
  }

  #open(name: string, options: DocOptions<unknown>): DocOpening {
    const { opener, files } = this.#start;
    try {
      return opener.open(name, options);
    } catch (error) {
      // Somebody may have been at its file since it was looked at last.
      files.distrust(name);
      throw error;
    }
  }

  #arrangeFile(name: string, file: DocOpening['file']): void {
    const { projector } = this.#start.files;
    if (file.kind === 'write') projector.note([name]);
    else if (file.kind === 'adopts') projector.settle(name, { adopts: file.sha256 });
    else if (file.kind === 'replace') projector.settle(name, { onDrift: 'replace' });
  }
}
