// The JSON files of a running store: which ones lag, which ones somebody else changed, and what becomes of them.

import type { Tracked } from '../change/tracked.js';
import { writeFault } from '../disk/faults.js';
import { HoldfastError } from '../errors.js';
import type { Events } from '../events.js';
import { type LastOutcome, writeLastFiles } from '../exit/last-files.js';
import { warnAtExit } from '../exit/warn.js';
import type { Ground, SnapshotKeeper } from '../ground.js';
import { isLogKey, logNameOf } from '../journal/log-key.js';
import { onlyFileOf, type Places } from '../journal/places.js';
import type { ReplicaDocument } from '../journal/replica.js';
import type { Ledger } from '../ledger.js';
import type { Settings } from '../options.js';
import { PublishLock } from '../threads/publish-lock.js';
import { documentPaths, linesPath } from './names.js';
import { Projector, type ProjectorHost } from './projector.js';
import { type Edition, readRecord } from './record.js';
import type { DocumentOutcome, ProjectReport } from './requests.js';
import { serialize } from './serialize.js';
import { type DocumentStatus, type FileStatus, statusOf, unmanagedFiles } from './statuses.js';
import { fileAt, judgeLive, targetOf } from './target.js';

export interface FilesStart {
  ground: Ground;
  places: Places;
  storeId: Uint8Array;
  owner: number;
  ledger: Ledger;
  settings: Settings;
  events: Events;
  durableSeq(): number;
  takeNumber(): number;
  onFault(error: HoldfastError): void;
}

export class Files implements ProjectorHost {
  readonly directory: string;
  readonly storeId: Uint8Array;
  readonly owner: number;
  readonly durableSeq: () => number;
  readonly lastSeq: () => number;
  readonly takeNumber: () => number;
  readonly onFault: (error: HoldfastError) => void;
  readonly projector: Projector;
  readonly #start: FilesStart;
  readonly #thread: SnapshotKeeper;
  readonly #lock = new PublishLock();
  readonly #backups = new Map<string, number>();
  /** Documents whose file somebody else changed, with its path. */
  readonly #drifted = new Map<string, string>();
  /** Documents whose files the snapshot thread has looked at and found in order, or put in order. */
  readonly #seen = new Set<string>();

  constructor(start: FilesStart) {
    this.#start = start;
    this.directory = start.places.directory;
    this.storeId = start.storeId;
    this.owner = start.owner;
    this.durableSeq = start.durableSeq;
    this.lastSeq = () => start.ledger.lastSeq;
    this.takeNumber = start.takeNumber;
    this.onFault = start.onFault;
    this.#thread = start.ground.snapshots(start.settings.workersUrl);
    this.projector = new Projector(this, this.#thread, this.#lock, start.settings);
  }

  keepBackups(name: string, backups: number): void {
    this.#backups.set(name, backups);
  }

  pathOf(name: string): string {
    if (isLogKey(name)) return linesPath(this.directory, logNameOf(name));
    return documentPaths(this.directory, name).main;
  }

  /** The path of a file that somebody else changed. */
  driftOf(name: string): string | undefined {
    return this.#drifted.get(name);
  }

  /** Its file is not what it was when the snapshot thread saw it. */
  distrust(name: string): void {
    this.#seen.delete(name);
  }

  forget(name: string): void {
    this.#drifted.delete(name);
    this.#seen.delete(name);
    this.#backups.delete(name);
  }

  /** The content of a document's file, to become its state; null for a file of ours, which at most lags behind it. */
  adoptable(name: string): { sha256: string; value: unknown } | null {
    const { ground, ledger } = this.#start;
    const path = targetOf(ground.disk, this.pathOf(name));
    // It is about to be written, as one that lags.
    if (fileAt(ground.disk, path) === null) return null;
    const tracked = ledger.opened(name) as Tracked;
    const record = this.#recordReader();
    const edition = (isAgain: boolean) => record(isAgain).get(name);
    const found = judgeLive(ground.disk, path, edition, () => serialize(tracked.raw));
    switch (found.kind) {
      case 'ours':
      case 'same':
      case 'reformatted':
        return null;
      case 'foreign':
        return found.sha256 === tracked.adopted ? null : found;
      case 'empty':
      case 'unparseable': {
        const what = found.kind === 'empty' ? 'it is empty' : found.reason;
        throw new HoldfastError('HF_DAMAGED', `${path} cannot be adopted: ${what}. Mend it, or use 'restore'.`);
      }
      default:
        return found satisfies never;
    }
  }

  /** Every document and every JSON file in the store's directory: nothing is left out. */
  statuses(): DocumentStatus[] {
    const { ground, ledger } = this.#start;
    const known = new Set(ledger.names);
    const record = this.#recordReader();
    const found: DocumentStatus[] = [...known].map((name) => ({
      name,
      status: this.#statusOf(name, record),
      version: this.versionOf(name),
      path: this.pathOf(name),
    }));
    // The folder around a single document is not the store's: what else is in it is not looked at.
    if (onlyFileOf(this.directory) === null) found.push(...unmanagedFiles(ground, this.directory, known));
    return found.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  #statusOf(name: string, record: (isAgain: boolean) => ReadonlyMap<string, Edition>): FileStatus {
    if (this.#drifted.has(name)) return 'drifted';
    const { adopts, onDrift } = this.projector.howOf(name);
    if (this.#seen.has(name) || onDrift === 'replace') return 'sound';
    const { ground, ledger } = this.#start;
    const opened = ledger.opened(name);
    const { adopted } = opened ?? (ledger.stored(name) as ReplicaDocument);
    const state = opened?.raw ?? (ledger.stored(name) as ReplicaDocument).state;
    return statusOf(ground.disk, this.pathOf(name), {
      edition: (isAgain) => record(isAgain).get(name),
      expected: () => serialize(state),
      adopted: adopts ?? adopted,
    });
  }

  /** Read once, and only if somebody has to know; or again. */
  #recordReader(): (isAgain: boolean) => ReadonlyMap<string, Edition> {
    const { ground, places, storeId } = this.#start;
    let editions: ReadonlyMap<string, Edition> | null = null;
    return (isAgain) => {
      if (isAgain) editions = null;
      editions ??= readRecord(ground.disk, places, Buffer.from(storeId)).editions;
      return editions;
    };
  }

  versionOf(name: string): number {
    const { ledger } = this.#start;
    if (isLogKey(name)) return ledger.log(logNameOf(name)).length;
    return ledger.opened(name)?.version ?? ledger.stored(name)?.version ?? 0;
  }

  backupsOf(name: string): number {
    return this.#backups.get(name) ?? this.#start.settings.backups;
  }

  onOutcome({ name, version, outcome }: DocumentOutcome): void {
    const { events } = this.#start;
    if (outcome.kind === 'drift') {
      const isNews = !this.#drifted.has(name);
      this.#drifted.set(name, outcome.path);
      if (isNews) events.emit('drift', { document: name, path: outcome.path });
      return;
    }
    this.#drifted.delete(name);
    if (outcome.kind === 'fault') this.#seen.delete(name);
    else this.#seen.add(name);
    if (outcome.kind !== 'published') return;
    events.emit('project', { document: name, version, bytes: outcome.bytes });
    if (outcome.found !== undefined)
      events.emit('recovered', { notes: [], projections: [{ document: name, found: outcome.found }] });
  }

  /** With `audit`: memory, and what the snapshot thread made of the journal, must be the same. */
  onDigests(digests: ProjectReport['digests']): void {
    for (const { name, version, sha256 } of digests) {
      const doc = this.#start.ledger.opened(name);
      if (doc === undefined || doc.version !== version || serialize(doc.raw).sha256 === sha256) continue;
      const message = `Memory and journal disagree about version ${version} of '${name}'.`;
      this.onFault(new HoldfastError('HF_DAMAGED', message));
    }
  }

  /** At the end of the process, when everything is durable: what still lags, as far as the time goes. */
  writeLast(deadlineMs: number): void {
    for (const { name, outcome } of this.#writeHere(deadlineMs)) {
      if (outcome instanceof Error) warnAtExit(`${this.pathOf(name)} could not be written: ${outcome.message}`);
    }
  }

  /** The process did not end. */
  async goOn(): Promise<void> {
    if (!this.#lock.isOursForGood) return;
    // What the thread knows of the files is from before, and it may be waiting for the lock. A new one looks anew.
    await this.#thread.terminate();
    this.#lock.giveBack();
  }

  /** At the end of the store, likewise: what the snapshot thread could not write, and has told of. It writes no more. */
  async writeRest(timeoutMs: number): Promise<void> {
    await this.projector.stop();
    try {
      this.#writeHere(performance.now() + timeoutMs);
    } catch (error) {
      this.onFault(writeFault(error, 'Writing the files of', this.directory));
    }
  }

  #writeHere(deadlineMs: number): LastOutcome[] {
    const names = new Set(this.projector.unwritten.filter((name) => !this.#drifted.has(name)));
    if (names.size === 0 || !this.#lock.takeForGood(deadlineMs - performance.now())) return [];
    const { directory, storeId, owner } = this;
    const { ground, ledger } = this.#start;
    const files = [...ledger.present()]
      .filter(([name]) => names.delete(name))
      .map(([name, { state, version, adopted }]) => ({
        name,
        state,
        version,
        backups: this.backupsOf(name),
        ...(adopted !== undefined && { adopts: adopted }),
        ...this.projector.howOf(name),
      }));
    const logs = [...ledger.presentLogs()]
      .filter(([key]) => names.delete(key))
      .map(([key, extent]) => ({ key, extent }));
    // Neither a document nor a log that has an entry.
    const removed = [...names].filter((name) => !isLogKey(name));
    const assertOwner = ground.fence(directory, owner);
    const common = { disk: ground.disk, directory, storeId, seq: this.durableSeq(), deadlineMs, assertOwner };
    const outcomes = writeLastFiles({ ...common, files, logs, removed });
    for (const { name, outcome } of outcomes) if (!(outcome instanceof Error)) this.projector.noteWritten(name);
    return outcomes;
  }

  /** No more files are written; nobody waits for it. */
  abandon(): void {
    this.close().catch(() => undefined);
  }

  async close(): Promise<void> {
    await this.projector.stop();
    await this.#thread.release(this.storeId);
  }

  /** Ends the snapshot thread as a crash would. For tests. */
  terminateThread(): Promise<void> {
    return this.#thread.terminate();
  }
}
