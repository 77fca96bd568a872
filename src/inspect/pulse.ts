// What another process can see of a store that is being written: how often it commits, how much, and how far behind the
// disk is. Reads only what is new since the last look.
//
// P1. How long a sync takes cannot be seen from outside. What can: each commit carries its time and the newest commit that
//     was durable then. So a commit was on disk at the latest when a later one says so. That is an upper bound: it holds
//     the wait for the sync and for the next commit as well. The quickest commit between two looks comes closest.
// P2. Times are whole milliseconds by the writer's clock: a difference of 0 is less than 1.

import { readingDisk } from '../disk/reading-disk.js';
import type { Frame } from '../journal/frame.js';
import { NewestFirst } from '../journal/newest-first.js';
import { commitOf, type HistoryStep } from './history.js';
import { placesOf } from './home.js';

export type Commit = Extract<HistoryStep, { kind: 'commit' }>;

export interface Beat {
  time: Date;
  lastSeq: number;
  /** Known to be durable. It may well be more: a writer says so with its next commit, or when it rests. */
  durableSeq: number;
  commitsPerSec: number;
  bytesPerSec: number;
  /** Since when the oldest commit has not been known to be durable; 0 when all are. */
  lagMs: number;
  /** P1: the quickest commit since the last look was on disk within this time. Null when none is known to be. */
  onDiskWithinMs: number | null;
  /** Newest first. At the first look, those of before; later, those that are new. */
  commits: Commit[];
  /** Commits that cannot be read. */
  gap: { from: number; to: number } | null;
}

/** At the first look: enough for a rate, whatever the length of the history. */
const FIRST_COMMITS_MAX = 500;
/** In one look. Beyond it a rate is estimated from the newest. */
const COMMITS_MAX = 20_000;
/** Decoded and shown. */
const SHOWN_MAX = 200;

export class Pulse {
  readonly #path: string;
  /** Not known to be durable, oldest first. */
  #waiting: { seq: number; timeMs: number }[] = [];
  #lastSeq = -1;
  #lastMs = 0;

  constructor(path: string) {
    this.#path = path;
  }

  look(now = new Date()): Beat {
    const history = new NewestFirst(readingDisk, placesOf(this.#path));
    const isFirst = this.#lastSeq < 0;
    const { frames, gap } = framesAfter(history, this.#lastSeq, isFirst ? FIRST_COMMITS_MAX : COMMITS_MAX);
    const onDiskWithinMs = this.#settle(frames, history.durableSeq);
    const seconds = (now.getTime() - this.#lastMs) / 1000;
    const commits = isFirst ? 0 : Math.max(0, history.lastSeq - this.#lastSeq);
    const bytes = frames.reduce((sum, frame) => sum + frame.bytes.length, 0);
    const beat: Beat = {
      time: now,
      lastSeq: history.lastSeq,
      durableSeq: Math.min(history.durableSeq, history.lastSeq),
      commitsPerSec: isFirst ? 0 : commits / seconds,
      bytesPerSec: isFirst || frames.length === 0 ? 0 : ((bytes / frames.length) * commits) / seconds,
      lagMs: Math.max(0, now.getTime() - (this.#waiting[0]?.timeMs ?? now.getTime())),
      // Of the past it says nothing about now.
      onDiskWithinMs: isFirst ? null : onDiskWithinMs,
      commits: frames
        .slice(0, isFirst ? FIRST_COMMITS_MAX : SHOWN_MAX)
        .map((frame) => commitOf(frame, undefined) as Commit),
      gap,
    };
    this.#lastSeq = history.lastSeq;
    this.#lastMs = now.getTime();
    return beat;
  }

  /** P1. */
  #settle(newestFirst: readonly Frame[], durableSeq: number): number | null {
    let quickestMs: number | null = null;
    for (const { header } of newestFirst.toReversed()) {
      const { seq, timeMs } = header;
      for (
        let first = this.#waiting[0];
        first !== undefined && first.seq <= header.durableSeq;
        first = this.#waiting[0]
      ) {
        // P2. A clock that was set back says nothing.
        const withinMs = timeMs - first.timeMs + 1;
        if (withinMs > 0) quickestMs = Math.min(quickestMs ?? withinMs, withinMs);
        this.#waiting.shift();
      }
      this.#waiting.push({ seq, timeMs });
    }
    // The writer rested and said so, without a commit.
    this.#waiting = this.#waiting.filter(({ seq }) => seq > durableSeq);
    return quickestMs;
  }
}

function framesAfter(history: NewestFirst, seq: number, countMax: number): { frames: Frame[]; gap: Beat['gap'] } {
  const frames: Frame[] = [];
  for (const step of history.commits()) {
    if (step.kind === 'gap') return { frames, gap: { from: Math.max(step.from, seq + 1), to: step.to } };
    if (step.frame.header.seq <= seq || frames.length === countMax) break;
    frames.push(step.frame);
  }
  return { frames, gap: null };
}
