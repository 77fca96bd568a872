// What a store in memory stands on, from one crash to the next. The work of the threads is done here and now, by the
// same code.

import type { Lock } from '../disk/lock.js';
import { HoldfastError } from '../errors.js';
import type { Ground, JournalKeeper, SnapshotKeeper } from '../ground.js';
import type { CompactReport, CompactRequest, ProjectReport, ProjectRequest } from '../projection/requests.js';
import { compact, forget, project } from '../projection/station.js';
import { distance } from '../queue/ring.js';
import { Shared } from '../queue/shared.js';
import type { Store } from '../store.js';
import type { JournalClient } from '../threads/journal-thread.js';
import { Station, type StationReport } from '../threads/station.js';
import type { MemoryFiles } from './memory-files.js';

// Captured at import: a program's fake timers must not freeze saving.
const { setTimeout, clearTimeout, performance } = globalThis;

export class MemoryGround implements Ground {
  readonly stores = new Map<string, Promise<Store>>();
  readonly #running = new Set<Store>();
  readonly exit = {
    add: (store: Store) => void this.#running.add(store),
    remove: (store: Store) => void this.#running.delete(store),
  };

  /** `takeOwner`: numbers that only grow, also across crashes. */
  constructor(
    readonly disk: MemoryFiles,
    readonly takeOwner: (above: number) => number,
  ) {}

  entries(folder: string): ReturnType<Ground['entries']> {
    return this.disk
      .list(folder)
      .map((name) => ({ name, kind: this.disk.entry(`${folder}/${name}`)?.kind ?? 'other' }));
  }

  makeHome(home: string): string {
    return home;
  }

  /** Whoever holds the disk may open it: a second opening is the same store, and after a crash the first one is no more. */
  async lock(): Promise<Lock> {
    let owner = this.takeOwner(0);
    return {
      get owner() {
        return owner;
      },
      assertHighest: () => undefined,
      raise: (above) => {
        owner = this.takeOwner(above);
      },
      release: async () => undefined,
    };
  }

  journal(): JournalKeeper {
    return new MemoryJournal(this.disk);
  }

  /** There is one process. */
  fence(): () => void {
    return () => undefined;
  }

  snapshots(): SnapshotKeeper {
    return new MemorySnapshots(this.disk);
  }

  /** Every store on it is as after the end of its process. */
  die(): void {
    this.disk.die();
    for (const store of this.#running) store.abandon();
  }
}

/** One station. It works when it is asked to, and when something is due. */
class MemoryJournal implements JournalKeeper {
  readonly isGone = false;
  readonly #disk: MemoryFiles;
  readonly #apart = new Map<number, SharedArrayBuffer>();
  #client: JournalClient | null = null;
  #wantIfFilling: () => void = () => undefined;
  #station: Station | null = null;
  #mail: StationReport[] = [];
  #timer: NodeJS.Timeout | null = null;
  #timerAt = Number.POSITIVE_INFINITY;

  constructor(disk: MemoryFiles) {
    this.#disk = disk;
  }

  async open(client: JournalClient): ReturnType<JournalKeeper['open']> {
    this.#client = client;
    const start = client.start();
    const shared = new Shared(start.shared);
    // A full ring would have to wait for a sync that nobody asked for, and a kill would take what waits.
    this.#wantIfFilling = () => {
      if (distance(shared.durable.position, shared.head) > start.ring.byteLength / 2) shared.want();
    };
    const station = new Station(start, {
      report: (report) => this.#mail.push(report),
      apart: (id) => this.#takeApart(id),
      assertOwner: () => undefined,
      disk: this.#disk,
      clock: () => performance.now(),
    });
    this.#station = station;
    this.takeMail();
    return { store: 1, notes: station.notes };
  }

  async close(): Promise<void> {
    if (this.#station === null) throw new HoldfastError('HF_CLOSED', 'The disk has crashed since this was opened.');
    this.#station.close();
    this.abandon();
  }

  abandon(): void {
    this.#station = null;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  send(message: Parameters<JournalKeeper['send']>[0]): void {
    if (message.kind === 'apart') this.#apart.set(message.id, message.memory);
    else if (message.kind === 'rotate') this.#station?.rotate();
  }

  ring(isWaitedFor: boolean): void {
    this.#step();
    if (this.#mail.length === 0) return;
    if (isWaitedFor) this.takeMail();
    // Listeners are not called in the middle of an update, as with a thread.
    else void Promise.resolve().then(() => this.takeMail());
  }

  hold(): void {
    // Nothing is waited for: what is asked for is done before the asking returns.
  }

  letGo(): void {
    // As above.
  }

  takeMail(): void {
    for (const report of this.#mail.splice(0)) this.#client?.onReport(report);
  }

  #step(): void {
    if (this.#station === null) return;
    this.#wantIfFilling();
    const dueAt = performance.now() + this.#station.step();
    if (dueAt >= this.#timerAt) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timerAt = dueAt;
    this.#timer = setTimeout(() => this.#onTimer(), Math.min(dueAt - performance.now(), TIMER_MS_MAX));
    this.#timer.unref();
  }

  #onTimer(): void {
    this.#timer = null;
    this.#timerAt = Number.POSITIVE_INFINITY;
    this.#step();
    this.takeMail();
  }

  #takeApart(id: number): SharedArrayBuffer {
    const memory = this.#apart.get(id);
    if (memory === undefined) throw new Error(`Frame ${id} was announced but not sent`);
    this.#apart.delete(id);
    return memory;
  }
}

/** Longer ones would overflow and fire at once. */
const TIMER_MS_MAX = 3_600_000;

class MemorySnapshots implements SnapshotKeeper {
  readonly #disk: MemoryFiles;

  constructor(disk: MemoryFiles) {
    this.#disk = disk;
  }

  async project(request: ProjectRequest): Promise<ProjectReport> {
    return project(request, this.#tools());
  }

  async compact(request: CompactRequest): Promise<CompactReport> {
    return compact(request, this.#tools());
  }

  async release(storeId: Uint8Array): Promise<void> {
    forget(storeId);
  }

  async terminate(): Promise<void> {
    // There is no thread.
  }

  #tools() {
    return { disk: this.#disk, critical: <R>(fn: () => R) => fn(), isNewest: () => true };
  }
}
