// How far a log's own files go: without a gap from its first entry on, but for what was given up in a salvage.

import type { Disk } from '../disk/disk.js';
import { type LogExtent, logNameOf, type Range } from './log-key.js';
import type { Places } from './places.js';
import { hashOf, type Segment, soundSegments } from './segment.js';

export interface Coverage {
  /** The first entry that is in no file. */
  end: number;
  /** The file that goes so far. */
  last: Segment | null;
}

export function coverageOf(segments: readonly Segment[], lost: readonly Range[] = []): Coverage {
  let end = 0;
  let last: Segment | null = null;
  for (;;) {
    const gone = lost.find(({ from, to }) => from <= end && end < to);
    if (gone !== undefined) {
      end = gone.to;
      continue;
    }
    let best: Segment | null = null;
    for (const segment of segments) {
      if (segment.from <= end && segment.to > (best?.to ?? end)) best = segment;
    }
    if (best === null) return { end, last };
    end = best.to;
    last = best;
  }
}

/** Null when every log of a base has its files. A base without the entries it counts on is no sound base. */
export function coverageProblem(
  disk: Disk,
  places: Places,
  storeId: Buffer,
  logs: ReadonlyMap<string, LogExtent>,
): string | null {
  if (logs.size === 0) return null;
  // One listing for all of them.
  const segments = new Map<string, Segment[]>();
  for (const segment of soundSegments(disk, places, storeId)) {
    const own = segments.get(segment.hash);
    if (own === undefined) segments.set(segment.hash, [segment]);
    else own.push(segment);
  }
  for (const [key, { count, lost }] of logs) {
    const { end } = coverageOf(segments.get(hashOf(key)) ?? [], lost);
    if (end < count) return `the file with entry ${end} of the log '${logNameOf(key)}' is missing or damaged`;
  }
  return null;
}
