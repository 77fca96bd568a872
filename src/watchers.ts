// Who wants to hear of which document.

import type { Tracked } from './change/tracked.js';
import type { Change } from './document.js';
import type { Listener } from './events.js';

export interface News {
  listener: Listener<Change>;
  change: Change;
}

export class Watchers {
  readonly #byName = new Map<string, Set<Listener<Change>>>();

  /** Returns how to stop it. */
  add(name: string, listener: Listener<Change>): () => void {
    const listeners = this.#byName.get(name) ?? new Set();
    this.#byName.set(name, listeners);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#byName.get(name) === listeners) this.#byName.delete(name);
    };
  }

  /** What each of them is to be told, as it is now: a listener may change the documents again. */
  newsOf(docs: readonly Tracked[]): News[] {
    return this.#byName.size === 0 ? NOTHING : docs.flatMap((doc) => this.#newsOf(doc));
  }

  #newsOf(doc: Tracked): News[] {
    const listeners = this.#byName.get(doc.name);
    if (listeners === undefined) return [];
    const change = { version: doc.version, paths: doc.changedPaths() };
    return [...listeners].map((listener) => ({ listener, change }));
  }
}

const NOTHING: News[] = [];
