// Whether the journal thread looks out for the next change before it rests.
//
// To put a thread to sleep and wake it again costs a loop that awaits each of its steps more than the update does, so with
// a processor to spare it pays to look. On a busy machine it does the opposite: the time is taken from the thread that is
// to make the change, and whoever has just used up its share is the last to be let on again; steps took three times as
// long. So it is done only for as long as it succeeds, and not by one who was held up while looking.

import { availableParallelism } from 'node:os';
import type { Bell } from './bell.js';

// Captured at import, like all timers.
const { performance } = globalThis;

/** Twice of what a loop takes from one flush to its next, if it has nothing else to do. */
const LOOK_MS = 0.15;
/** A rest that was longer than this is no sign of such a loop. */
const REST_MS = 0.25;
/** Many changes at once share a wake-up call, and gather meanwhile: not worth the processor. An update and its flush ring twice. */
const RINGS_MAX = 16;
/** Between two looks at the clock, which then show that somebody else had the processor. */
const HELD_UP_MS = 0.05;
/** Looks between two looks at the clock. */
const LOOKS = 64;
/** How many rests go by without looking: after a look that was in vain, and at most. */
const PAUSE = { first: 8, most: 4096 } as const;

export class Lookout {
  readonly #isOfUse: boolean;
  #pause = 0;
  #left = 0;

  /** With one processor looking out would hold up what is looked out for. */
  constructor(processors: number = availableParallelism()) {
    this.#isOfUse = processors > 1;
  }

  /** `restMs`: how long the thread rested the last time; `rings`: how often the bell rang for the work just done. */
  isWorthIt(restMs: number, rings: number): boolean {
    if (!this.#isOfUse || restMs >= REST_MS || rings >= RINGS_MAX) return false;
    if (this.#left === 0) return true;
    this.#left--;
    return false;
  }

  /** True when the bell has rung since `count`. */
  watch(bell: Bell, count: number, timeoutMs: number): boolean {
    const start = performance.now();
    const end = start + Math.min(timeoutMs, LOOK_MS);
    let isHeldUp = false;
    let hasRung = false;
    for (let now = start; now < end && !hasRung && !isHeldUp; ) {
      for (let look = 0; look < LOOKS && !hasRung; look++) hasRung = bell.count !== count;
      const then = performance.now();
      isHeldUp = then - now > HELD_UP_MS;
      now = then;
    }
    this.note(hasRung && !isHeldUp);
    return hasRung;
  }

  /** In vain now and then is normal: a loop ends, or its next step takes longer. */
  note(isSuccess: boolean): void {
    this.#pause = isSuccess ? this.#pause >> 1 : Math.min(Math.max(this.#pause * 2, PAUSE.first), PAUSE.most);
    this.#left = isSuccess ? 0 : this.#pause;
  }
}
