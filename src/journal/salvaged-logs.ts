// What is left of logs in a damaged store: entries from commits and from the logs' own files, wherever the gaps are.

import type { Disk } from '../disk/disk.js';
import { withFile } from '../disk/files.js';
import { FILE_HEADER_BYTES, KIND_ENTRIES } from './layout.js';
import { linesOf } from './line-text.js';
import type { LogExtent, Range } from './log-key.js';
import type { Places } from './places.js';
import { scan } from './scan.js';
import { type Segment, soundSegments } from './segment.js';

/** Entries one after the other. */
export interface Run extends Range {
  key: string;
  lines: Buffer[];
}

interface Found {
  count: number;
  runs: Run[];
}

export class SalvagedLogs {
  readonly #logs = new Map<string, Found>();

  take(key: string, from: number, entries: readonly unknown[]): void {
    const { runs } = this.#log(key, from + entries.length);
    const last = runs.at(-1);
    if (last?.to === from) {
      last.to += entries.length;
      last.lines.push(linesOf(entries));
    } else runs.push({ key, from, to: from + entries.length, lines: [linesOf(entries)] });
  }

  takeBase(logs: ReadonlyMap<string, LogExtent>): void {
    for (const [key, { count }] of logs) this.#log(key, count);
  }

  /** Sets how long each log is and what it has lost; returns the runs that still need a file. */
  conclude(disk: Disk, places: Places, storeId: Buffer | undefined, into: Map<string, LogExtent>): Run[] {
    const segments = new Map<string, Segment[]>();
    for (const segment of storeId === undefined ? [] : soundSegments(disk, places, storeId)) {
      const key = keyOf(disk, segment);
      if (key === null) continue;
      // An index that any file holds is never given out again.
      this.#log(key, segment.to);
      segments.set(key, [...(segments.get(key) ?? []), segment]);
    }
    const left: Run[] = [];
    for (const [key, { count, runs }] of this.#logs) {
      const own = segments.get(key) ?? [];
      const homeless = runs.filter(({ from, to }) => !own.some((file) => file.from <= from && file.to >= to));
      left.push(...homeless);
      into.set(key, { count, lost: gaps([...own, ...homeless], count) });
    }
    return left;
  }

  #log(key: string, count: number): Found {
    const found = this.#logs.get(key) ?? { count: 0, runs: [] };
    found.count = Math.max(found.count, count);
    this.#logs.set(key, found);
    return found;
  }
}

/** File names are hashes: whose it is stands in its frames. */
function keyOf(disk: Disk, { path }: Segment): string | null {
  return withFile(disk, path, (handle) => {
    for (const found of scan(disk, handle, FILE_HEADER_BYTES)) {
      if (found.kind === 'frame' && found.frame.header.kind === KIND_ENTRIES)
        return found.frame.header.documents[0]?.name ?? null;
    }
    return null;
  });
}

function gaps(ranges: readonly Range[], count: number): Range[] {
  const found: Range[] = [];
  let end = 0;
  for (const { from, to } of ranges.toSorted((a, b) => a.from - b.from)) {
    if (from > end) found.push({ from: end, to: from });
    end = Math.max(end, to);
  }
  if (end < count) found.push({ from: end, to: count });
  return found;
}
