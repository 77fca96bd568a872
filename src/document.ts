// What callers hold of one document.

import type { DeepReadonly, Synchronous, Tracked } from './change/tracked.js';
import type { Path } from './errors.js';
import { guarded } from './guard.js';

export interface Change {
  version: number;
  /** The places that have a new value or are gone. */
  paths: readonly Path[];
}

export interface FlushOptions {
  /**
   * Also wait until the JSON files show it; rejects when one cannot be written, although everything is saved then. A file
   * that somebody else changed is left as it is, and not waited for. @default false
   */
  projected?: boolean;
  /** Stops waiting. What was handed over is still saved. */
  signal?: AbortSignal;
}

/** What a document needs from its store. */
export interface DocumentHost {
  assertWritable(): void;
  durableVersion(name: string): number;
  flush(options?: FlushOptions): Promise<void>;
  resolve(name: string, how: 'adopt' | 'restore'): Promise<void>;
  watch(doc: Tracked, listener: (change: Change) => void): () => void;
  readonly isGuarded: boolean;
}

export class Document<T> {
  readonly name: string;
  readonly #tracked: Tracked<T>;
  readonly #host: DocumentHost;

  constructor(tracked: Tracked<T>, host: DocumentHost) {
    this.name = tracked.name;
    this.#tracked = tracked;
    this.#host = host;
  }

  /** Live and plain: it shows every update at once, and reading costs nothing. Change it through `update`. */
  get state(): DeepReadonly<T> {
    return this.#host.isGuarded ? guarded(this.#tracked.state) : this.#tracked.state;
  }

  /** Counts the updates that changed something. Only grows. */
  get version(): number {
    return this.#tracked.version;
  }

  /** The version that would survive a power cut now. Only grows. */
  get durableVersion(): number {
    return this.#host.durableVersion(this.name);
  }

  /**
   * Changes the state. Synchronous; returns what the recipe returns, with drafts in it made plain. A throw undoes all of
   * it. When this returns the change is on its way to disk; await `flush` to know that it has arrived.
   */
  update<R>(recipe: (draft: T) => Synchronous<R>): R {
    this.#host.assertWritable();
    return this.#tracked.update(recipe);
  }

  /** The state becomes `next`. Only what differs is written. */
  replace(next: T): void {
    this.#host.assertWritable();
    this.#tracked.replace(next);
  }

  /** A copy that may be changed, of all or of what `select` picks. */
  snapshot(): T;
  snapshot<S>(select: (state: DeepReadonly<T>) => S): S;
  snapshot<S>(select?: (state: DeepReadonly<T>) => S): T | S {
    return select === undefined ? this.#tracked.snapshot() : this.#tracked.snapshot(select);
  }

  /**
   * Called after each update that changed something, once it can no longer be undone. Returns how to stop it. What a listener
   * throws goes where uncaught errors go: the update has happened.
   */
  subscribe(listener: (change: Change) => void): () => void {
    if (typeof listener !== 'function') throw new TypeError(`Expected a function, got ${typeof listener}`);
    return this.#host.watch(this.#tracked as Tracked, listener);
  }

  /** Settles drift: take over the file as it is, or write it anew from what is saved. Without drift nothing changes. */
  resolve(how: 'adopt' | 'restore'): Promise<void> {
    return this.#host.resolve(this.name, how);
  }

  /** Resolves when everything up to this call survives a power cut. Rejects with a code; nothing is dropped then. */
  flush(options?: FlushOptions): Promise<void> {
    return this.#host.flush(options);
  }
}
