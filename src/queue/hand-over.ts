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
  /** When the oldest change that is not durable was made. */
  #behindSince: number | null = null;
  #isAbandoned = false;

  constructor(ledger: Ledger, channel: Channel, coalesceMs: number, hooks: HandOverHooks) {
    this.#ledger = ledger;
    this.#channel = channel;
    this.#coalesceMs = coalesceMs;
    this.#hooks = hooks;
  }

  /** Something is dirty. */
  onChange(): void {
    this.#behindSince ??= performance.now();
    if (this.#coalesceMs > 0) this.#timer ??= setTimeout(() => this.#onTimer(), this.#coalesceMs);
    else this.#attempt();
  }

  get lagMs(): number {
    const isSettled = this.#channel.durableSeq >= this.#ledger.lastSeq && !this.#ledger.hasDirty;
    if (isSettled) this.#behindSince = null;
    return this.#behindSince === null ? 0 : performance.now() - this.#behindSince;
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
    const frame = this.#ledger.encode(this.#channel.durableSeq, Date.now());
    this.#attempts = 0;
    if (frame === null) return;
    this.#channel.push(frame);
    this.#hooks.onCommit(frame.seq, frame.bytes.length);
  }

  #cancel(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#immediate !== null) clearImmediate(this.#immediate);
    this.#timer = null;
    this.#immediate = null;
  }

  #waitSync(deadline: number, isLast: boolean): void {
    const seq = this.#ledger.lastSeq;
    const leftMs = Math.max(0, deadline - performance.now());
    // At exit a part of the time is kept for doing it here, should the thread be dead or silent.
    const outcome = this.#channel.flushSync(seq, isLast ? leftMs / 2 : leftMs);
    if (outcome === 'durable') return;
    if (outcome === 'timeout' && isLast && rescue(this.#channel) >= seq) return;
    // The event loop stands still: the report of the fault is still in the mail.
    this.#channel.takeMail();
    const fault = this.#hooks.lastFault();
    if (outcome === 'fault' && fault !== null) throw fault;
    throw new HoldfastError('HF_THREAD', 'The journal thread did not answer in time. Nothing is dropped.');
  }
}
