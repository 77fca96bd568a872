// From dirty documents to the journal thread, and how long that may take.
//
// H1. At the end of the outermost update or transaction its frame is handed over in the same call, unless the journal is
//     behind or the caller asked to hold back: then paths stay dirty and merge, and the newest value wins.
// H2. Nothing is encoded while a recipe or transaction is open. A flush inside one waits for its end.

import { HoldfastError } from '../errors.js';
import type { Ledger } from '../ledger.js';
import { rescue } from '../threads/rescue.js';
import type { Channel } from './channel.js';

// Captured at import: a program's fake timers must not freeze saving.
const { setTimeout, clearTimeout, setImmediate, clearImmediate, performance } = globalThis;

/** While the journal is behind, entries of logs are held back up to this much, to share a frame. */
const LOG_BYTES_HELD = 64 * 1024;

export interface HandOverHooks {
  onCommit(seq: number, bytes: number): void;
  /** The last fault that was reported; asked when a blocking wait ends with one. */
  lastFault(): HoldfastError | null;
}

const ATTEMPT_MS_MAX = 50;

export class HandOver {
  readonly #ledger: Ledger;
  readonly #channel: Channel;
  readonly #coalesceMs: number;
  readonly #hooks: HandOverHooks;
  #timer: NodeJS.Timeout | null = null;
  #immediate: NodeJS.Immediate | null = null;
  /** Since something was last handed over. */
  #attempts = 0;
  /** When the oldest change was made that is not handed over. */
  #dirtySince: number | null = null;
  /** The same of what was handed over and is not durable, in order. Frames of one millisecond share an entry. */
  readonly #waiting: { seq: number; since: number }[] = [];
  #isAbandoned = false;

  constructor(ledger: Ledger, channel: Channel, coalesceMs: number, hooks: HandOverHooks) {
    this.#ledger = ledger;
    this.#channel = channel;
    this.#coalesceMs = coalesceMs;
    this.#hooks = hooks;
  }

  /** Something is dirty. */
  onChange(): void {
    if (!this.#ledger.hasDirty) {
      this.#dirtySince = null;
      return;
    }
    this.#dirtySince ??= performance.now();
    if (this.#coalesceMs > 0) this.#timer ??= setTimeout(() => this.#onTimer(), this.#coalesceMs);
    else this.#attempt();
  }

  /** Nothing waits: everything that was changed is durable. */
  get isSettled(): boolean {
    return this.#channel.durableSeq >= this.#ledger.lastSeq && !this.#ledger.hasDirty;
  }

  get lagMs(): number {
    this.#forgetDurable(this.#channel.durableSeq);
    const since = this.#waiting[0]?.since ?? (this.#ledger.hasDirty ? this.#dirtySince : null);
    return since === null ? 0 : performance.now() - since;
  }

  /** Resolves when everything up to this call is durable. */
  flush(): Promise<void> {
    const mustWait = this.#ledger.changes.isOpen || (this.#ledger.hasDirty && this.#channel.isFull);
    if (mustWait) return this.#flushLater();
    this.#cancel();
    this.#push();
    return this.#channel.flush(this.#ledger.lastSeq);
  }

  /** Blocks until everything is durable. `isLast`: the process ends, and may do the thread's work itself. */
  flushSync(timeoutMs: number, isLast = false): void {
    const deadline = performance.now() + timeoutMs;
    this.#cancel();
    while (this.#ledger.hasDirty && this.#channel.isFull) this.#waitSync(deadline, isLast);
    this.#push();
    this.#waitSync(deadline, isLast);
  }

  /** Nothing more is handed over. */
  abandon(): void {
    this.#cancel();
    this.#isAbandoned = true;
  }

  async #flushLater(): Promise<void> {
    while (this.#ledger.changes.isOpen) await new Promise<void>((resolve) => setImmediate(resolve));
    // A flush is for what was changed before it, also when the ring is full.
    while (this.#ledger.hasDirty && this.#channel.isFull) await this.#channel.flush(this.#ledger.lastSeq);
    await this.flush();
  }

  #attempt(): void {
    if (this.#ledger.changes.isOpen || !this.#ledger.hasDirty || this.#isAbandoned) return;
    // Entries of a log do not merge: held back they would only gather, as long as a program does not let go.
    const isPatient = this.#channel.isBehind && this.#ledger.pendingEntryBytes < LOG_BYTES_HELD;
    if (isPatient || this.#channel.isFull) this.#attemptLater();
    else this.#push();
  }

  /** Mostly the journal is behind for less than a turn. A disk that stays full must not keep the event loop busy. */
  #attemptLater(): void {
    if (this.#immediate !== null || this.#timer !== null) return;
    if (this.#attempts++ === 0) {
      this.#immediate = setImmediate(() => this.#onImmediate());
      return;
    }
    this.#timer = setTimeout(() => this.#onTimer(), Math.min(this.#attempts, ATTEMPT_MS_MAX));
    // A program that ends by itself meanwhile saves at its exit, and says so if it cannot.
    this.#timer.unref();
  }

  #onTimer(): void {
    this.#timer = null;
    this.#attempt();
  }

  #onImmediate(): void {
    this.#immediate = null;
    this.#attempt();
  }

  #push(): void {
    const { durableSeq } = this.#channel;
    const frame = this.#ledger.encode(durableSeq, Date.now());
    this.#attempts = 0;
    if (frame === null) return;
    this.#channel.push(frame);
    this.#noteHandedOver(frame.seq, durableSeq);
    this.#hooks.onCommit(frame.seq, frame.bytes.length);
  }

  #noteHandedOver(seq: number, durableSeq: number): void {
    const since = this.#dirtySince ?? performance.now();
    this.#dirtySince = null;
    this.#forgetDurable(durableSeq);
    const newest = this.#waiting.at(-1);
    if (newest !== undefined && since - newest.since < 1) newest.seq = seq;
    else this.#waiting.push({ seq, since });
  }

  #forgetDurable(durableSeq: number): void {
    const left = this.#waiting.findIndex(({ seq }) => seq > durableSeq);
    if (left !== 0) this.#waiting.splice(0, left < 0 ? this.#waiting.length : left);
  }

  #cancel(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#immediate !== null) clearImmediate(this.#immediate);
    this.#timer = null;
    this.#immediate = null;
  }

  /**
   * At exit a part of the time is kept for doing it here, should the thread be silent. A dead one is not waited for: process
   * managers kill what is not gone after a second or two.
   */
  #patienceMs(leftMs: number): number {
    return this.#channel.isDeserted ? 0 : leftMs / 2;
  }

  #waitSync(deadline: number, isLast: boolean): void {
    const seq = this.#ledger.lastSeq;
    const leftMs = Math.max(0, deadline - performance.now());
    const outcome = this.#channel.flushSync(seq, isLast ? this.#patienceMs(leftMs) : leftMs);
    if (outcome === 'durable') return;
    if (outcome === 'timeout' && isLast && rescue(this.#channel) >= seq) return;
    // The event loop stands still: the report of the fault is still in the mail.
    this.#channel.takeMail();
    const fault = this.#hooks.lastFault();
    if (outcome === 'fault' && fault !== null) throw fault;
    throw new HoldfastError('HF_THREAD', 'The journal thread did not answer in time. Nothing is dropped.');
  }
}
