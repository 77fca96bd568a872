// Counts of one run, and what they say about the rest of it.

/** What became of an item. 'outstanding': nothing was recorded, it will run again. */
export type ItemStatus = 'done' | 'failed' | 'outstanding';

export interface Counts {
  /** Completed in this run. */
  done: number;
  /** Recorded as failed in this run. */
  failed: number;
  /** Not run: done in an earlier run, or of the same key as an earlier item. */
  skipped: number;
  /** Begun in this run, and left to a later one: a glitch, or the run was stopped. */
  outstanding: number;
}

export interface Progress extends Counts {
  /** The item that this is about. */
  readonly id: string;
  readonly status: ItemStatus;
  /** What the work returned, or what `job.done` was given. It is not saved. */
  readonly output?: unknown;
  /** Why it failed. */
  readonly reason?: string;
  readonly elapsedMs: number;
  /** When it is known how many items there are. */
  readonly total?: number;
  readonly remaining?: number;
  readonly etaMs?: number;
}

export interface LoopSummary extends Counts {
  /** In progress when an earlier run died. */
  interrupted: number;
  /** Why it ended before all items were seen. */
  stopped: 'signal' | 'SIGINT' | null;
  elapsedMs: number;
}

export type ItemEnd =
  | { readonly id: string; readonly status: 'done'; readonly output?: unknown }
  | { readonly id: string; readonly status: 'failed'; readonly reason: string }
  | { readonly id: string; readonly status: 'outstanding' };

export class Tally {
  readonly #startMs = performance.now();
  readonly #total: number | undefined;
  readonly counts: Counts = { done: 0, failed: 0, skipped: 0, outstanding: 0 };

  constructor(total: number | undefined) {
    this.#total = total;
  }

  get elapsedMs(): number {
    return performance.now() - this.#startMs;
  }

  note(end: ItemEnd): Progress {
    this.counts[end.status]++;
    const { elapsedMs, counts } = this;
    return { ...counts, ...end, elapsedMs, ...this.#outlook(elapsedMs) };
  }

  #outlook(elapsedMs: number): Pick<Progress, 'total' | 'remaining' | 'etaMs'> {
    if (this.#total === undefined) return {};
    const { done, failed, outstanding, skipped } = this.counts;
    const ran = done + failed + outstanding;
    const remaining = Math.max(0, this.#total - ran - skipped);
    return { total: this.#total, remaining, etaMs: (elapsedMs / ran) * remaining };
  }
}

/** "resumed: 812 of 2,000 done, 1 was interrupted"; null when there is nothing to resume. */
export function resumedLine(done: number, total: number | undefined, interrupted: number): string | null {
  if (done === 0 && interrupted === 0) return null;
  const of = total === undefined ? '' : ` of ${count(total)}`;
  const broken = interrupted === 0 ? '' : `, ${count(interrupted)} ${interrupted === 1 ? 'was' : 'were'} interrupted`;
  return `resumed: ${count(done)}${of} done${broken}`;
}

function count(n: number): string {
  return n.toLocaleString('en-US');
}

/** Why an item failed, for the file. Never empty: a person will look for it there. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return text === '' ? 'no reason given' : text;
}

/** Thrown by the work when the item is not at fault (a rate limit, a lost connection): nothing is recorded. */
export class Glitch extends Error {
  override readonly name = 'Glitch';
}
