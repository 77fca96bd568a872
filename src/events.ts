// What a store tells whoever listens. Nothing here is named 'error': an unheard 'error' would end the program.

import type { HoldfastError } from './errors.js';
import type { RecoveryNote } from './journal/open.js';

export interface StoreEvents {
  /** Changes were handed over to the journal. */
  commit: { seq: number; bytes: number };
  /** A JSON file shows a new version of its document, or a log's JSON Lines more entries (`log:` and its name). */
  project: { document: string; version: number; bytes: number };
  /** Opening found something to mend, and mended it without loss. */
  recovered: { notes: readonly RecoveryNote[]; projections: readonly { document: string; found: string }[] };
  /** A JSON file was changed by somebody else. It is not overwritten. */
  drift: { document: string; path: string };
  /** Saving has begun to fail, or works again. */
  degraded: { isDegraded: boolean };
  /** Something failed. Nothing is dropped. */
  fault: HoldfastError;
}

const NAMES = Object.keys({
  commit: true,
  project: true,
  recovered: true,
  drift: true,
  degraded: true,
  fault: true,
} satisfies Record<keyof StoreEvents, true>);

export type Listener<E> = (event: E) => void;

/** Of its own for each time it was added: the same function, added by two, is stopped for one of them. */
export interface Heard<L> {
  readonly listener: L;
}

// Captured at import: a program's fake timers must not swallow what a listener throws.
const { queueMicrotask } = globalThis;

export class Events {
  readonly #listeners = new Map<keyof StoreEvents, Set<Heard<Listener<never>>>>();
  readonly #warned = new Set<string>();

  on<K extends keyof StoreEvents>(name: K, listener: Listener<StoreEvents[K]>): () => void {
    if (!NAMES.includes(name)) throw new TypeError(`Expected one of ${NAMES.join(', ')}, got ${JSON.stringify(name)}`);
    if (typeof listener !== 'function') throw new TypeError(`Expected a function, got ${typeof listener}`);
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners);
    const heard = { listener };
    listeners.add(heard);
    return () => {
      listeners.delete(heard);
    };
  }

  has(name: keyof StoreEvents): boolean {
    return (this.#listeners.get(name)?.size ?? 0) > 0;
  }

  emit<K extends keyof StoreEvents>(name: K, event: StoreEvents[K]): void {
    for (const { listener } of this.#listeners.get(name) ?? []) call(listener as Listener<StoreEvents[K]>, event);
    if (name === 'fault' && !this.has('fault')) this.#warn(event as HoldfastError);
  }

  /** Once per code: a disk that stays full must not flood the log, and must not go unseen either. */
  #warn(error: HoldfastError): void {
    if (this.#warned.has(error.code)) return;
    this.#warned.add(error.code);
    process.emitWarning(error.message, { type: 'HoldfastWarning', code: error.code });
  }
}

/** A listener that throws must not keep a change from being saved; its error goes where uncaught errors go. */
export function call<E>(listener: Listener<E>, event: E): void {
  try {
    listener(event);
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
