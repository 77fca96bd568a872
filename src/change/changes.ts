// All changes of one store that can still be undone. Nested updates and transactions are savepoints on one stack: what
// throws is undone back to where it began, and only the outermost one makes changes final.
//
// I1. Marks are kept per savepoint and taken over when it succeeds; undoing drops them, so undo restores marks too.
// I2. Nothing is encoded while a savepoint is open: `onFinal` runs after the outermost one has ended.

import { HoldfastError } from '../errors.js';
import { Marks } from './marks.js';
import { hide, type Plain, setOwn } from './plain.js';
import type { Tracked } from './tracked.js';
import type { TrackedLog } from './tracked-log.js';

type OnFinal = (docs: readonly Tracked[], logs: readonly TrackedLog[]) => void;

interface Savepoint {
  readonly undoFrom: number;
  readonly marks: Map<Tracked, Marks>;
}

export class Changes {
  readonly #undo: (() => unknown)[] = [];
  readonly #savepoints: Savepoint[] = [];
  /** Logs that were appended to since the outermost savepoint. */
  readonly #grown = new Set<TrackedLog>();
  /** Keys taken out of sight and not yet deleted. */
  readonly #hidden = new Map<object, Set<string>>();
  readonly #onFinal: OnFinal;

  constructor(onFinal: OnFinal = () => undefined) {
    this.#onFinal = onFinal;
  }

  get isOpen(): boolean {
    return this.#savepoints.length > 0;
  }

  /** Runs `fn`; a throw, or a promise as its result, undoes everything it changed. */
  run<R>(fn: () => R, what: string): R {
    const savepoint: Savepoint = { undoFrom: this.#undo.length, marks: new Map() };
    this.#savepoints.push(savepoint);
    let result: R;
    try {
      result = fn();
      refusePromise(result, what);
    } catch (error) {
      this.#rollBack(savepoint);
      this.#savepoints.pop();
      throw error;
    }
    this.#savepoints.pop();
    const outer = this.#savepoints.at(-1);
    if (outer === undefined) this.#finish(savepoint);
    else for (const [doc, marks] of savepoint.marks) takeOver(outer.marks, doc, marks);
    return result;
  }

  record(undo: () => unknown): void {
    this.#undo.push(undo);
  }

  /** Marks of the innermost open savepoint: what a throw right now would undo. */
  marksOf(doc: Tracked): Marks {
    const savepoint = this.#savepoints.at(-1);
    if (savepoint === undefined) throw new Error('No update is open');
    let marks = savepoint.marks.get(doc);
    if (marks === undefined) {
      marks = new Marks(Array.isArray(doc.raw));
      savepoint.marks.set(doc, marks);
    }
    return marks;
  }

  noteGrown(log: TrackedLog): void {
    this.#grown.add(log);
  }

  addHidden(raw: object, key: string): void {
    const keys = this.#hidden.get(raw);
    if (keys === undefined) this.#hidden.set(raw, new Set([key]));
    else keys.add(key);
  }

  unhide(raw: object, key: string): void {
    this.#hidden.get(raw)?.delete(key);
  }

  hasHidden(raw: object): boolean {
    return (this.#hidden.get(raw)?.size ?? 0) > 0;
  }

  isHidden(raw: object, key: string): boolean {
    return this.#hidden.get(raw)?.has(key) ?? false;
  }

  /** Deletes hidden keys of an object for real while undo is still possible: this costs one listing of its keys. */
  settle(raw: Plain): void {
    const keys = this.#hidden.get(raw);
    if (keys === undefined || keys.size === 0) return;
    const order = Object.getOwnPropertyNames(raw);
    this.#hidden.delete(raw);
    for (const key of keys) delete raw[key];
    this.#undo.push(() => {
      restoreOrder(raw, order, keys);
      this.#hidden.set(raw, keys);
    });
  }

  /** After this, plain reads of the state see no trace of deleted keys, not even through `in`. */
  settleAll(): void {
    for (const raw of [...this.#hidden.keys()]) this.settle(raw as Plain);
  }

  #finish(savepoint: Savepoint): void {
    this.#forget();
    const changed: Tracked[] = [];
    for (const [doc, marks] of savepoint.marks) if (doc.accept(marks)) changed.push(doc);
    // What was appended and undone is not pending any more.
    const grown = [...this.#grown].filter(({ hasPending }) => hasPending);
    this.#grown.clear();
    if (changed.length > 0 || grown.length > 0) this.#onFinal(changed, grown);
  }

  /** Nothing of what was recorded can be undone any more. */
  #forget(): void {
    this.#undo.length = 0;
    if (this.#hidden.size === 0) return;
    for (const [raw, keys] of this.#hidden) for (const key of keys) delete (raw as Plain)[key];
    this.#hidden.clear();
  }

  /** Undoes everything that is still open. For the end of the process, where no recipe returns any more. */
  abort(): void {
    const [outermost] = this.#savepoints;
    if (outermost === undefined) return;
    this.#rollBack(outermost);
    this.#savepoints.length = 0;
  }

  #rollBack(savepoint: Savepoint): void {
    while (this.#undo.length > savepoint.undoFrom) this.#undo.pop()?.();
    // Every key is in sight again; what is left are empty sets that would keep objects alive.
    if (savepoint.undoFrom === 0) {
      this.#forget();
      this.#grown.clear();
    }
  }
}

function takeOver(into: Map<Tracked, Marks>, doc: Tracked, marks: Marks): void {
  const known = into.get(doc);
  if (known === undefined) into.set(doc, marks);
  else known.absorb(marks);
}

function restoreOrder(raw: Plain, order: readonly string[], hidden: ReadonlySet<string>): void {
  const values = order.map((key) => raw[key]);
  for (const key of order) delete raw[key];
  order.forEach((key, at) => {
    if (hidden.has(key)) hide(raw, key);
    else setOwn(raw, key, values[at]);
  });
}

function refusePromise(result: unknown, what: string): void {
  if (typeof result !== 'object' || result === null) return;
  const { then } = result as { then?: unknown };
  if (typeof then !== 'function') return;
  // The refusal below reports the mistake. The abandoned promise will fail on its dead draft; unhandled, that second
  // report of the same mistake would end the program.
  Promise.resolve(result).catch(() => undefined);
  throw new HoldfastError(
    'HF_ASYNC',
    `${what} returned a promise. Everything it changed was undone. Do the waiting before the call, and change state synchronously in it.`,
  );
}
