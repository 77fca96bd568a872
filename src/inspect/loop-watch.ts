// How a loop gets on, from what its state says (see loop/shape.ts) and from when its items ended.

import { isContainer } from '../change/plain.js';
import type { Commit } from './pulse.js';

export interface LoopProgress {
  name: string;
  completed: number;
  failed: number;
  /** Of how many, where the program says so. */
  total: number | null;
  /** What it works on now. */
  inProgress: string[];
  /** Over the last minutes; null as long as that cannot be told. */
  perSec: number | null;
}

interface Sample {
  timeMs: number;
  ended: number;
}

interface LoopLike {
  completed: unknown[];
  failed: unknown[];
  inProgress?: unknown;
  total?: unknown;
}

/** Longer ago says little about now. */
const WINDOW_MS = 10 * 60_000;
const SAMPLES_MAX = 1000;
const KEYS = new Set(['completed', 'failed', 'inProgress', 'attempts', 'total']);

/** Loosely: this is for looking, and a loop of a later version still is one. */
export function isLoopLike(state: unknown): state is LoopLike {
  if (!isContainer(state) || Array.isArray(state)) return false;
  const { completed, failed } = state;
  return Array.isArray(completed) && Array.isArray(failed) && Object.keys(state).every((key) => KEYS.has(key));
}

export class LoopWatch {
  readonly #name: string;
  #samples: Sample[] = [];
  /** The file has it only while an item is in progress: between two items it is what it was. */
  #total: number | null = null;

  constructor(name: string) {
    this.#name = name;
  }

  /** `commits`: those since the last look, newest first. */
  look(state: LoopLike, commits: readonly Commit[], now: Date): LoopProgress {
    const { completed, failed, inProgress } = state;
    const ended = completed.length + failed.length;
    this.#note(ended, commits, now.getTime());
    this.#total = totalOf(state) ?? totalIn(commits, this.#name) ?? this.#total;
    const total = this.#total;
    return {
      name: this.#name,
      completed: completed.length,
      failed: failed.length,
      // The file may hold more than this run's list: then it says nothing about how far it is.
      total: total !== null && total >= ended ? total : null,
      inProgress: inProgress === undefined ? [] : [inProgress].flat().map(String),
      perSec: this.#perSec(now.getTime()),
    };
  }

  /** Backwards from what is there now: every commit says how many items ended with it. */
  #note(ended: number, commits: readonly Commit[], nowMs: number): void {
    const fresh: Sample[] = [];
    let before = ended;
    for (const commit of commits) {
      const count = endedIn(commit, this.#name);
      if (count === 0) continue;
      fresh.unshift({ timeMs: commit.time.getTime(), ended: before });
      before -= count;
    }
    this.#samples = [...this.#samples, ...fresh]
      .filter(({ timeMs }) => nowMs - timeMs <= WINDOW_MS)
      .slice(-SAMPLES_MAX);
  }

  #perSec(nowMs: number): number | null {
    const [first] = this.#samples;
    const last = this.#samples.at(-1);
    if (first === undefined || last === undefined || last.ended <= first.ended) return null;
    // Up to now: a loop that hangs slows down.
    return (last.ended - first.ended) / Math.max(0.001, (nowMs - first.timeMs) / 1000);
  }
}

function totalOf({ total }: LoopLike): number | null {
  return typeof total === 'number' ? total : null;
}

/** What the newest of them says that says it. */
function totalIn(commits: readonly Commit[], name: string): number | null {
  for (const { documents } of commits) {
    const changes = documents.find((one) => one.kind === 'document' && one.name === name)?.changes ?? [];
    for (const change of changes)
      if (change.kind === 'put' && change.path[0] === 'total' && typeof change.value === 'number') return change.value;
  }
  return null;
}

function endedIn({ documents }: Commit, name: string): number {
  const changes = documents.find((one) => one.kind === 'document' && one.name === name)?.changes ?? [];
  let count = 0;
  for (const change of changes) {
    const isList = change.kind === 'tail' && (change.path[0] === 'completed' || change.path[0] === 'failed');
    if (isList && change.path.length === 1) count += change.items.length;
  }
  return count;
}
