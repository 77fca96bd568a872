// The items of a run, one at a time and in order: those that an earlier run left in progress, then the rest, without
// what is done. An item is begun in the same turn in which it is taken: no other worker can take it too.
//
// Items of any iterable are taken as they are needed and not kept. "First" therefore needs `items` that can be walked
// twice (an array, a Set, an object whose iterator is new each time); of a generator or a stream, interrupted items run
// when they come.

import type { InterruptedItem } from './options.js';
import { untilAborted } from './pause.js';
import type { Tally } from './progress.js';
import type { LoopState } from './state.js';

const { setImmediate } = globalThis;

export type Items<T> = Iterable<T> | AsyncIterable<T>;

export interface Claim<T> {
  readonly id: string;
  readonly item: T;
}

/** So many in a row are skipped before others on this thread get a turn. */
const SKIPS_MAX = 10_000;

/** So many are looked through for what was interrupted: what can be walked twice may have no end. */
const LOOK_MAX = 1_000_000;

export class Claims<T> {
  readonly #items: Items<T>;
  readonly #state: LoopState;
  readonly #keyOf: (item: T) => string;
  readonly #tally: Tally;
  readonly #stop: AbortSignal;
  #source: Iterator<T> | AsyncIterator<T> | null = null;
  #isExhausted = false;
  readonly #first: Claim<T>[] = [];
  /** Of those that came first: the walk meets them again. */
  readonly #early = new Set<string>();
  /** Left outstanding by this run: a second item of that key is not run either. */
  readonly #left = new Set<string>();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(items: Items<T>, state: LoopState, keyOf: (item: T) => string, tally: Tally, stop: AbortSignal) {
    this.#items = items;
    this.#state = state;
    this.#keyOf = keyOf;
    this.#tally = tally;
    this.#stop = stop;
  }

  /** Looks for the items that were interrupted, where that can be done beforehand. */
  findInterrupted(): InterruptedItem<T>[] {
    const { interrupted } = this.#state;
    if (interrupted.length === 0) return [];
    const wanted = new Set(interrupted.map(({ id }) => id));
    const found = new Map<string, T>();
    if (isWalkable(this.#items)) {
      let looks = 0;
      for (const item of this.#items) {
        const id = this.#keyOf(item);
        if (wanted.delete(id)) found.set(id, item);
        if (wanted.size === 0 || ++looks === LOOK_MAX) break;
      }
    }
    for (const [id, item] of found) {
      this.#first.push({ id, item });
      this.#early.add(id);
    }
    return interrupted.map((one) => (found.has(one.id) ? { ...one, item: found.get(one.id) as T } : one));
  }

  /** The next one to work on, already begun; null when there is none or the run was stopped. */
  next(): Promise<Claim<T> | null> {
    const claim = this.#turn.then(() => this.#take());
    this.#turn = claim.catch(() => undefined);
    return claim;
  }

  leave(id: string): void {
    this.#left.add(id);
  }

  /** What was left in progress long ago and is no longer among the items: nobody will ever end it. */
  async forgetLost(): Promise<void> {
    // All in this turn: while one is waited for, another loop over the same file may begin the next.
    await Promise.all(this.#state.interrupted.map(({ id }) => this.#state.end(id, { status: 'glitch' })));
  }

  /** Lets the source go. It may be in the middle of something that it never finishes: not waited for. */
  close(): void {
    const source = this.#source;
    if (this.#isExhausted || source === null) return;
    this.#isExhausted = true;
    const letGo = async () => source.return?.();
    letGo().catch(() => undefined);
  }

  async #take(): Promise<Claim<T> | null> {
    for (let skips = 1; !this.#stop.aborted; skips++) {
      const next = this.#first.shift() ?? this.#walk();
      // Waiting for what is there already would make a million skips take seconds.
      const claim = next instanceof Promise ? await next : next;
      if (claim === null) return null;
      if (this.#mayRun(claim.id)) {
        this.#state.begin(claim.id);
        return claim;
      }
      if (skips % SKIPS_MAX === 0) await new Promise<void>((done) => setImmediate(done));
    }
    return null;
  }

  /** Synchronous with the begin. */
  #mayRun(id: string): boolean {
    if (!this.#state.isDone(id) && !this.#state.isRunning(id) && !this.#left.has(id)) return true;
    if (!this.#early.delete(id)) this.#tally.counts.skipped++;
    return false;
  }

  #walk(): Claim<T> | null | Promise<Claim<T> | null> {
    if (this.#isExhausted) return null;
    this.#source ??= iteratorOf(this.#items);
    const next = this.#source.next();
    if (!(next instanceof Promise)) return this.#claimOf(next);
    return untilAborted(next, this.#stop).then((result) => (result === null ? null : this.#claimOf(result)));
  }

  #claimOf(result: IteratorResult<T>): Claim<T> | null {
    this.#isExhausted = result.done === true;
    return result.done === true || this.#stop.aborted ? null : { id: this.#keyOf(result.value), item: result.value };
  }
}

function iteratorOf<T>(items: Items<T>): Iterator<T> | AsyncIterator<T> {
  return Symbol.asyncIterator in items ? awaiting(items[Symbol.asyncIterator]()) : items[Symbol.iterator]();
}

/** Its answers as promises of ours, whatever kind of promise it makes. */
function awaiting<T>(source: AsyncIterator<T>): AsyncIterator<T> {
  return {
    next: async () => source.next(),
    return: async () => (await source.return?.()) ?? { done: true, value: undefined },
  };
}

/** True for what gives a new iterator each time it is asked: walking it once does not use it up. */
function isWalkable<T>(items: Items<T>): items is Iterable<T> {
  return !(Symbol.asyncIterator in items) && (items[Symbol.iterator]() as unknown) !== items;
}

export function sizeOf(items: Items<unknown>): number | undefined {
  if (Array.isArray(items)) return items.length;
  return items instanceof Set || items instanceof Map ? items.size : undefined;
}

export function assertItems(items: unknown): void {
  if (typeof items === 'object' && items !== null && (Symbol.asyncIterator in items || Symbol.iterator in items))
    return;
  throw new TypeError(`Expected \`items\` to be an array or another (async) iterable, got ${typeof items}`);
}

export function keyWith<T>(key: ((item: T) => string) | undefined): (item: T) => string {
  return (item) => {
    const id = key === undefined ? ownKey(item) : key(item);
    if (typeof id === 'string' && id !== '') return id;
    const what = key === undefined ? 'an item to be a string or to have a string `id`' : '`key` to return a string';
    throw new TypeError(`Expected ${what} that is not empty, got ${typeof id}. Give a \`key\` function.`);
  };
}

function ownKey(item: unknown): unknown {
  return typeof item === 'object' && item !== null ? (item as { id?: unknown }).id : item;
}
