// One log on the main thread: how long it is, and the entries that are not encoded yet. Nothing else of it is in memory.

import { HoldfastError, showPath } from '../errors.js';
import type { Changes } from './changes.js';
import type { Checker } from './checker.js';
import { copyIn } from './copy-in.js';
import { weigh } from './weigh.js';

export class TrackedLog {
  /** Set when the log is opened; one that is not open is not appended to. */
  checker: Checker | null = null;
  readonly #changes: Changes;
  #pending: unknown[] = [];
  /** About what the pending entries take. */
  #pendingBytes = 0;
  #encoded: number;
  #isOdd = false;

  constructor(
    readonly name: string,
    /** What it is called in frames. */
    readonly key: string,
    changes: Changes,
    count: number,
  ) {
    this.#changes = changes;
    this.#encoded = count;
  }

  get length(): number {
    return this.#encoded + this.#pending.length;
  }

  /** The length in the newest frame. */
  get encodedLength(): number {
    return this.#encoded;
  }

  get pending(): readonly unknown[] {
    return this.#pending;
  }

  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  get hasPending(): boolean {
    return this.#pending.length > 0;
  }

  get mayBeOdd(): boolean {
    return this.#isOdd;
  }

  /** Returns the index of the entry. Refused, nothing has changed. */
  append(entry: unknown): number {
    return this.#changes.run(() => {
      const own = this.#accepted(entry);
      const bytes = weigh(own);
      const index = this.length;
      this.#pending.push(own);
      this.#pendingBytes += bytes;
      this.#changes.noteGrown(this);
      // Undone in reverse order, so the last one is this one; and nothing is encoded while it can be undone.
      this.#changes.record(() => {
        this.#pending.pop();
        this.#pendingBytes -= bytes;
      });
      return index;
    }, `Appending to '${this.name}'`);
  }

  /** What was pending is in a frame. */
  take(): void {
    this.#encoded += this.#pending.length;
    this.#pending = [];
    this.#pendingBytes = 0;
  }

  #accepted(entry: unknown): unknown {
    const own = this.#copy(entry);
    if (this.checker === null) return own;
    const filled = this.checker.withDefaults(own);
    const problem = this.checker.checkWhole(filled);
    // Defaults are the schema's own objects, perhaps the same ones every time.
    if (problem === null) return filled === own ? own : this.#copy(filled);
    const more = problem.issues.length > 1 ? ` (and ${problem.issues.length - 1} more)` : '';
    throw new HoldfastError(
      'HF_SCHEMA',
      `The schema of the log '${this.name}' refuses ${showPath(problem.path)}: ${problem.message}${more}. Nothing was appended.`,
      { path: problem.path, details: problem.issues },
    );
  }

  #copy(value: unknown): unknown {
    return copyIn(value, {
      depth: 0,
      path: () => [],
      noteOdd: () => {
        this.#isOdd = true;
      },
    });
  }
}
