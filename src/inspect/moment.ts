// A moment of a store's past, as people name it.

import { HoldfastError } from '../errors.js';
import type { NewestFirst } from '../journal/newest-first.js';

/** A commit by its sequence; the newest commit that is not later than a time; or what a backup file holds. */
export type Moment = number | Date | `bak${number}`;

const BACKUP = /^bak([1-9])$/;

export type Asked = { kind: 'seq'; seq: number } | { kind: 'time'; time: Date } | { kind: 'backup'; n: number };

export function asked(moment: Moment): Asked {
  if (typeof moment === 'number' && Number.isSafeInteger(moment) && moment >= 0) return { kind: 'seq', seq: moment };
  if (moment instanceof Date && !Number.isNaN(moment.getTime())) return { kind: 'time', time: moment };
  const n = typeof moment === 'string' ? BACKUP.exec(moment)?.[1] : undefined;
  if (n !== undefined) return { kind: 'backup', n: Number(n) };
  throw new TypeError(
    `Expected \`moment\` to be a sequence number, a Date or 'bak1' to 'bak9', got ${moment instanceof Date ? 'an invalid Date' : JSON.stringify(moment)}`,
  );
}

/** Clocks are set back now and then, and sequences never: of several commits that would do, this is the newest. */
export function seqAt(history: NewestFirst, time: Date): number {
  let gap: { from: number; to: number } | null = null;
  for (const step of history.commits()) {
    if (step.kind === 'gap') {
      gap = step;
      continue;
    }
    const { seq, timeMs } = step.frame.header;
    if (timeMs <= time.getTime()) {
      if (gap !== null) throw hiddenByGap(gap, time);
      return seq;
    }
    gap = null;
  }
  throw new HoldfastError(
    'HF_MISSING',
    `Nothing is kept from ${time.toISOString()}: every commit that is left is later. See holdfast log for what there is.`,
  );
}

function hiddenByGap({ from, to }: { from: number; to: number }, time: Date): HoldfastError {
  return new HoldfastError(
    'HF_DAMAGED',
    `Commits ${from} to ${to} cannot be read, and any of them may be the newest one at ${time.toISOString()}. Choose a sequence number instead.`,
    { details: { from, to } },
  );
}
