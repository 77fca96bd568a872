// What a store stands on: a disk, a lock, and the two threads that work on it. The real one is in real-ground.ts; a disk
// in memory (holdfast/testing) brings its own, under a symbol, so that this library need not know it.

import type { Entry, PublicDisk } from './disk/disk.js';
import type { Lock, LockOptions } from './disk/lock.js';
import type { Store } from './store.js';
import type { JournalThread } from './threads/journal-thread.js';
import type { SnapshotThread } from './threads/snapshot-thread.js';

/** The journal thread, as one store's channel uses it. */
export type JournalKeeper = Pick<
  JournalThread,
  'open' | 'close' | 'abandon' | 'send' | 'ring' | 'hold' | 'letGo' | 'takeMail' | 'isGone'
>;

/** The snapshot thread, as one store uses it. */
export type SnapshotKeeper = Pick<SnapshotThread, 'project' | 'compact' | 'release' | 'terminate'>;

export interface Ground {
  readonly disk: PublicDisk;
  /** As `disk.list`, with what each one is: a folder of many files is not worth a call for each. */
  entries(folder: string): { name: string; kind: Entry['kind'] }[];
  /** Open stores by the path that `makeHome` gave. */
  readonly stores: Map<string, Promise<Store>>;
  /** Returns the one path by which this store is known, whatever links led to it. */
  makeHome(home: string): string;
  lock(hidden: string, options: LockOptions): Promise<Lock>;
  /** What throws HF_FENCED once another process has taken the store over. */
  fence(directory: string, owner: number): () => void;
  journal(workersUrl: URL): JournalKeeper;
  snapshots(workersUrl: URL): SnapshotKeeper;
  /** Those that are told when the process ends. */
  readonly exit: { add(store: Store): void; remove(store: Store): void };
}

export const GROUND: unique symbol = Symbol.for('holdfast.ground') as never;

/** What `memory()` of holdfast/testing returns. */
export interface OpenableDisk {
  /** Not for callers: where the store is, and what it stands on. */
  readonly [GROUND]: { readonly home: string; readonly ground: object };
}

export function isOpenableDisk(value: unknown): value is OpenableDisk {
  return typeof value === 'object' && value !== null && GROUND in value;
}
