// What callers hold of one log: append-only, not held in memory, read back from disk.

import type { TrackedLog } from './change/tracked-log.js';
import type { FlushOptions } from './document.js';
import type { EntrySource } from './journal/entries.js';
import type { Range } from './journal/log-key.js';
import { assertReadOptions } from './options.js';

// Captured at import: a program's fake timers must not freeze reading.
const { setImmediate } = globalThis;

export interface LogEntry<E> {
  /** Counts from 0. An entry never changes its index. */
  index: number;
  entry: E;
}

export interface ReadOptions {
  /** The index of the first entry wanted. @default 0 */
  since?: number;
  /** Stops reading. */
  signal?: AbortSignal;
}

/** What a log needs from its store. */
export interface LogHost {
  assertWritable(): void;
  durableVersion(key: string): number;
  flush(options?: FlushOptions): Promise<void>;
  /** One reader of the entries on disk. */
  source(key: string): EntrySource;
  /** Entries that were given up in a salvage. */
  lostOf(key: string): readonly Range[];
}

export class Log<E, Input = E> {
  readonly name: string;
  readonly #tracked: TrackedLog;
  readonly #host: LogHost;

  constructor(tracked: TrackedLog, host: LogHost) {
    this.name = tracked.name;
    this.#tracked = tracked;
    this.#host = host;
  }

  /** With what was appended in a transaction that is still open. */
  get length(): number {
    return this.#tracked.length;
  }

  /** As many entries would survive a power cut now. Only grows. */
  get durableLength(): number {
    return this.#host.durableVersion(this.#tracked.key);
  }

  /**
   * Appends an entry and returns its index. Synchronous; the entry is copied. Refused by the schema, or because JSON
   * cannot hold it, nothing has changed. When this returns it is on its way to disk; await `flush` to know it is there.
   */
  append(entry: Input): number {
    this.#host.assertWritable();
    return this.#tracked.append(entry);
  }

  /**
   * The entries from `since` on, in order, as they are on disk: first everything appended up to this call is made
   * durable, then it is read portion by portion as the caller asks for more. Ends at what was durable when it began.
   * Entries that cannot be read: HF_DAMAGED, with `from` and `to` in its details; what lies behind is there with
   * `read({ since: to })`. Indices that a salvage has given up are left out.
   */
  read(options: ReadOptions = {}): AsyncIterableIterator<LogEntry<E>> {
    assertReadOptions(options);
    const { since = 0, signal } = options;
    if (!Number.isSafeInteger(since) || since < 0)
      throw new TypeError(`Expected \`since\` to be an index ≥ 0, got ${String(since)}`);
    const flushed = this.#host.flush(signal === undefined ? {} : { signal });
    // Whoever never asks for the first entry is not told; that must not end the program.
    flushed.catch(() => undefined);
    return this.#read(since, signal, flushed);
  }

  /** Resolves when everything up to this call survives a power cut. Rejects with a code; nothing is dropped then. */
  flush(options?: FlushOptions): Promise<void> {
    return this.#host.flush(options);
  }

  async *#read(
    since: number,
    signal: AbortSignal | undefined,
    flushed: Promise<void>,
  ): AsyncGenerator<LogEntry<E>, void, undefined> {
    await flushed;
    const { key } = this.#tracked;
    const count = this.durableLength;
    const source = this.#host.source(key);
    const lost = this.#host.lostOf(key);
    for (let at = since; at < count; ) {
      signal?.throwIfAborted();
      const { from, to, ...portion } = source.next(at, count, lost);
      let index = from;
      for (const entry of portion.entries()) {
        signal?.throwIfAborted();
        yield { index: index++, entry: entry as E };
      }
      at = to;
      // A portion is read in one go; between two of them the program has its turn.
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }
}
