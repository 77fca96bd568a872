// Who wants to hear of which document. One that was removed and made anew is another one.

import type { Tracked } from './change/tracked.js';
import type { Change } from './document.js';
import type { Heard, Listener } from './events.js';

export interface News {
  listener: Listener<Change>;
  change: Change;
}

export class Watchers {
  readonly #byDocument = new Map<Tracked, Set<Heard<Listener<Change>>>>();

  /** Returns how to stop it. */
  add(doc: Tracked, listener: Listener<Change>): () => void {
    const listeners = this.#byDocument.get(doc) ?? new Set();
    this.#byDocument.set(doc, listeners);
    const heard = { listener };
    listeners.add(heard);
    return () => {
      listeners.delete(heard);
      if (listeners.size === 0 && this.#byDocument.get(doc) === listeners) this.#byDocument.delete(doc);
    };
  }

  /** What each of them is to be told, as it is now: a listener may change the documents again. */
  newsOf(docs: readonly Tracked[]): News[] {
    return this.#byDocument.size === 0 ? NOTHING : docs.flatMap((doc) => this.#newsOf(doc));
  }

  #newsOf(doc: Tracked): News[] {
    const listeners = this.#byDocument.get(doc);
    if (listeners === undefined) return [];
    const change = { version: doc.version, paths: doc.changedPaths() };
    return [...listeners].map(({ listener }) => ({ listener, change }));
  }
}

const NOTHING: News[] = [];
