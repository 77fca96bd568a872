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
  /** Which of its calls: of those that a thread makes the n-th. */
  numbers: Partial<Record<Call, ReadonlySet<number>>>;
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

/**
 * Reads what strace -f -y says. `write` counts only inside the folder: it is made to fail by path. `openat` counts
 * everywhere, and is a point only inside: that a program whose modules cannot be read does not start is no news.
 */
export function footprintOf(trace: string, directory: string): Footprint {
  const byThread = new Map<string, number>();
  const written = new Set<string>();
  const numbers: Partial<Record<Call, Set<number>>> = {};
  for (const [, thread, name = '', path = '', rest = ''] of trace.matchAll(/^(\d+) +(\w+)\((?:\d+<([^>]*)>)?(.*)$/gm)) {
    const kind = KIND_OF.get(name);
    if (kind === undefined) continue;
    if (kind === 'write') {
      if (!path.startsWith(`${directory}/`)) continue;
      written.add(path.slice(directory.length + 1));
    }
    const key = `${kind} ${thread}`;
    const number = (byThread.get(key) ?? 0) + 1;
    byThread.set(key, number);
    if (kind === 'openat' && !rest.includes(`"${directory}`)) continue;
    numbers[kind] ??= new Set();
    numbers[kind].add(number);
  }
  return { numbers, written };
}

/** All of them in an order in which every kind of call has its turn. */
export function faultPoints(all: Footprint['numbers'], random: () => number): FaultPoint[] {
  const byKind = KINDS.map((call) => {
    const points = [...(all[call] ?? [])].flatMap((n) => ERRORS[call].map((error) => ({ call, error, n })));
    return shuffled(points, random);
  });
  return inTurn(byKind);
}

/** The first of each, then the second of each, until none has any left. */
export function inTurn<T>(lists: readonly (readonly T[])[]): T[] {
  const longest = Math.max(0, ...lists.map((list) => list.length));
  return Array.from({ length: longest }, (_, at) => lists.flatMap((list) => list.slice(at, at + 1))).flat();
}
