// The way of one store's frames from the main thread to the disk, seen from the main thread: hand over, wait for the
// durable mark.
//
// C1. A flush is a barrier at its own sequence: it resolves as soon as that one is durable, however much comes after it.
// C2. A fault rejects the flushes that wait, and drops nothing: the frames stay where they are until they are durable.

import { HoldfastError } from '../errors.js';
import type { JournalKeeper } from '../ground.js';
import type { Encoded } from '../journal/chain.js';
import type { Plan, RecoveryNote } from '../journal/open.js';
import type { JournalClient } from '../threads/journal-thread.js';
import type { StationReport, StationStart } from '../threads/station.js';
import { distance, RING_BYTES, Ring } from './ring.js';
import { type Durable, Shared } from './shared.js';

export interface ChannelStart {
  directory: string;
  owner: number;
  plan: Plan;
  syncDelayMs: number;
  /** Of the ring. @default 1 MiB */
  ringBytes?: number;
}

// Captured at import: a program's fake timers must not freeze saving.
const { queueMicrotask, performance } = globalThis;

interface Waiter {
  seq: number;
  resolve: () => void;
  reject: (error: HoldfastError) => void;
}

/** Handed over and unwritten: with more than this on its way, changes wait and merge. */
const BEHIND_BYTES = 64 * 1024;

export class Channel implements JournalClient {
  readonly shared = new Shared();
  readonly #start: ChannelStart;
  readonly #thread: JournalKeeper;
  readonly #onReport: (report: StationReport) => void;
  readonly #ring: Ring;
  /** Frames too large for the ring, with the position behind their notes. */
  readonly #apart = new Map<number, { memory: SharedArrayBuffer; behind: number }>();
  readonly #waiters: Waiter[] = [];
  #apartBytes = 0;
  /** The position behind the note of the newest of them. */
  #behindApart = 0;
  #nextApart = 1;
  #store = 0;
  #isWatching = false;
  #isOpen = false;

  constructor(start: ChannelStart, thread: JournalKeeper, onReport: (report: StationReport) => void) {
    this.#start = start;
    this.#thread = thread;
    this.#onReport = onReport;
    this.#ring = new Ring(new SharedArrayBuffer(start.ringBytes ?? RING_BYTES));
    this.shared.nextNumber = start.plan.nextNumber;
    this.shared.durable = { ...start.plan.base, position: 0 };
  }

  async open(): Promise<readonly RecoveryNote[]> {
    const { store, notes } = await this.#thread.open(this);
    this.#store = store;
    this.#isOpen = true;
    return notes;
  }

  get durable(): Durable {
    return this.shared.durable;
  }

  get durableSeq(): number {
    return this.shared.durableSeq;
  }

  /** Handed over and not durable. */
  get pendingBytes(): number {
    this.#freeApart();
    return distance(this.shared.durable.position, this.shared.head) + this.#apartBytes;
  }

  get isBehind(): boolean {
    const { written, head } = this.shared;
    const unwritten = distance(written, head);
    // A frame apart takes hardly any room in the ring, and alone is more than is allowed to wait.
    return unwritten > BEHIND_BYTES || distance(this.#behindApart, head) < unwritten;
  }

  /** True when nothing more fits until something becomes durable. A frame of any size fits when this is false. */
  get isFull(): boolean {
    const used = distance(this.shared.durable.position, this.shared.head);
    return !this.#ring.hasRoom(used, this.#ring.memory.byteLength / 4);
  }

  /** Hands a frame over. The caller has asked `isFull`. */
  push({ bytes }: Encoded): void {
    const { head } = this.shared;
    if (this.#ring.isLarge(bytes.length)) this.#pushApart(bytes, head);
    else this.shared.head = this.#ring.put(head, bytes);
    this.#thread.ring(false);
  }

  #pushApart(bytes: Buffer, head: number): void {
    const memory = new SharedArrayBuffer(bytes.length);
    new Uint8Array(memory).set(bytes);
    const id = this.#nextApart++;
    // Sent before the note is in the ring: whoever finds the note finds the frame.
    this.#thread.send({ kind: 'apart', store: this.#store, id, memory });
    const behind = this.#ring.putApart(head, id);
    this.#apart.set(id, { memory, behind });
    this.#behindApart = behind;
    this.#apartBytes += bytes.length;
    this.shared.head = behind;
  }

  flush(seq: number): Promise<void> {
    if (this.shared.durableSeq >= seq) return Promise.resolve();
    if (!this.#isOpen) return Promise.reject(abandonedError());
    return new Promise((resolve, reject) => {
      if (this.#waiters.push({ seq, resolve, reject }) === 1) this.#thread.hold();
      this.want();
      this.#watch();
    });
  }

  /** Asks for everything handed over to be made durable now. */
  want(): void {
    this.shared.want();
    this.#thread.ring(true);
  }

  /** Blocks until `seq` is durable, a fault comes, or the time is up. */
  flushSync(seq: number, timeoutMs: number): 'durable' | 'fault' | 'timeout' {
    const deadline = performance.now() + timeoutMs;
    const { faults } = this.shared;
    this.want();
    for (;;) {
      const { turn } = this.shared;
      if (this.shared.durableSeq >= seq) return 'durable';
      if (this.shared.faults !== faults) return 'fault';
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) return 'timeout';
      this.shared.waitSync(turn, leftMs);
    }
  }

  rotate(): void {
    this.#thread.send({ kind: 'rotate', store: this.#store });
  }

  async close(): Promise<void> {
    await this.#thread.close(this.#store);
    this.#isOpen = false;
  }

  abandon(): void {
    this.#thread.abandon(this.#store);
    this.#isOpen = false;
    const waiters = this.#waiters.splice(0);
    for (const { reject } of waiters) reject(abandonedError());
    if (waiters.length > 0) this.#thread.letGo();
  }

  // ── What the thread asks ──

  start(): StationStart {
    const { directory, owner, plan, syncDelayMs } = this.#start;
    const common = { directory, owner, syncDelayMs, shared: this.shared.memory, ring: this.#ring.memory };
    return { ...common, plan: this.#isOpen ? this.#planAgain(plan) : plan };
  }

  /** For a successor: from what is durable on. The rest is in the ring. */
  #planAgain(plan: Plan): Plan {
    const { seq, crc } = this.shared.durable;
    return { ...plan, base: { seq, crc }, frames: [], cut: null, replaced: [], salvaged: null };
  }

  *apart(): Generator<[id: number, memory: SharedArrayBuffer]> {
    this.#freeApart();
    for (const [id, { memory }] of this.#apart) yield [id, memory];
  }

  /** Its thread has died, and nobody writes until another one has begun. */
  get isDeserted(): boolean {
    return this.#thread.isGone;
  }

  /** Takes the thread's reports while the event loop stands still. */
  takeMail(): void {
    this.#thread.takeMail();
  }

  apartOf(id: number): SharedArrayBuffer {
    const found = this.#apart.get(id);
    if (found === undefined) throw new Error(`Frame ${id} is not held any more`);
    return found.memory;
  }

  onReport(report: StationReport): void {
    if (report.kind === 'fault' && report.isPassing !== true) this.#rejectAll(report);
    this.#onReport(report);
  }

  #rejectAll({ code, message }: StationReport & { kind: 'fault' }): void {
    this.#settle();
    const waiters = this.#waiters.splice(0);
    for (const { reject } of waiters) reject(new HoldfastError(code, message));
    if (waiters.length > 0) this.#thread.letGo();
  }

  #watch(): void {
    if (this.#isWatching) return;
    const { turn } = this.shared;
    this.#settle();
    if (this.#waiters.length === 0) return;
    this.#isWatching = true;
    const change = this.shared.wait(turn);
    if (change === null) queueMicrotask(this.#watchAgain);
    else change.then(this.#watchAgain, this.#watchAgain);
  }

  readonly #watchAgain = (): void => {
    this.#isWatching = false;
    this.#watch();
  };

  #settle(): void {
    const { durableSeq } = this.shared;
    const waiters = this.#waiters;
    let kept = 0;
    const done: Waiter[] = [];
    for (const waiter of waiters) {
      if (waiter.seq <= durableSeq) done.push(waiter);
      else waiters[kept++] = waiter;
    }
    if (done.length === 0) return;
    waiters.length = kept;
    for (const { resolve } of done) resolve();
    if (kept === 0) this.#thread.letGo();
  }

  #freeApart(): void {
    const { position } = this.shared.durable;
    const { head } = this.shared;
    const pending = distance(position, head);
    for (const [id, { memory, behind }] of this.#apart) {
      // Notes are in order: the first one that is still pending ends the search.
      if (distance(behind, head) < pending) return;
      this.#apart.delete(id);
      this.#apartBytes -= memory.byteLength;
    }
  }
}

function abandonedError(): HoldfastError {
  return new HoldfastError('HF_CLOSED', 'The store was let go before this was saved. Open it again.');
}
