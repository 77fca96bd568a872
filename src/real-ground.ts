// The ground of every store that is not a test's: the file system and the threads of this process.

import { mkdirSync, readdirSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isCode } from './disk/faults.js';
import { fenceOf } from './disk/fence.js';
import { acquireLock } from './disk/lock.js';
import { kindOf, nodeDisk } from './disk/node-disk.js';
import { HoldfastError } from './errors.js';
import { ExitHooks } from './exit/hooks.js';
import type { Ground } from './ground.js';
import { Places } from './journal/places.js';
import type { Store } from './store.js';
import { JournalThread } from './threads/journal-thread.js';
import { SnapshotThread } from './threads/snapshot-thread.js';

const STORES = Symbol.for('holdfast.stores');

export const realGround: Ground = {
  disk: nodeDisk,
  entries: (folder) =>
    readdirSync(folder, { withFileTypes: true }).map((entry) => ({ name: entry.name, kind: kindOf(entry) })),
  get stores() {
    return stores();
  },
  makeHome,
  lock: acquireLock,
  fence: fenceOf,
  journal: (workersUrl) => JournalThread.of(workersUrl),
  snapshots: (workersUrl) => new SnapshotThread(workersUrl),
  get exit() {
    return ExitHooks.shared;
  },
};

/** Stores of this process by real path, also when this module is loaded twice. */
function stores(): Map<string, Promise<Store>> {
  const holder = globalThis as { [STORES]?: Map<string, Promise<Store>> };
  holder[STORES] ??= new Map();
  return holder[STORES];
}

function makeHome(home: string): string {
  const { hidden } = new Places(home);
  // Apart: only the hidden folder is closed to others.
  makeFolder(dirname(hidden));
  mkdirSync(hidden, { recursive: true, mode: 0o700 });
  const folder = realpathSync(dirname(hidden));
  return hidden === home ? join(folder, basename(home)) : folder;
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true });
  } catch (error) {
    if (!isCode(error, 'EEXIST', 'ENOTDIR')) throw error;
    throw new HoldfastError(
      'HF_EXISTS',
      `${path} cannot be the folder of a store: a file is in its place. Nothing was touched. For one document in a file of its own, use openDoc.`,
      { cause: error },
    );
  }
}
