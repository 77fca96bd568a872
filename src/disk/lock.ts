// One writer for a store: the owner of its highest lock file, lock.<n>.
//
// L1. The owner listens on a socket of its own before any lock file names it. So a named socket that refuses is dead.
// L2. A lock file appears whole, by link(), which fails if the number is taken. Two processes that saw the same n dead
//     claim the same n + 1, and one of them gets it.
// L3. The highest is never deleted, and lower ones are deleted from below. So whoever claims a number late, after it was
//     taken and swept, finds a higher one when it lists again, and has lost.
// L4. A claimer listens only after it found the store free, and then claims without looking again. So sockets that
//     answer belong to an owner, or to someone about to be one or to lose to one.
// L5. Only the owner sweeps, and it is alive while it does. So nobody who may win is swept: it would have to have found
//     the owner dead.
//
// Nothing here is synced. After a power cut every owner is dead, so it does not matter which lock files it leaves, or with
// what in them. What does matter then is that numbers only grow in the tails' headers: `raise` sees to that.
//
// Not promised: a lock in a directory from which someone else deletes files.

import { resolve } from 'node:path';
import { HoldfastError } from '../errors.js';
import { highestLock, isHighest, linkLock, listLocks, readLock, removeLock, sweep } from './lock-files.js';
import { judge, judgeUnnamed } from './lock-liveness.js';
import { type LockRecord, ownIdentity } from './lock-record.js';
import { changesHands, isFenced, isOpenElsewhere, isOpenSomewhere, mayBeOpen } from './lock-refusal.js';
import { type Listener, listenIn } from './lock-socket.js';

export { highestLock };

export interface LockOptions {
  /**
   * Take the store even if its last owner cannot be proven dead: it ran on another machine, or the disk has no sockets.
   * An owner that is known to run is never taken over.
   * @default false
   */
  takeover?: boolean;
}

export interface Lock {
  /** The n of lock.<n>. */
  readonly owner: number;
  /** Throws HF_FENCED unless our lock is the highest. */
  assertHighest(): void;
  /**
   * Moves to a number above the given one. Lock files may be gone after a power cut, or stay behind when a store is copied;
   * a tail whose owner number is below that of an earlier tail would not count.
   */
  raise(above: number): void;
  /** Lets the next one in. The highest lock file stays. */
  release(): Promise<void>;
}

/** Every further attempt means that another process moved in between. */
const ATTEMPTS_MAX = 16;

/** `hidden` is the existing .holdfast directory. Throws HF_LOCKED naming the owner. */
export async function acquireLock(hidden: string, { takeover = false }: LockOptions = {}): Promise<Lock> {
  const directory = resolve(hidden);
  let refusal = changesHands(directory);
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const top = await look(directory);
    if (top.kind === 'unsettled') {
      refusal = top.refusal;
      continue;
    }
    const isFree = top.kind === 'free' || (top.kind === 'unprovable' && takeover);
    if (!isFree) throw top.refusal;
    const lock = await claim(directory, top.number + 1);
    if (lock !== null) return lock;
    refusal = changesHands(directory);
  }
  throw refusal;
}

/** Who has the store, as far as can be told without trying to take it. Writes nothing. */
export type Holder =
  | { kind: 'nobody' }
  | { kind: 'held'; pid: number | null; host: string | null; since: string | null }
  /** It may still run, where it cannot be asked from here. */
  | { kind: 'unclear'; pid: number | null; host: string | null; since: string | null; why: string };

export async function holderOf(hidden: string): Promise<Holder> {
  const directory = resolve(hidden);
  const { highest: number, sockets } = listLocks(directory);
  const found = number === 0 ? null : readLock(directory, number);
  // Swept in this moment: somebody has just taken it.
  if (found === 'swept') return holderOf(hidden);
  const verdict = found === null ? await judgeUnnamed(directory, sockets) : await judge(directory, found);
  if (verdict.kind === 'dead' || (number === 0 && verdict.kind === 'unprovable')) return { kind: 'nobody' };
  const who = { pid: found?.pid ?? null, host: found?.host ?? null, since: found?.since ?? null };
  return verdict.kind === 'alive' ? { kind: 'held', ...who } : { kind: 'unclear', ...who, why: verdict.why };
}

type Top =
  | { kind: 'free'; number: number }
  | { kind: 'unprovable'; number: number; refusal: HoldfastError }
  | { kind: 'taken'; refusal: HoldfastError }
  /** May look otherwise in a moment. */
  | { kind: 'unsettled'; refusal: HoldfastError };

/** What the highest lock file says about the store, and whether it is still true. */
async function look(directory: string): Promise<Top> {
  const { highest: number, sockets } = listLocks(directory);
  const record = number === 0 ? null : readLock(directory, number);
  if (record === 'swept') return { kind: 'unsettled', refusal: changesHands(directory) };
  const verdict = record ? await judge(directory, record) : await judgeUnnamed(directory, sockets);
  switch (verdict.kind) {
    case 'dead':
      return { kind: 'free', number };
    case 'unprovable':
      // Without a lock file nobody holds it whom this could keep out.
      if (number === 0) return { kind: 'free', number };
      return { kind: 'unprovable', number, refusal: mayBeOpen(directory, record, verdict.why) };
    case 'alive':
      if (record) return { kind: 'taken', refusal: isOpenElsewhere(directory, record) };
      // Somebody is about to link a lock file with its name in it, or does not hold the store at all (L4).
      return { kind: 'unsettled', refusal: isOpenSomewhere(directory) };
    default:
      return verdict satisfies never;
  }
}

/** Null when another process was faster. */
async function claim(directory: string, number: number): Promise<Lock | null> {
  const listener = await listenIn(directory);
  try {
    const socket = listener?.name ?? null;
    const record: LockRecord = { state: 'held', socket, ...ownIdentity(), since: new Date().toISOString() };
    if (linkLock(directory, number, record) && isHighest(directory, number)) {
      await sweep(directory, number, socket);
      return new HeldLock(directory, number, record, listener);
    }
  } catch (error) {
    await listener?.close();
    throw error;
  }
  await listener?.close();
  return null;
}

class HeldLock implements Lock {
  readonly #directory: string;
  readonly #record: LockRecord;
  readonly #listener: Listener | null;
  #owner: number;
  #released: Promise<void> | null = null;

  constructor(directory: string, owner: number, record: LockRecord, listener: Listener | null) {
    this.#directory = directory;
    this.#owner = owner;
    this.#record = record;
    this.#listener = listener;
  }

  get owner(): number {
    return this.#owner;
  }

  assertHighest(): void {
    if (this.#released !== null) throw new HoldfastError('HF_CLOSED', `lock.${this.#owner} is released.`);
    const highest = highestLock(this.#directory);
    // Lower is no better: without our lock file the next process starts at 1.
    if (highest !== this.#owner) throw isFenced(this.#directory, this.#owner, highest);
  }

  raise(above: number): void {
    this.assertHighest();
    if (this.#owner > above) return;
    const next = above + 1;
    if (!linkLock(this.#directory, next, this.#record)) throw isFenced(this.#directory, this.#owner, next);
    removeLock(this.#directory, this.#owner);
    this.#owner = next;
  }

  release(): Promise<void> {
    this.#released ??= this.#release();
    return this.#released;
  }

  async #release(): Promise<void> {
    if (this.#listener !== null) return this.#listener.close();
    // Without a socket that goes away, our lock would hold until this process ends. A lock above it says that it does not.
    if (highestLock(this.#directory) !== this.#owner) return;
    const isLinked = linkLock(this.#directory, this.#owner + 1, { ...this.#record, state: 'released' });
    if (isLinked) removeLock(this.#directory, this.#owner);
  }
}
