// A second thread that does nothing but fdatasync, so that the journal thread goes on writing while a slow disk syncs:
// what is written survives a kill. One per journal thread, started by it with the first sync that takes long, and ended
// with it: the journal thread's 'exit' comes only after that of this one (J1 holds for both).
//
// S1. One sync at a time, and each is asked for once and answered once: a failed sync is told to the first who looks, and
//     a second one on the same file would say yes.
// S2. What an answer makes durable is what was written before the question.
// S3. The file stays open until the answer: its number must not be given to another file meanwhile.

import { fdatasyncSync } from 'node:fs';
import { getSystemErrorName } from 'node:util';
import type { Handle } from '../disk/disk.js';

const IS_READY = 0;
/** How many syncs were asked for, and how many answered. */
const ASKED = 1;
const ANSWERED = 2;
const HANDLE = 3;
/** 0, or why the last one failed, as the system numbers it. */
const ERRNO = 4;
const WORDS = 5;

/** A disk may take seconds. A thread that does not answer for so long is not waited for: the journal thread ends with it. */
const ANSWER_MS_MAX = 30_000;

/** Syncs on another thread, as a station uses them. */
export interface SyncAside {
  /** False when nothing can be begun there now. */
  isFree(): boolean;
  begin(handle: Handle): void;
  /** What has become of it; null while it is under way. */
  outcome(): SyncOutcome | null;
  /** Blocks until it has ended. */
  wait(): SyncOutcome;
}

export interface SyncOutcome {
  /** Null when everything is down. */
  error: Error | null;
}

/** The helper does not answer. Its syncs may have failed, so none of them may be repeated: a successor begins a new tail. */
export class NoAnswer extends Error {
  constructor() {
    super(`The thread that syncs has not answered for ${ANSWER_MS_MAX / 1000} s`);
  }
}

export class SyncHelper implements SyncAside {
  readonly #words: Int32Array;
  readonly #start: () => void;
  #isStarted = false;
  /** Somebody has begun a sync and not heard what became of it: the answer is not for anybody else. */
  #isTaken = false;
  #deadline = 0;

  /** `start` begins a thread that serves this memory. Until it does nothing is done aside. */
  constructor(start: (memory: SharedArrayBuffer) => void) {
    const memory = new SharedArrayBuffer(WORDS * 4);
    this.#words = new Int32Array(memory);
    this.#start = () => start(memory);
  }

  /** The first question starts the thread. */
  isFree(): boolean {
    if (!this.#isStarted) {
      this.#isStarted = true;
      this.#start();
    }
    return Atomics.load(this.#words, IS_READY) === 1 && !this.#isTaken;
  }

  begin(handle: Handle): void {
    if (!this.isFree()) throw new Error('A sync is under way');
    this.#isTaken = true;
    this.#deadline = performance.now() + ANSWER_MS_MAX;
    Atomics.store(this.#words, HANDLE, handle);
    Atomics.add(this.#words, ASKED, 1);
    Atomics.notify(this.#words, ASKED);
  }

  outcome(): SyncOutcome | null {
    if (this.#isUnderWay) {
      if (performance.now() > this.#deadline) throw new NoAnswer();
      return null;
    }
    this.#isTaken = false;
    const errno = Atomics.load(this.#words, ERRNO);
    return { error: errno === 0 ? null : syncError(errno) };
  }

  wait(): SyncOutcome {
    for (;;) {
      const answered = Atomics.load(this.#words, ANSWERED);
      const outcome = this.outcome();
      if (outcome !== null) return outcome;
      Atomics.wait(this.#words, ANSWERED, answered, this.#deadline - performance.now());
    }
  }

  get #isUnderWay(): boolean {
    return Atomics.load(this.#words, ASKED) !== Atomics.load(this.#words, ANSWERED);
  }
}

/** The helper's own loop; it ends with the thread that started it. `onAnswer` wakes that one. */
export function serveSyncs(memory: SharedArrayBuffer, onAnswer: () => void, isOver: () => boolean = () => false): void {
  const words = new Int32Array(memory);
  let answered = Atomics.load(words, ANSWERED);
  Atomics.store(words, IS_READY, 1);
  while (!isOver()) {
    Atomics.wait(words, ASKED, answered);
    const asked = Atomics.load(words, ASKED);
    if (asked === answered) continue;
    Atomics.store(words, ERRNO, sync(Atomics.load(words, HANDLE)));
    answered = asked;
    Atomics.store(words, ANSWERED, answered);
    Atomics.notify(words, ANSWERED);
    onAnswer();
  }
}

/** 0, or the number of the error. */
function sync(handle: Handle): number {
  try {
    fdatasyncSync(handle);
    return 0;
  } catch (error) {
    const { errno } = error as { errno?: unknown };
    if (typeof errno !== 'number' || errno === 0) throw error;
    return errno;
  }
}

function syncError(errno: number): Error {
  const code = getSystemErrorName(errno);
  return Object.assign(new Error(`${code}: fdatasync`), { errno, code, syscall: 'fdatasync' });
}
