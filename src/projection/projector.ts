// When the JSON files are written, and when the journal is compacted: decided on the main thread, done by the snapshot
// thread.
//
// P1. A file never runs ahead of what is durable: the thread is asked for a durable sequence.
// P2. A large document lags rather than cost more than its share: after writing n bytes it rests for n / budget. Others
//     do not wait for it.
// P3. A document that could not be published stays on the list, and is tried again with back-off.

import { HoldfastError } from '../errors.js';
import type { SnapshotKeeper } from '../ground.js';
import type { History } from '../journal/history.js';
import type { PublishLock } from '../threads/publish-lock.js';
import type { DocumentOutcome, DocumentRequest, ProjectReport, StationRequest } from './requests.js';

// Captured at import: a program's fake timers must not freeze saving.
const { setTimeout, clearTimeout, performance } = globalThis;

export interface ProjectorHost {
  readonly directory: string;
  readonly storeId: Uint8Array;
  readonly owner: number;
  durableSeq(): number;
  /** Of the newest commit handed over. */
  lastSeq(): number;
  takeNumber(): number;
  /** The version in memory; 0 when there is no such document. */
  versionOf(name: string): number;
  /** How many backups this document keeps. */
  backupsOf(name: string): number;
  onOutcome(outcome: DocumentOutcome): void;
  onDigests(digests: ProjectReport['digests']): void;
  onFault(error: HoldfastError): void;
}

export interface ProjectorSettings {
  projectDelayMs: number;
  projectBytesPerSecMax: number;
  audit: boolean;
}

/** About as long as a commit takes. */
const EARLY_MS = 5;
const RETRY_MS = { first: 250, most: 10_000 } as const;
/** A thread that dies more often in a row than this is left alone for a while. */
const DEATHS_MAX = 3;
/** Longer ones would overflow and fire at once. */
const TIMER_MS_MAX = 3_600_000;
const COMPACT_BYTES_MIN = 4 * 1024 * 1024;
/** Each opening begins a tail: a program that is started often must not collect them. */
const TAILS_MAX = 8;

interface Lagging {
  /** Not before. */
  dueAt: number;
  adopts?: string;
  onDrift?: 'refuse' | 'replace';
  fromVersion?: number;
  /** How long it was last put off because that version was not durable. */
  waitMs?: number;
}

export class Projector {
  readonly #host: ProjectorHost;
  readonly #thread: SnapshotKeeper;
  readonly #lock: PublishLock;
  readonly #settings: ProjectorSettings;
  /** Documents whose files are behind. */
  readonly #lagging = new Map<string, Lagging>();
  /** Until when a document rests. */
  readonly #resting = new Map<string, number>();
  /** Documents that were removed, and the commit that does it. */
  readonly #removedBy = new Map<string, number>();
  #needsSweep = false;
  #timer: NodeJS.Timeout | null = null;
  #timerAt = Number.POSITIVE_INFINITY;
  #running: Promise<void> | null = null;
  #retryMs: number = RETRY_MS.first;
  #bytesSinceBase = 0;
  #baseBytes = 0;
  #isCompacting = false;
  #compacting: Promise<void> | null = null;
  #isStopped = false;

  constructor(host: ProjectorHost, thread: SnapshotKeeper, lock: PublishLock, settings: ProjectorSettings) {
    this.#host = host;
    this.#thread = thread;
    this.#lock = lock;
    this.#settings = settings;
  }

  /** These documents have changed. */
  note(names: Iterable<string>): void {
    for (const name of names) {
      // The common case, once per update: it is on the list already.
      if (this.#lagging.has(name)) continue;
      const soonest = performance.now() + this.#settings.projectDelayMs;
      const dueAt = Math.max(soonest, this.#resting.get(name) ?? 0);
      this.#lagging.set(name, { dueAt });
      // Not a look at the whole list for each of many.
      this.#schedule(dueAt);
    }
  }

  /** This document was removed, and the commit that says so is the next one. It may be made anew in the same breath. */
  noteRemoved(name: string): void {
    this.#removedBy.set(name, this.#host.lastSeq() + 1);
    this.note([name]);
  }

  /** After an open: every file is looked at, and what a kill left behind is swept. */
  noteAll(names: Iterable<string>, sweep: boolean): void {
    this.#needsSweep = sweep;
    this.note(names);
    if (sweep) this.#schedule();
  }

  /** Truth was taken from the file, or the file is to give way: what is there may be replaced. */
  settle(name: string, how: { adopts: string } | { onDrift: 'replace' }): void {
    this.#lagging.set(name, { dueAt: 0, ...how, fromVersion: this.#host.versionOf(name) });
    this.#schedule();
  }

  /** What is to become of the file that is there, if it was settled. */
  howOf(name: string): { adopts?: string; onDrift?: 'refuse' | 'replace' } {
    const { adopts, onDrift } = this.#lagging.get(name) ?? {};
    return { ...(adopts !== undefined && { adopts }), ...(onDrift !== undefined && { onDrift }) };
  }

  get names(): string[] {
    return [...this.#lagging.keys()];
  }

  /** Resolves when every document that lags now has been published or has failed. */
  async projectNow(): Promise<void> {
    for (let deaths = 0; ; ) {
      // A task that runs may have begun before the newest change was durable; what it leaves behind is on the list then.
      while (this.#running !== null) await this.#running;
      try {
        return await this.#project(this.names);
      } catch (error) {
        if ((error as HoldfastError).code !== 'HF_THREAD' || ++deaths > DEATHS_MAX) throw error;
        this.#host.onFault(error as HoldfastError);
      }
    }
  }

  /** What the next opening would have to read, if nothing were done. */
  noteHistory({ tails, tailBytes, baseBytes }: History): void {
    this.#bytesSinceBase = tailBytes;
    this.#baseBytes = baseBytes;
    if (tails > TAILS_MAX || this.#isLong) this.#compactSoon();
  }

  noteRotated(bytes: number): void {
    this.#bytesSinceBase += bytes;
    if (this.#isLong) this.#compactSoon();
  }

  get #isLong(): boolean {
    return this.#bytesSinceBase >= Math.max(COMPACT_BYTES_MIN, this.#baseBytes);
  }

  #compactSoon(): void {
    if (this.#isCompacting || this.#isStopped) return;
    this.#compacting = this.compact().catch((error: unknown) => this.#host.onFault(error as HoldfastError));
  }

  /** Writes a base, and deletes what two bases have made superfluous. */
  async compact(): Promise<void> {
    this.#isCompacting = true;
    const covered = this.#bytesSinceBase;
    try {
      const request = { ...this.#request(), number: this.#host.takeNumber(), timeMs: Date.now() };
      const report = await this.#thread.compact(request, this.#lock);
      if (report.kind === 'fault') throw new HoldfastError(report.code, report.message);
      if (report.kind === 'behind') return;
      this.#bytesSinceBase -= covered;
      this.#baseBytes = report.baseBytes;
    } finally {
      this.#isCompacting = false;
    }
  }

  /** No more tasks. Resolves when those that run are over: the store may then have another owner. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    while (this.#running !== null) await this.#running;
    await this.#compacting;
  }

  #schedule(soonest?: number): void {
    // The end of a task that runs looks at everything again.
    if (this.#isStopped || this.#running !== null) return;
    const dueAt = soonest ?? this.#nextDueAt();
    if (dueAt >= this.#timerAt) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timerAt = dueAt;
    this.#timer = setTimeout(() => this.#onTimer(), Math.min(Math.max(0, dueAt - performance.now()), TIMER_MS_MAX));
    // At the end of the program the exit path writes the files.
    this.#timer.unref();
  }

  #nextDueAt(): number {
    let dueAt = this.#needsSweep ? performance.now() + this.#settings.projectDelayMs : Number.POSITIVE_INFINITY;
    for (const lagging of this.#lagging.values()) dueAt = Math.min(dueAt, lagging.dueAt);
    return dueAt;
  }

  #onTimer(): void {
    this.#timer = null;
    this.#timerAt = Number.POSITIVE_INFINITY;
    // The end of the task that runs sets the next one.
    if (this.#running !== null) return;
    const now = performance.now();
    const due = [...this.#lagging].filter(([, { dueAt }]) => dueAt <= now).map(([name]) => name);
    this.#project(due).catch((error: unknown) => this.#host.onFault(error as HoldfastError));
  }

  #project(names: readonly string[]): Promise<void> {
    if (names.length === 0 && !this.#needsSweep) {
      this.#schedule();
      return Promise.resolve();
    }
    const run = this.#runTask(names).finally(() => {
      this.#running = null;
      this.#schedule();
    });
    this.#running = run.catch(() => undefined);
    return run;
  }

  async #runTask(names: readonly string[]): Promise<void> {
    const documents: DocumentRequest[] = [];
    const taken = new Map<string, Lagging>();
    for (const name of names) {
      const { dueAt: _, waitMs: __, ...how } = this.#lagging.get(name) as Lagging;
      taken.set(name, this.#lagging.get(name) as Lagging);
      // Off the list before the task: what changes meanwhile comes back onto it.
      this.#lagging.delete(name);
      documents.push({ name, backups: this.#host.backupsOf(name), ...how });
    }
    const sweep = this.#needsSweep;
    this.#needsSweep = false;
    try {
      const { audit } = this.#settings;
      const report = await this.#thread.project({ ...this.#request(), documents, sweep, audit }, this.#lock);
      if (report.fault !== null) throw new HoldfastError(report.fault.code, report.fault.message);
      for (const outcome of report.documents) this.#conclude(outcome, taken.get(outcome.name));
      if (report.documents.some(({ outcome }) => outcome.kind === 'fault')) this.#backOff();
      if (audit) this.#host.onDigests(report.digests);
    } catch (error) {
      this.#needsSweep ||= sweep;
      for (const [name, lagging] of taken) this.#tryAgain(name, lagging);
      this.#backOff();
      throw error;
    }
  }

  #conclude(result: DocumentOutcome, request: Lagging | undefined): void {
    const { name, outcome } = result;
    switch (outcome.kind) {
      case 'published':
        this.#retryMs = RETRY_MS.first;
        this.#rest(name, outcome.bytes);
        break;
      case 'early':
        this.#waitForDurable(name, request);
        return;
      case 'fault':
        if (request !== undefined) this.#tryAgain(name, request);
        this.#host.onFault(new HoldfastError(outcome.code, outcome.message));
        break;
      default:
        break;
    }
    // It was not durable yet when the thread looked, and was on the list already when it changed.
    if (outcome.kind !== 'fault' && this.#isBehind(result)) this.note([name]);
    this.#host.onOutcome(result);
  }

  /** By its version, which begins anew with a document that is made anew: the thread may have seen the one before. */
  #isBehind({ name, version, seq }: DocumentOutcome): boolean {
    const removedBy = this.#removedBy.get(name);
    if (removedBy !== undefined && seq < removedBy) return true;
    this.#removedBy.delete(name);
    return this.#host.versionOf(name) > version;
  }

  /** Back with what was settled: without that the file would pass for somebody else's. */
  #waitForDurable(name: string, request: Lagging | undefined): void {
    if (request === undefined || this.#host.versionOf(name) < (request.fromVersion ?? 0)) {
      // Removed meanwhile.
      this.note([name]);
      return;
    }
    const waitMs = Math.min((request.waitMs ?? EARLY_MS / 2) * 2, RETRY_MS.most);
    this.#lagging.set(name, { ...request, waitMs, dueAt: performance.now() + waitMs });
  }

  #rest(name: string, bytes: number): void {
    const restMs = (bytes / this.#settings.projectBytesPerSecMax) * 1000;
    const until = performance.now() + restMs;
    if (restMs > this.#settings.projectDelayMs) this.#resting.set(name, until);
    else this.#resting.delete(name);
    const lagging = this.#lagging.get(name);
    if (lagging !== undefined) lagging.dueAt = Math.max(lagging.dueAt, until);
  }

  #tryAgain(name: string, request: Lagging): void {
    const dueAt = performance.now() + this.#retryMs;
    // It may be on the list again because it changed; what was settled about its file still holds.
    this.#lagging.set(name, { ...request, dueAt, ...this.#lagging.get(name) });
  }

  /** Once per task, however many documents failed in it. */
  #backOff(): void {
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MS.most);
  }

  #request(): StationRequest {
    const { directory, storeId, owner } = this.#host;
    return { directory, storeId, owner, toSeq: this.#host.durableSeq() };
  }
}
