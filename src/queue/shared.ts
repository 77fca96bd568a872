// The words that the main thread and the journal thread both look at, one block per store.
//
// One writer each: `head` and what is wanted belong to the main thread, everything else to the journal thread, except
// that file numbers are taken by whoever needs one.
//
// What is durable is several numbers that belong together. They live in two slots written in turn; the turn counter is
// stored last, so a thread that dies in between leaves the slot before it whole.

import type { Link } from '../journal/chain.js';

const HEAD = 0;
const WRITTEN = 1;
/** Counts durable marks; the lowest bit says which slot holds the newest. Also what waiting threads wait on. */
const TURN = 2;
const NEXT_NUMBER = 3;
/** 1 while someone waits for what has been handed over to be durable. */
const WANTED = 4;
const FAULTS = 5;
const SYNCS = 6;
const SYNC_US = 7;
const SLOTS = 8;
const SLOT_WORDS = 4;

const SYNC_US_MAX = SLOTS + 2 * SLOT_WORDS;
const WORDS = SYNC_US_MAX + 1;
const TWO_32 = 2 ** 32;

export interface Durable extends Link {
  /** The position in the ring up to which frames are durable. */
  position: number;
}

export class Shared {
  readonly #words: Int32Array;

  constructor(readonly memory: SharedArrayBuffer = new SharedArrayBuffer(WORDS * 4)) {
    this.#words = new Int32Array(memory);
  }

  get head(): number {
    return Atomics.load(this.#words, HEAD) >>> 0;
  }

  set head(position: number) {
    Atomics.store(this.#words, HEAD, position | 0);
  }

  /** Frames before this position survive the end of the process. */
  get written(): number {
    return Atomics.load(this.#words, WRITTEN) >>> 0;
  }

  set written(position: number) {
    Atomics.store(this.#words, WRITTEN, position | 0);
  }

  get nextNumber(): number {
    return Atomics.load(this.#words, NEXT_NUMBER);
  }

  set nextNumber(number: number) {
    Atomics.store(this.#words, NEXT_NUMBER, number);
  }

  takeNumber(): number {
    return Atomics.add(this.#words, NEXT_NUMBER, 1);
  }

  /** Everything handed over so far is wanted on disk now. */
  want(): void {
    Atomics.store(this.#words, WANTED, 1);
  }

  /** Taken back before the frames are: a wish that comes later is then seen in the next round. */
  takeWish(): boolean {
    return Atomics.exchange(this.#words, WANTED, 0) === 1;
  }

  /** How long making things durable took, in µs. For people to look at: not one picture of one moment. */
  get syncs(): { count: number; lastUs: number; maxUs: number } {
    const [count, lastUs, maxUs] = [SYNCS, SYNC_US, SYNC_US_MAX].map((word) => Atomics.load(this.#words, word) >>> 0);
    return { count: count as number, lastUs: lastUs as number, maxUs: maxUs as number };
  }

  noteSync(us: number): void {
    const whole = Math.round(us);
    Atomics.store(this.#words, SYNC_US, whole);
    if (whole > Atomics.load(this.#words, SYNC_US_MAX)) Atomics.store(this.#words, SYNC_US_MAX, whole);
    Atomics.add(this.#words, SYNCS, 1);
  }

  /** Counts failed attempts to write or sync. */
  get faults(): number {
    return Atomics.load(this.#words, FAULTS);
  }

  /** Wakes whoever waits for something durable: there will be nothing for now. */
  noteFault(): void {
    Atomics.add(this.#words, FAULTS, 1);
    this.#wake();
  }

  get durableSeq(): number {
    for (;;) {
      const turn = Atomics.load(this.#words, TURN);
      const at = slotOf(turn);
      const low = Atomics.load(this.#words, at) >>> 0;
      const high = Atomics.load(this.#words, at + 1) >>> 0;
      if (Atomics.load(this.#words, TURN) === turn) return high * TWO_32 + low;
    }
  }

  get durable(): Durable {
    for (;;) {
      const turn = Atomics.load(this.#words, TURN);
      const at = slotOf(turn);
      const low = Atomics.load(this.#words, at) >>> 0;
      const high = Atomics.load(this.#words, at + 1) >>> 0;
      const crc = Atomics.load(this.#words, at + 2) >>> 0;
      const position = Atomics.load(this.#words, at + 3) >>> 0;
      if (Atomics.load(this.#words, TURN) === turn) return { seq: high * TWO_32 + low, crc, position };
    }
  }

  set durable({ seq, crc, position }: Durable) {
    const turn = (Atomics.load(this.#words, TURN) + 1) | 0;
    const at = slotOf(turn);
    Atomics.store(this.#words, at, seq | 0);
    Atomics.store(this.#words, at + 1, Math.floor(seq / TWO_32) | 0);
    Atomics.store(this.#words, at + 2, crc | 0);
    Atomics.store(this.#words, at + 3, position | 0);
    Atomics.store(this.#words, TURN, turn);
    Atomics.notify(this.#words, TURN);
  }

  /** Changes with every durable mark and every fault. */
  get turn(): number {
    return Atomics.load(this.#words, TURN);
  }

  /** Blocks this thread until the turn is no longer `turn`, at most so long. */
  waitSync(turn: number, timeoutMs: number): void {
    Atomics.wait(this.#words, TURN, turn, timeoutMs);
  }

  /** Resolves when the turn is no longer `turn`. Does not keep the event loop alive. */
  wait(turn: number): Promise<unknown> | null {
    const { async, value } = Atomics.waitAsync(this.#words, TURN, turn) as { async: boolean; value: unknown };
    return async ? (value as Promise<unknown>) : null;
  }

  #wake(): void {
    // Two steps on: the same slot, with the same content.
    Atomics.add(this.#words, TURN, 2);
    Atomics.notify(this.#words, TURN);
  }
}

function slotOf(turn: number): number {
  return SLOTS + (turn & 1) * SLOT_WORDS;
}
