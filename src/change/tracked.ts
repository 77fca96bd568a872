// One document on the main thread: the live state, what is not yet encoded, and the ways to change it.

import type { ZodType } from 'zod';
import { HoldfastError, type Path, showPath } from '../errors.js';
import type { Changes } from './changes.js';
import { collectOps } from './collect.js';
import { assertRoot, copyIn } from './copy-in.js';
import { reconcile } from './diff.js';
import { DraftNode, Session } from './draft.js';
import { growText } from './edit.js';
import { handleOf } from './handles.js';
import { changedPaths, Marks } from './marks.js';
import type { Op } from './ops.js';
import { type Container, copyPlain } from './plain.js';
import { release } from './release.js';
import { weighMarks } from './weigh.js';

/** Text and numbers first: a branded one is an object to the compiler too. Lists and tuples stay what they are. */
export type DeepReadonly<T> = T extends string | number | boolean | null | undefined
  ? T
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T;

/** A recipe whose result is a promise does not compile: its changes would be made after the update has ended. */
export type Synchronous<R> = R extends PromiseLike<unknown> ? never : R;

export interface Problem {
  path: readonly (string | number)[];
  message: string;
  issues: readonly unknown[];
}

/** Decides whether a changed state is acceptable, at the cost of what changed. */
export interface StateChecker {
  /** Refinements look at the state: deleted keys have to be gone for good by then. */
  readonly runsCallerCode: boolean;
  check(state: unknown, marks: Marks): Problem | null;
  /** The fingerprint of the schema, as long as whoever opens the state again may rely on it; else empty. */
  readonly seal: string;
  /** Whether this schema is that one, or accepts the same as far as can be seen. */
  isOf(schema: ZodType): boolean;
}

// biome-ignore lint/suspicious/noExplicitAny: a document of any type; `unknown` would not accept a Tracked<Loop>.
export class Tracked<T = any> {
  raw: Container;
  /** Counts updates that changed something. Only grows. */
  version: number;
  /** Changed and not yet encoded. */
  #pending: Marks;
  /** About its bytes, or more than those: what was replaced meanwhile is in it. Null as long as nobody had to know. */
  #pendingBytes: number | null = null;
  /** Of which version of its schema the state is. */
  schemaVersion = 1;
  /** SHA-256 of the file that the state was last taken from. */
  adopted: string | undefined;
  /** No longer in its store: changes would go nowhere. */
  isRemoved = false;
  #changed: Marks | null = null;
  #isOdd = false;
  #openUpdates = 0;

  constructor(
    readonly name: string,
    readonly changes: Changes,
    state: Container,
    version: number,
    readonly checker: StateChecker | null = null,
  ) {
    this.raw = state;
    this.version = version;
    this.#pending = new Marks(Array.isArray(state));
  }

  get pending(): Marks {
    return this.#pending;
  }

  /** What was pending is in a frame. */
  takePending(): Marks {
    const taken = this.#pending;
    this.#pending = new Marks(Array.isArray(this.raw));
    this.#pendingBytes = null;
    return taken;
  }

  /** At least about the bytes that wait to be encoded. Mostly nothing waits, and then this is never asked. */
  get pendingBytes(): number {
    this.#pendingBytes ??= weighMarks(this.#pending, this.raw);
    return this.#pendingBytes;
  }

  /** The same without what was replaced while it waited. Costs as much as what waits. */
  weighPending(): number {
    this.#pendingBytes = null;
    return this.pendingBytes;
  }

  /** Live and plain: reads cost nothing, writes to it are lost. */
  get state(): DeepReadonly<T> {
    // Whoever looks in the middle of a transaction may look with `in`. Who only changes does not pay for that.
    if (this.changes.isOpen) this.changes.settleAll();
    return this.raw as DeepReadonly<T>;
  }

  /** Set once text or keys were seen that msgpack would change; frames are then looked at before they are encoded. */
  get mayBeOdd(): boolean {
    return this.#isOdd;
  }

  noteOdd(): void {
    this.#isOdd = true;
  }

  update<R>(recipe: (draft: T) => Synchronous<R>): R {
    return this.#change(`The recipe of '${this.name}'`, (session) => recipe(session.root().proxy as T)) as R;
  }

  /** The state becomes `next`; only what differs is written. */
  replace(next: T): void {
    this.#change(`Replacing '${this.name}'`, (session) => {
      assertRoot(next, `The state of '${this.name}'`);
      const copy = copyIn(next, { depth: 0, path: () => [], noteOdd: () => this.noteOdd() }) as Container;
      if (Array.isArray(copy) === Array.isArray(this.raw)) reconcile(session.root(), copy);
      else this.#replaceRoot(copy);
    });
  }

  snapshot(): T;
  snapshot<S>(select: (state: DeepReadonly<T>) => S): S;
  snapshot(select?: (state: DeepReadonly<T>) => unknown): unknown {
    return copyPlain(select === undefined ? this.raw : select(this.state));
  }

  /** Takes over the marks of an update that can no longer be undone. False when nothing changed. */
  accept(marks: Marks): boolean {
    if (marks.isEmpty) return false;
    this.#changed = marks;
    if (this.#pending.isEmpty) {
      this.#pending = marks;
      this.#pendingBytes = null;
    } else {
      // By what this update changed: weighing everything that waits, each time, would cost more with every update.
      if (this.#pendingBytes !== null) this.#pendingBytes += weighMarks(marks, this.raw);
      this.#pending.absorb(marks);
    }
    this.version++;
    return true;
  }

  /** The places that the last update changed. Only to be asked right after it. */
  changedPaths(): Path[] {
    return this.#changed === null ? [] : changedPaths(this.#changed);
  }

  /** The ops of everything pending, which is then no longer pending. */
  takeOps(): Op[] {
    return collectOps(this.takePending(), this.raw);
  }

  #change<R>(what: string, fn: (session: Session) => R): R {
    if (this.isRemoved) throw new HoldfastError('HF_CLOSED', `'${this.name}' was removed from its store.`);
    return this.changes.run(() => {
      const session = new Session(this, this.changes);
      this.#openUpdates++;
      try {
        const result = fn(session);
        if (this.#openUpdates === 1) this.#assertValid();
        return release(result) as R;
      } finally {
        this.#openUpdates--;
        session.isOpen = false;
      }
    }, what);
  }

  #assertValid(): void {
    if (this.checker === null) return;
    if (this.checker.runsCallerCode) this.changes.settleAll();
    const problem = this.checker.check(this.raw, this.changes.marksOf(this));
    if (problem === null) return;
    const more = problem.issues.length > 1 ? ` (and ${problem.issues.length - 1} more)` : '';
    throw new HoldfastError(
      'HF_SCHEMA',
      `The schema of '${this.name}' refuses ${showPath(problem.path)}: ${problem.message}${more}. The update was undone.`,
      { path: problem.path, details: problem.issues },
    );
  }

  #replaceRoot(copy: Container): void {
    const before = this.raw;
    const marks = this.changes.marksOf(this);
    this.changes.record(() => {
      this.raw = before;
    });
    this.raw = copy;
    marks.replace();
  }
}

/** Grows a string in a draft by `text`; what is written is `text`, not the string. A missing key starts empty. */
export function append<D extends object, K extends keyof D & (string | number)>(draft: D, key: K, text: string): void {
  const node = handleOf(draft);
  if (!(node instanceof DraftNode))
    throw new TypeError('Expected `draft` to be a draft from `update`, got another value');
  if (!node.isLive) throw new HoldfastError('HF_DRAFT', 'The draft was used after its update ended.');
  if (typeof key !== 'string' && typeof key !== 'number')
    throw new TypeError(`Expected \`key\` to be a string or a number, got ${typeof key}`);
  if (typeof text !== 'string') throw new TypeError(`Expected \`text\` to be a string, got ${typeof text}`);
  growText(node, key, text);
}
