// A store while it runs: documents in memory, changes on their way to disk, and what is known about both.

import type { ZodType, z } from 'zod';
import type { Synchronous, Tracked } from './change/tracked.js';
import type { TrackedLog } from './change/tracked-log.js';
import { Collection, type CollectionOptions } from './collection.js';
import { DocOpener } from './doc-opening.js';
import type { DocOptions, LogOptions } from './doc-options.js';
import type { Change, Document, DocumentHost, FlushOptions } from './document.js';
import { HoldfastError } from './errors.js';
import { call, Events, type Listener, type StoreEvents } from './events.js';
import type { Saver } from './exit/hooks.js';
import { warnAtExit } from './exit/warn.js';
import type { Ground } from './ground.js';
import type { Health, LogStatus } from './health.js';
import { Holdings } from './holdings.js';
import { Chain } from './journal/chain.js';
import { EntrySource } from './journal/entries.js';
import { measureHistory } from './journal/history.js';
import type { Range } from './journal/log-key.js';
import type { RecoveryNote } from './journal/open.js';
import { Places } from './journal/places.js';
import { Ledger } from './ledger.js';
import type { Log, LogHost } from './log.js';
import type { Opened } from './opening.js';
import { assertDocOptions, assertFlushOptions, type Settings } from './options.js';
import { Files } from './projection/files.js';
import type { DocumentStatus } from './projection/statuses.js';
import type { Channel } from './queue/channel.js';
import { HandOver } from './queue/hand-over.js';
import { Standing } from './standing.js';
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
  readonly #standing: Standing;
  readonly #files: Files;
  readonly #holdings: Holdings;
  readonly #places: Places;
  readonly #storeId: Buffer;
  readonly #watchers = new Watchers();
  readonly #release: () => Promise<void>;
  #closing: Promise<void> | null = null;
  #holders = 1;
  /** Until when something may still be saved, once the process is ending. */
  #lastDeadline: number | null = null;

  constructor({ ground, directory, settings, channel, replica, plan, owner, release }: Opened) {
    this.directory = directory;
    this.#ground = ground;
    this.#settings = settings;
    this.isGuarded = settings.guard;
    this.signals = settings.exit.signals;
    this.#channel = channel;
    this.#release = release;
    this.#standing = new Standing(directory, this.#events);
    const { seq, crc } = channel.durable;
    const ledger = new Ledger(replica, new Chain({ seq, crc }), (docs, logs) => this.#onChange(docs, logs));
    this.#ledger = ledger;
    this.#handOver = new HandOver(ledger, channel, settings.coalesceMs, {
      onCommit: (seq, bytes) => this.#events.emit('commit', { seq, bytes }),
      lastFault: () => this.#standing.lastFault,
    });
    const places = new Places(directory);
    this.#places = places;
    const { storeId } = plan;
    this.#storeId = Buffer.from(storeId);
    const { onDrift, onDamage } = settings;
    // What reads files, and may fail, before what holds on to the snapshot thread.
    const opener = new DocOpener({ disk: ground.disk, ledger, places, storeId: this.#storeId, onDrift, onDamage });
    const history = measureHistory(ground.disk, places);
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
      onFault: (error) => this.#standing.noteFault(error),
    });
    this.#holdings = new Holdings({
      ground,
      directory,
      ledger,
      opener,
      files: this.#files,
      standing: this.#standing,
      host: this,
      onDirty: () => this.#onDirty(),
      onFound: (document, found) => this.#tellRecovered([], [{ document, found }]),
    });
    // What truth has lost in a salvage was not removed: its files stay.
    const logs = [...ledger.logs].map(({ key }) => key);
    this.#files.projector.noteAll([...ledger.names, ...logs], plan.salvaged === null);
    this.#files.projector.noteHistory(history);
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
    return this.#holdings.doc(name, options);
  }

  /** Documents whose names follow a pattern: each '*' in it is one whole part of a name. */
  collection<S extends ZodType>(
    pattern: string,
    options: Omit<CollectionOptions<z.input<S>>, 'schema'> & { schema: S },
  ): Promise<Collection<z.output<S>, z.input<S>>>;
  collection<T>(pattern: string, options?: CollectionOptions<T> & { schema?: undefined }): Promise<Collection<T>>;
  async collection(pattern: string, options: CollectionOptions<unknown> = {}): Promise<Collection<unknown>> {
    this.#standing.assertOpen();
    assertDocOptions(options, 'collection');
    return new Collection(pattern, options, this.#holdings.collectionHost());
  }

  /**
   * Opens a log: entries that are appended, never changed, and read back from disk. A new one begins with its first entry.
   * Its JSON Lines are in `name.jsonl`. A document of the same name is another thing.
   */
  log<S extends ZodType>(name: string, options: { schema: S }): Promise<Log<z.output<S>, z.input<S>>>;
  log<E = unknown>(name: string, options?: { schema?: undefined }): Promise<Log<E>>;
  async log(name: string, options: LogOptions = {}): Promise<Log<unknown>> {
    return this.#holdings.log(name, options);
  }

  /** Every log of the store, open or not. */
  logs(): LogStatus[] {
    return this.#holdings.logs();
  }

  /** Removes a document and its files. */
  remove(name: string): void {
    this.#holdings.remove(name);
  }

  /** Every document and every JSON file in the directory, also those that cannot be read. */
  documents(): DocumentStatus[] {
    this.#standing.assertOpen();
    return this.#files.statuses();
  }

  /** All documents and logs, or none. A throw undoes everything that was changed inside. */
  transaction<R>(fn: () => Synchronous<R>): R {
    this.assertWritable();
    return this.#ledger.changes.run(fn, 'The transaction') as R;
  }

  // ── Saving ──

  /** Resolves when everything up to this call survives a power cut. Rejects with a code; nothing is dropped then. */
  flush(options?: FlushOptions): Promise<void> {
    return options === undefined ? this.#flushTruth() : this.#flushWith(options);
  }

  /** Like `flush`, blocking. For the few places that cannot wait. */
  flushSync(): void {
    this.#standing.assertOpen();
    if (this.#ledger.changes.isOpen)
      throw new HoldfastError('HF_CLOSED', 'Cannot flush inside an update or transaction: it is not finished yet.');
    const refusal = this.#refusal;
    if (refusal !== null) throw refusal;
    this.#handOver.flushSync(this.#settings.exit.timeoutMs);
  }

  /** Resolves when at most half of `pendingBytesMax` is waiting. */
  async drained(): Promise<void> {
    while (this.#standing.phase !== 'closed' && this.#pendingBytes > this.#settings.pendingBytesMax / 2) {
      await this.#flushTruth();
    }
  }

  health(): Health {
    const { count, lastUs, maxUs } = this.#channel.shared.syncs;
    return {
      phase: this.#standing.phase,
      pendingBytes: this.#pendingBytes,
      lagMs: this.#handOver.lagMs,
      lastFault: this.#standing.lastFault,
      lastSeq: this.#ledger.lastSeq,
      durableSeq: this.#channel.durableSeq,
      syncs: { count, lastMs: lastUs / 1000, maxMs: maxUs / 1000 },
    };
  }

  /** Returns how to stop listening. */
  on<K extends keyof StoreEvents>(name: K, listener: (event: StoreEvents[K]) => void): () => void {
    return this.#events.on(name, listener);
  }

  /**
   * Saves everything, files too, and lets go. A store that was opened twice is closed with its last `close`. One that
   * another process has taken over is closed at once, and rejects with HF_FENCED.
   */
  close(): Promise<void> {
    if (this.#closing !== null) return this.#closing;
    const { phase } = this.#standing;
    if (phase === 'closed') return Promise.resolve();
    // Lost to another process it is of no use to any of its holders.
    if (this.#holders > 1 && phase !== 'fenced') {
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

  /** One more holder of the same store; null when it is on its way out, or lost to another process. */
  share(): this | null {
    const { phase } = this.#standing;
    if (this.#closing !== null || phase === 'closed' || phase === 'fenced') return null;
    this.#holders++;
    return this;
  }

  assertWritable(): void {
    this.#standing.assertOpen();
    this.#standing.assertOwned();
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
    this.#holdings.settle(name, how);
    await this.#flushProjected(name);
    this.#holdings.assertSettled(name);
  }

  /** A whole state, with the version of the schema that it is of. It takes the place of the present one, or makes the document. */
  async put(name: string, state: unknown, schemaVersion: number): Promise<void> {
    this.#holdings.put(name, state, schemaVersion);
    await this.#flushProjected(name);
  }

  watch(doc: Tracked, listener: Listener<Change>): () => void {
    return this.#watchers.add(doc, listener);
  }

  /** The last chance: everything durable, then the files, on this thread and within the time limit. */
  saveNow(isLast: boolean): void {
    const { phase } = this.#standing;
    if (phase === 'closed' || phase === 'fenced') return;
    const deadline = this.#lastDeadline ?? performance.now() + this.#settings.exit.timeoutMs;
    if (isLast) this.#lastDeadline = deadline;
    try {
      if (isLast) this.#ledger.changes.abort();
      this.#handOver.flushSync(deadline - performance.now(), isLast);
      if (isLast) this.#files.writeLast(deadline);
    } catch (error) {
      warnAtExit(`Saving ${this.directory} at exit failed: ${(error as Error).message}`);
    }
  }

  /** The process did not end: whatever was done for its last moments is done with. */
  goOn(): void {
    this.#lastDeadline = null;
    this.#files.goOn().catch((error: unknown) => this.#standing.noteFault(error as HoldfastError));
  }

  /** Lets go without saving anything more, as if the process had been killed here. Only for a disk in memory. */
  abandon(): void {
    this.#standing.noteClosed();
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
        if (report.isPassing !== true && report.code !== 'HF_FENCED') this.#standing.setDegraded(true);
        this.#standing.noteFault(new HoldfastError(report.code, report.message));
        return;
      case 'mended':
        this.#standing.setDegraded(false);
        return;
      case 'rotated':
        this.#files.projector.noteRotated(report.bytes);
        return;
      default:
        report satisfies never;
    }
  }

  // ── Inside ──

  /** Handed over and not durable, and what could not be handed over yet. */
  get #pendingBytes(): number {
    return this.#channel.pendingBytes + this.#ledger.pendingBytes;
  }

  #onChange(docs: readonly Tracked[], logs: readonly TrackedLog[]): void {
    for (const { key } of logs) this.#files.projector.note([key]);
    for (const { name } of docs) this.#files.projector.note([name]);
    const news = this.#watchers.newsOf(docs);
    // First: whatever listeners do, also to these documents, the change is on its way.
    this.#onDirty();
    for (const { listener, change } of news) call(listener, change);
  }

  #onDirty(): void {
    this.#handOver.onChange();
    // A listener of 'exit' that comes after ours: nothing else will save it.
    const isEnding = this.#lastDeadline !== null && performance.now() < this.#lastDeadline;
    if (isEnding && !this.#ledger.changes.isOpen) this.saveNow(true);
  }

  /** Whoever opened the store or document adds listeners in the same turn of the event loop; they hear it after that. */
  #tellRecovered(notes: readonly RecoveryNote[], projections: StoreEvents['recovered']['projections']): void {
    setImmediate(() => this.#events.emit('recovered', { notes, projections }));
  }

  async #flushWith(options: FlushOptions): Promise<void> {
    assertFlushOptions(options);
    const { projected = false, signal } = options;
    const done = projected ? this.#flushProjected() : this.#flushTruth();
    await (signal === undefined ? done : untilAborted(done, signal));
  }

  #flushTruth(): Promise<void> {
    const refusal = this.#refusal;
    return refusal === null ? this.#handOver.flush() : Promise.reject(refusal);
  }

  /** All files, and a rejection for any of them; or for that of one document alone. */
  async #flushProjected(name?: string): Promise<void> {
    const faults = await this.#saveAll();
    const [fault] = name === undefined ? faults.values() : [faults.get(name)];
    if (fault !== undefined) throw fault;
  }

  async #saveAll(): Promise<ReadonlyMap<string, HoldfastError>> {
    await this.#flushTruth();
    return this.#files.projector.projectNow();
  }

  async #close(): Promise<void> {
    try {
      await this.#finish();
    } catch (error) {
      if (this.#standing.phase !== 'fenced') throw error;
      // Nothing more can be saved here. The caller is told, and may open the store again.
      this.#handOver.abandon();
      this.#channel.abandon();
      await this.#letGo();
      throw error;
    }
    await this.#letGo();
  }

  async #finish(): Promise<void> {
    await this.#saveToClose();
    await this.#standing.closeAfter(async () => {
      // What was changed meanwhile was accepted. From here on nothing is.
      if (!this.#handOver.isSettled || this.#files.projector.names.length > 0) await this.#saveToClose();
      await this.#channel.close();
    });
    // A file that cannot be written here either was told of, and is tried again at the next opening.
    await this.#files.writeRest(this.#settings.exit.timeoutMs);
  }

  /** Without a snapshot thread, or a journal that can be read back, a store can be closed all the same. */
  async #saveToClose(): Promise<void> {
    await this.#flushTruth();
    try {
      await this.#files.projector.projectNow();
    } catch (error) {
      // Let go meanwhile, as a disk in memory does that crashes.
      if (this.#standing.phase === 'closed') throw error;
      this.#standing.noteFault(error as HoldfastError);
    }
  }

  async #letGo(): Promise<void> {
    this.#standing.noteClosed();
    this.#ground.exit.remove(this);
    try {
      await this.#files.close();
    } finally {
      await this.#release();
    }
  }

  /** Why nothing can be saved any more. */
  get #refusal(): HoldfastError | null {
    const { phase, lastFault } = this.#standing;
    if (phase === 'closed') return this.#standing.closedError();
    return phase === 'fenced' && !this.#handOver.isSettled ? lastFault : null;
  }
}
