// Where a subject can be hit: every call that it makes in a clean run, by kind, with the errors such a call can give.

import { shuffled } from './lanes.js';
import { CALLS, type Call } from './tracer.js';

export interface FaultPoint {
  call: Call;
  error: string;
  n: number;
}

/** What a subject did in a clean run. */
export interface Footprint {
  /** The most that one thread made. */
  counts: Partial<Record<Call, number>>;
  /** Files inside its folder that were written by `write`. */
  written: ReadonlySet<string>;
}

const ERRORS: Record<Call, readonly string[]> = {
  openat: ['EMFILE', 'EIO', 'ENOSPC'],
  write: ['EIO', 'ENOSPC'],
  pwrite64: ['EIO', 'ENOSPC'],
  fsync: ['EIO', 'ENOSPC'],
  fdatasync: ['EIO', 'ENOSPC'],
  rename: ['EIO', 'ENOSPC'],
  link: ['EIO', 'ENOSPC'],
  unlink: ['EIO'],
  ftruncate: ['EIO', 'ENOSPC'],
};

const KINDS = Object.keys(CALLS) as Call[];
const KIND_OF = new Map(KINDS.flatMap((kind) => CALLS[kind].split(',').map((name) => [name, kind] as const)));

/** Reads what strace -f -y says. `write` counts only inside the folder. */
export function footprintOf(trace: string, directory: string): Footprint {
  const byThread = new Map<string, number>();
  const written = new Set<string>();
  for (const [, thread, name = '', path = ''] of trace.matchAll(/^(\d+) +(\w+)\((?:\d+<([^>]*)>)?/gm)) {
    const kind = KIND_OF.get(name);
    if (kind === undefined) continue;
    if (kind === 'write') {
      if (!path.startsWith(`${directory}/`)) continue;
      written.add(path.slice(directory.length + 1));
    }
    const key = `${kind} ${thread}`;
    byThread.set(key, (byThread.get(key) ?? 0) + 1);
  }
  const counts: Footprint['counts'] = {};
  for (const [key, count] of byThread) {
    const kind = key.split(' ')[0] as Call;
    counts[kind] = Math.max(counts[kind] ?? 0, count);
  }
  return { counts, written };
}

/** All of them in an order in which every kind of call has its turn. */
export function faultPoints(counts: Footprint['counts'], random: () => number): FaultPoint[] {
  const byKind = KINDS.map((call) => {
    const numbers = Array.from({ length: counts[call] ?? 0 }, (_, at) => at + 1);
    const points = numbers.flatMap((n) => ERRORS[call].map((error) => ({ call, error, n })));
    return shuffled(points, random);
  });
  const longest = Math.max(...byKind.map((points) => points.length));
  return Array.from({ length: longest }, (_, at) => byKind.flatMap((points) => points.slice(at, at + 1))).flat();
}
