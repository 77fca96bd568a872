// When the JSON files are written: decided on the main thread, done by the snapshot thread. Which of them are behind is in
// lagging.ts; when that thread compacts the journal, in compactor.ts.
//
// P1. A file never runs ahead of what is durable: the thread is asked for a durable sequence.
// P2. A large document lags rather than cost more than its share: after writing n bytes it rests for n / budget. Others
//     do not wait for it.
// P3. A document that could not be published stays on the list, and is tried again with back-off.

import { HoldfastError } from '../errors.js';
import type { SnapshotKeeper } from '../ground.js';
import type { History } from '../journal/history.js';
import type { PublishLock } from '../threads/publish-lock.js';
import { Compactor } from './compactor.js';
import { type Lagging, LaggingFiles, type LaggingHost, type LaggingSettings } from './lagging.js';
import type { DocumentRequest, ProjectReport, StationRequest } from './requests.js';

// Captured at import: a program's fake timers must not freeze saving.
const { setTimeout, clearTimeout, performance } = globalThis;

export interface ProjectorHost extends LaggingHost {
  readonly directory: string;
  readonly storeId: Uint8Array;
  readonly owner: number;
  durableSeq(): number;
  takeNumber(): number;
  /** How many backups this document keeps. */
  backupsOf(name: string): number;
  onDigests(digests: ProjectReport['digests']): void;
}

export interface ProjectorSettings extends LaggingSettings {
  audit: boolean;
}

/** A thread that dies more often in a row than this is left alone for a while. */
const DEATHS_MAX = 3;
/** Longer ones would overflow and fire at once. */
const TIMER_MS_MAX = 3_600_000;

/** Documents whose files could not be written. */
type Faults = ReadonlyMap<string, HoldfastError>;

export class Projector {
  readonly #host: ProjectorHost;
  readonly #thread: SnapshotKeeper;
  readonly #lock: PublishLock;
  readonly #settings: ProjectorSettings;
  readonly #lagging: LaggingFiles;
  readonly #compactor: Compactor;
  /** Those that the task which runs has in hand. */
  #inHand: ReadonlyMap<string, Lagging> = new Map();
  /** What a kill left behind is to be swept, not before this. */
  #sweepAt: number | null = null;
  #timer: NodeJS.Timeout | null = null;
  #timerAt = Number.POSITIVE_INFINITY;
  #running: Promise<void> | null = null;
  #isStopped = false;

  constructor(host: ProjectorHost, thread: SnapshotKeeper, lock: PublishLock, settings: ProjectorSettings) {
    this.#host = host;
    this.#thread = thread;
    this.#lock = lock;
    this.#settings = settings;
    this.#lagging = new LaggingFiles(host, settings);
    const compacting = {
      request: () => this.#request(),
      takeNumber: () => host.takeNumber(),
      onFault: (error: HoldfastError) => host.onFault(error),
    };
    this.#compactor = new Compactor(compacting, thread, lock);
  }

  /** These documents have changed. */
  note(names: Iterable<string>): void {
    for (const name of names) {
      const dueAt = this.#lagging.add(name);
      // Not a look at the whole list for each of many.
      if (dueAt !== null) this.#schedule(dueAt);
    }
  }

  /** This document was removed, and the commit that says so is the next one. It may be made anew in the same breath. */
  noteRemoved(name: string): void {
    this.#lagging.noteRemoved(name);
    this.note([name]);
  }

  /** After an open: every file is looked at, and what a kill left behind is swept. */
  noteAll(names: Iterable<string>, sweep: boolean): void {
    this.#sweepAt = sweep ? performance.now() + this.#settings.projectDelayMs : null;
    this.note(names);
    if (sweep) this.#schedule();
  }

  /** Truth was taken from the file, or the file is to give way: what is there may be replaced. */
  settle(name: string, how: { adopts: string } | { onDrift: 'replace' }): void {
    this.#lagging.settle(name, how);
    this.#schedule();
  }

  /** Also those of a task that runs: at the end of the process nobody knows whether it gets there. */
  get unwritten(): string[] {
    return [...new Set([...this.#inHand.keys(), ...this.#lagging.names])];
  }

  /** Its file shows what is in memory: somebody else wrote it. */
  noteWritten(name: string): void {
    this.#lagging.noteWritten(name);
  }

  /** What is to become of the file that is there, if it was settled. */
  howOf(name: string): { adopts?: string; onDrift?: 'refuse' | 'replace' } {
    return this.#lagging.howOf(name, this.#inHand.get(name));
  }

  get names(): string[] {
    return this.#lagging.names;
  }

  /** Resolves when every document that lags now has been published or has failed, with those that failed. */
  async projectNow(): Promise<Faults> {
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
  noteHistory(history: History): void {
    this.#compactor.noteHistory(history);
  }

  noteRotated(bytes: number): void {
    this.#compactor.noteRotated(bytes);
  }

  compact(): Promise<void> {
    return this.#compactor.compact();
  }

  /** No more tasks. Resolves when those that run are over: the store may then have another owner. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const compacted = this.#compactor.stop();
    while (this.#running !== null) await this.#running;
    await compacted;
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
    return Math.min(this.#lagging.dueAt, this.#sweepAt ?? Number.POSITIVE_INFINITY);
  }

  #onTimer(): void {
    this.#timer = null;
    this.#timerAt = Number.POSITIVE_INFINITY;
    // The end of the task that runs sets the next one.
    if (this.#running !== null) return;
    const due = this.#lagging.dueBy(performance.now());
    this.#project(due).catch((error: unknown) => this.#host.onFault(error as HoldfastError));
  }

  #project(names: readonly string[]): Promise<Faults> {
    if (names.length === 0 && this.#sweepAt === null) {
      this.#schedule();
      return Promise.resolve(new Map());
    }
    const run = this.#runTask(names).finally(() => {
      this.#running = null;
      this.#inHand = new Map();
      this.#schedule();
    });
    this.#running = run.then(
      () => undefined,
      () => undefined,
    );
    return run;
  }

  async #runTask(names: readonly string[]): Promise<Faults> {
    const documents: DocumentRequest[] = [];
    const taken = new Map<string, Lagging>();
    for (const name of names) {
      const lagging = this.#lagging.take(name);
      taken.set(name, lagging);
      const { dueAt: _, waitMs: __, ...how } = lagging;
      documents.push({ name, backups: this.#host.backupsOf(name), ...how });
    }
    this.#inHand = taken;
    const sweep = this.#sweepAt !== null;
    this.#sweepAt = null;
    try {
      const { audit } = this.#settings;
      const report = await this.#thread.project({ ...this.#request(), documents, sweep, audit }, this.#lock);
      if (report.fault !== null) throw new HoldfastError(report.fault.code, report.fault.message);
      const faults = new Map<string, HoldfastError>();
      for (const outcome of report.documents) {
        const fault = this.#lagging.conclude(outcome, taken.get(outcome.name));
        if (fault !== null) faults.set(outcome.name, fault);
      }
      if (report.problem !== null) this.#noteUnreadable(names, report, faults);
      if (faults.size > 0) this.#lagging.backOff();
      if (audit) this.#host.onDigests(report.digests);
      return faults;
    } catch (error) {
      if (sweep) this.#sweepAt = this.#lagging.retryAt;
      for (const [name, lagging] of taken) this.#lagging.putBack(name, lagging);
      this.#lagging.backOff();
      throw error;
    }
  }

  /** What was asked for is durable: it was there, and cannot be read back. Memory is all that has it, and nobody else looks. */
  #noteUnreadable(names: readonly string[], { seq, problem }: ProjectReport, faults: Map<string, HoldfastError>): void {
    const fault = new HoldfastError(
      'HF_DAMAGED',
      `What is saved in ${this.#host.directory} can be read back only up to commit ${seq}: ${problem}. The JSON files show no more than that, and it will not open again. What is in memory is whole: save it elsewhere.`,
    );
    this.#host.onFault(fault);
    for (const name of names) if (!faults.has(name) && this.#lagging.putOff(name)) faults.set(name, fault);
  }

  #request(): StationRequest {
    const { directory, storeId, owner } = this.#host;
    return { directory, storeId, owner, toSeq: this.#host.durableSeq() };
  }
}
