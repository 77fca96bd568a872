// A store while it runs: documents in memory, changes on their way to disk, and what is known about both.

import type { ZodType, z } from 'zod';
import { Checker } from './change/checker.js';
import type { Synchronous, Tracked } from './change/tracked.js';
import type { TrackedLog } from './change/tracked-log.js';
import { Collection, type CollectionHost, type CollectionOptions } from './collection.js';
import { DocOpener, type DocOpening, driftError } from './doc-opening.js';
import { assertSameSchema, type DocOptions, type LogOptions } from './doc-options.js';
import { type Change, Document, type DocumentHost, type FlushOptions } from './document.js';
import { HoldfastError } from './errors.js';
import { call, Events, type Listener, type StoreEvents } from './events.js';
import type { Saver } from './exit/hooks.js';
import type { Ground } from './ground.js';
import type { Health, LogStatus } from './health.js';
import { Chain } from './journal/chain.js';
import { EntrySource } from './journal/entries.js';
import { measureHistory } from './journal/history.js';
import type { Range } from './journal/log-key.js';
import type { RecoveryNote } from './journal/open.js';
import { Places } from './journal/places.js';
import { Ledger } from './ledger.js';
import { Log, type LogHost } from './log.js';
import { assertFreeForLog } from './log-opening.js';
import type { Opened } from './opening.js';
import { assertDocOptions, assertLogOptions, type Settings } from './options.js';
import { type DocumentStatus, Files } from './projection/files.js';
import { linesPath } from './projection/names.js';
import type { Channel } from './queue/channel.js';
import { HandOver } from './queue/hand-over.js';
import type { StationReport } from './threads/station.js';
import { untilAborted } from './until-aborted.js';
import { Watchers } from './watchers.js';

// Captured at import: a program's fake timers must not freeze saving.
const { setImmediate } = globalThis;

export class Store implements DocumentHost, LogHost, Saver {
  readonly directory: string;
  readonly isGuarded: boolean;
  readonly signals: readonly NodeJS.Signals[];
  readonly #ground: Ground;
  readonly #settings: Settings;
  readonly #channel: Channel;
  readonly #ledger: Ledger;
  readonly #handOver: HandOver;
  readonly #events = new Events();
  readonly #files: Files;
  readonly #opener: DocOpener;
  readonly #documents = new Map<string, Document<unknown>>();
  readonly #logs = new Map<string, Log<unknown>>();
  readonly #places: Places;
  readonly #storeId: Buffer;
  readonly #watchers = new Watchers();
  readonly #release: () => Promise<void>;
  #phase: Health['phase'] = 'open';
  #lastFault: HoldfastError | null = null;
  #closing: Promise<void> | null = null;
  #holders = 1;

  constructor({ ground, directory, settings, channel, replica, plan, owner, release }: Opened) {
    this.directory = directory;
    this.#ground = ground;
    this.#settings = settings;
    this.isGuarded = settings.guard;
    this.signals = settings.exit.signals;
    this.#channel = channel;
    this.#release = release;
    const { seq, crc } = channel.durable;
    const ledger = new Ledger(replica, new Chain({ seq, crc }), (docs, logs) => this.#onChange(docs, logs));
    this.#ledger = ledger;
    this.#handOver = new HandOver(ledger, channel, settings.coalesceMs, {
      onCommit: (seq, bytes) => this.#events.emit('commit', { seq, bytes }),
      lastFault: () => this.#lastFault,
    });
    const places = new Places(directory);
    this.#places = places;
    const { storeId } = plan;
    this.#storeId = Buffer.from(storeId);
    const { onDrift, onDamage } = settings;
    this.#opener = new DocOpener({
      disk: ground.disk,
      ledger,
      places,
      storeId: Buffer.from(storeId),
      onDrift,
      onDamage,
    });
    this.#files = new Files({
      ground,
      places,
      storeId,
      owner,
      ledger,
      settings,
      events: this.#events,
      durableSeq: () => channel.durableSeq,
      takeNumber: () => channel.shared.takeNumber(),
      onFault: (error) => this.#onFault(error),
    });
    // What truth has lost in a salvage was not removed: its files stay.
    const logs = [...ledger.logs].map(({ key }) => key);
    this.#files.projector.noteAll([...ledger.names, ...logs], plan.salvaged === null);
    this.#files.projector.noteHistory(measureHistory(ground.disk, places));
    ground.exit.add(this);
  }

  // ── Documents ──

  /** Opens a document, or makes it with `initial`. A JSON file of that name that is already there is taken over. */
  doc<S extends ZodType>(
    name: string,
    options: Omit<DocOptions<z.input<S>>, 'schema'> & { schema: S },
  ): Promise<Document<z.output<S>>>;
  doc<T>(name: string, options: DocOptions<T> & { schema?: undefined }): Promise<Document<T>>;
  async doc(name: string, options: DocOptions<unknown>): Promise<Document<unknown>> {
    this.#assertOpen();
    assertDocOptions(options, 'doc');
    const known = this.#documents.get(name);
    if (known !== undefined) {
      assertSameSchema(name, this.#ledger.opened(name)?.checker, options.schema);
      return known;
    }
    const { tracked, file, found } = this.#opener.open(name, options);
    if (options.backups !== undefined) this.#files.keepBackups(name, options.backups);
    const document = new Document<unknown>(tracked, this);
    this.#documents.set(name, document);
    this.#arrangeFile(name, file);
    if (found !== null) this.#tellRecovered([], [{ document: name, found }]);
    this.#handOver.onChange();
    return document;
  }

  /** Documents whose names follow a pattern: each '*' in it is one whole part of a name. */
  collection<S extends ZodType>(
    pattern: string,
    options: Omit<CollectionOptions<z.input<S>>, 'schema'> & { schema: S },
  ): Promise<Collection<z.output<S>, z.input<S>>>;
  collection<T>(pattern: string, options?: CollectionOptions<T> & { schema?: undefined }): Promise<Collection<T>>;
  async collection(pattern: string, options: CollectionOptions<unknown> = {}): Promise<Collection<unknown>> {
    this.#assertOpen();
    assertDocOptions(options, 'collection');
    return new Collection(pattern, options, this.#collectionHost());
  }

  /**
   * Opens a log: entries that are appended, never changed, and read back from disk. A new one begins with its first entry.
   * Its JSON Lines are in `name.jsonl`. A document of the same name is another thing.
   */
  log<S extends ZodType>(name: string, options: { schema: S }): Promise<Log<z.output<S>, z.input<S>>>;
  log<E = unknown>(name: string, options?: { schema?: undefined }): Promise<Log<E>>;
  async log(name: string, options: LogOptions = {}): Promise<Log<unknown>> {
    this.#assertOpen();
    assertLogOptions(options);
    const { schema } = options;
    const known = this.#logs.get(name);
    if (known !== undefined) {
      assertSameSchema(name, this.#ledger.log(name).checker, schema);
      return known;
    }
    assertFreeForLog(this.#ground.disk, this.directory, this.#ledger.logs, name);
    const checker = schema === undefined ? null : new Checker(schema, name);
    const tracked = this.#ledger.log(name);
    tracked.checker = checker;
    const log = new Log<unknown>(tracked, this);
    this.#logs.set(name, log);
    return log;
  }

  /** Every log of the store, open or not. */
  logs(): LogStatus[] {
    this.#assertOpen();
    const logs = [...this.#ledger.logs].map(({ name, length }) => ({
      name,
      length,
      path: linesPath(this.directory, name),
    }));
    return logs.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Removes a document and its files. */
  remove(name: string): void {
    this.#remove(name);
  }

  /** Every document and every JSON file in the directory, also those that cannot be read. */
  documents(): DocumentStatus[] {
    this.#assertOpen();
    return this.#files.statuses();
  }

  /** All documents and logs, or none. A throw undoes everything that was changed inside. */
  transaction<R>(fn: () => Synchronous<R>): R {
    this.assertWritable();
    return this.#ledger.changes.run(fn, 'The transaction') as R;
  }

  // ── Saving ──

  /** Resolves when everything up to this call survives a power cut. Rejects with a code; nothing is dropped then. */
  flush({ projected = false, signal }: FlushOptions = {}): Promise<void> {
    if (this.#phase === 'closed') return Promise.reject(this.#closedError());
    const done = projected ? this.#flushProjected() : this.#handOver.flush();
    return signal === undefined ? done : untilAborted(done, signal);
  }

  /** Like `flush`, blocking. For the few places that cannot wait. */
  flushSync(): void {
    this.#assertOpen();
    if (this.#ledger.changes.isOpen)
      throw new HoldfastError('HF_CLOSED', 'Cannot flush inside an update or transaction: it is not finished yet.');
    this.#handOver.flushSync(this.#settings.exit.timeoutMs);
  }

  /** Resolves when at most half of `pendingBytesMax` is waiting. */
  async drained(): Promise<void> {
    while (this.#phase !== 'closed' && this.#pendingBytes > this.#settings.pendingBytesMax / 2) {
      await this.#handOver.flush();
    }
  }

  health(): Health {
    const { count, lastUs, maxUs } = this.#channel.shared.syncs;
    return {
      phase: this.#phase,
      pendingBytes: this.#pendingBytes,
      lagMs: this.#handOver.lagMs,
      lastFault: this.#lastFault,
      lastSeq: this.#ledger.lastSeq,
      durableSeq: this.#channel.durableSeq,
      syncs: { count, lastMs: lastUs / 1000, maxMs: maxUs / 1000 },
    };
  }

  /** Returns how to stop listening. */
  on<K extends keyof StoreEvents>(name: K, listener: (event: StoreEvents[K]) => void): () => void {
    return this.#events.on(name, listener);
  }

  /** Saves everything, files too, and lets go. A store that was opened twice is closed with its last `close`. */
  close(): Promise<void> {
    if (this.#closing !== null) return this.#closing;
    if (this.#holders > 1) {
      this.#holders--;
      return this.flush();
    }
    this.#closing = this.#close();
    this.#closing.catch(() => {
      // Still open, and the caller knows: a second attempt may succeed.
      this.#closing = null;
    });
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // ── What others of this library ask ──

  /** One more holder of the same store; null when it is on its way out. */
  share(): this | null {
    if (this.#closing !== null || this.#phase === 'closed') return null;
    this.#holders++;
    return this;
  }

  assertWritable(): void {
    this.#assertOpen();
    if (this.#phase === 'fenced') throw this.#lastFault as HoldfastError;
    const { pendingBytesMax } = this.#settings;
    if (this.#pendingBytes <= pendingBytesMax || this.#ledger.changes.isOpen) return;
    // A hot field that waits for the disk is written once, however often it has changed.
    if (this.#channel.pendingBytes + this.#ledger.weighPending() <= pendingBytesMax) return;
    throw new HoldfastError(
      'HF_BACKPRESSURE',
      `More than ${pendingBytesMax} bytes wait to be saved in ${this.directory}. Nothing was changed. Await store.drained() and try again.`,
    );
  }

  source(key: string): EntrySource {
    return new EntrySource(this.#ground.disk, this.#places, this.#storeId, key);
  }

  lostOf(key: string): readonly Range[] {
    return this.#ledger.lostOf(key);
  }

  durableVersion(name: string): number {
    return this.#ledger.durableVersion(name, this.#channel.durableSeq);
  }

  async resolve(name: string, how: 'adopt' | 'restore'): Promise<void> {
    this.#assertOpen();
    if (how !== 'adopt' && how !== 'restore')
      throw new TypeError(`Expected 'adopt' or 'restore', got ${JSON.stringify(how)}`);
    const tracked = this.#ledger.opened(name);
    if (tracked === undefined) throw new HoldfastError('HF_CLOSED', `'${name}' is not open.`);
    if (how === 'adopt') {
      const { sha256, value } = this.#files.adoptable(name);
      this.#ledger.adopt(tracked, sha256, () => tracked.replace(value as never));
      this.#files.projector.settle(name, { adopts: sha256 });
    } else this.#files.projector.settle(name, { onDrift: 'replace' });
    await this.#flushProjected();
    const path = this.#files.driftOf(name);
    if (path !== undefined) throw driftError(this.directory, name, path);
  }

  /** A whole state, with the version of the schema that it is of. It takes the place of the present one, or makes the document. */
  async put(name: string, state: unknown, schemaVersion: number): Promise<void> {
    this.#assertOpen();
    this.#opener.put(name, state, schemaVersion);
    this.#files.projector.settle(name, { onDrift: 'replace' });
    this.#handOver.onChange();
    await this.#flushProjected();
  }

  watch(name: string, listener: Listener<Change>): () => void {
    return this.#watchers.add(name, listener);
  }

  /** The last chance: everything durable, then the files, on this thread and within the time limit. */
  saveNow(isLast: boolean): void {
    if (this.#phase === 'closed' || this.#phase === 'fenced') return;
    const { timeoutMs } = this.#settings.exit;
    const deadline = performance.now() + timeoutMs;
    try {
      if (isLast) this.#ledger.changes.abort();
      this.#handOver.flushSync(timeoutMs, isLast);
      if (isLast) this.#files.writeLast(deadline);
    } catch (error) {
      process.emitWarning(`Saving ${this.directory} at exit failed: ${(error as Error).message}`, 'HoldfastWarning');
    }
  }

  /** Lets go without saving anything more, as if the process had been killed here. Only for a disk in memory. */
  abandon(): void {
    this.#phase = 'closed';
    this.#closing ??= Promise.resolve();
    this.#handOver.abandon();
    this.#channel.abandon();
    this.#files.abandon();
  }

  noteRecovery(notes: readonly RecoveryNote[]): void {
    if (notes.length > 0) this.#tellRecovered(notes, []);
  }

  onReport(report: StationReport): void {
    switch (report.kind) {
      case 'fault':
        if (report.isPassing !== true && report.code !== 'HF_FENCED') this.#setDegraded(true);
        this.#onFault(new HoldfastError(report.code, report.message));
        return;
      case 'mended':
        this.#setDegraded(false);
        return;
      case 'rotated':
        this.#files.projector.noteRotated(report.bytes);
        return;
      default:
        report satisfies never;
    }
  }

  // ── Inside ──

  #collectionHost(): CollectionHost {
    const whileOpen = <R>(ask: () => R): R => {
      this.#assertOpen();
      return ask();
    };
    return {
      disk: this.#ground.disk,
      directory: this.directory,
      names: () => whileOpen(() => this.#ledger.names),
      presence: (name) => whileOpen(() => this.#opener.presence(name)),
      preview: (name, options) => whileOpen(() => this.#opener.preview(name, options)),
      doc: (name, options) => this.doc(name, options as DocOptions<unknown> & { schema?: undefined }),
      driftOf: (name) => this.#files.driftOf(name),
      remove: (name) => this.#remove(name),
    };
  }

  #remove(name: string): boolean {
    this.#assertOpen();
    if (!this.#ledger.remove(name)) return false;
    this.#documents.delete(name);
    this.#opener.forget(name);
    this.#files.forget(name);
    // Before its commit is handed over.
    this.#files.projector.noteRemoved(name);
    this.#handOver.onChange();
    return true;
  }

  /** Handed over and not durable, and what could not be handed over yet. */
  get #pendingBytes(): number {
    return this.#channel.pendingBytes + this.#ledger.pendingBytes;
  }

  #onChange(docs: readonly Tracked[], logs: readonly TrackedLog[]): void {
    for (const { key } of logs) this.#files.projector.note([key]);
    for (const { name } of docs) this.#files.projector.note([name]);
    const news = this.#watchers.newsOf(docs);
    // First: whatever listeners do, also to these documents, the change is on its way.
    this.#handOver.onChange();
    for (const { listener, change } of news) call(listener, change);
  }

  /** Whoever opened the store or document adds listeners in the same turn of the event loop; they hear it after that. */
  #tellRecovered(notes: readonly RecoveryNote[], projections: StoreEvents['recovered']['projections']): void {
    setImmediate(() => this.#events.emit('recovered', { notes, projections }));
  }

  #arrangeFile(name: string, file: DocOpening['file']): void {
    const { projector } = this.#files;
    if (file.kind === 'write') projector.note([name]);
    else if (file.kind === 'adopts') projector.settle(name, { adopts: file.sha256 });
    else if (file.kind === 'replace') projector.settle(name, { onDrift: 'replace' });
  }

  async #flushProjected(): Promise<void> {
    await this.#handOver.flush();
    await this.#files.projector.projectNow();
  }

  #onFault(error: HoldfastError): void {
    this.#lastFault = error;
    if (error.code === 'HF_FENCED') this.#phase = 'fenced';
    this.#events.emit('fault', error);
  }

  #setDegraded(isDegraded: boolean): void {
    if (this.#phase !== (isDegraded ? 'open' : 'degraded')) return;
    this.#phase = isDegraded ? 'degraded' : 'open';
    this.#events.emit('degraded', { isDegraded });
  }

  async #close(): Promise<void> {
    await this.#flushProjected();
    const before = this.#phase;
    this.#phase = 'closing';
    try {
      await this.#channel.close();
    } catch (error) {
      this.#phase = before;
      throw error;
    }
    this.#phase = 'closed';
    this.#ground.exit.remove(this);
    await this.#files.close();
    await this.#release();
  }

  #assertOpen(): void {
    if (this.#phase === 'closed' || this.#phase === 'closing') throw this.#closedError();
  }

  #closedError(): HoldfastError {
    return new HoldfastError('HF_CLOSED', `The store ${this.directory} is closed. Open it again.`);
  }
}
