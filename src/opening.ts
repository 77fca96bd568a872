// From a path to a running store: lock, recover, begin a new tail on the journal thread.

import { resolve } from 'node:path';
import { isDiskFull } from './disk/faults.js';
import { HoldfastError } from './errors.js';
import { GROUND, type Ground, isOpenableDisk, type OpenableDisk } from './ground.js';
import { type Plan, planOpening } from './journal/open.js';
import { onlyFileOf, Places } from './journal/places.js';
import type { Replica } from './journal/replica.js';
import { type Settings, type StoreOptions, settle } from './options.js';
import { Channel } from './queue/channel.js';
import { realGround } from './real-ground.js';
import { Store } from './store.js';

export interface Opened {
  ground: Ground;
  directory: string;
  settings: Settings;
  channel: Channel;
  replica: Replica;
  plan: Plan;
  owner: number;
  /** Gives up the lock and makes room for the next opening of this directory. */
  release: () => Promise<void>;
}

/**
 * Opens a store, or gives the one that this process already has open, with the options that it was opened with; each `open`
 * then takes a `close` of its own.
 * `directory` may be what `memory()` of holdfast/testing returns: the same store, with no threads and no files.
 */
export async function open(directory: string | OpenableDisk, options?: StoreOptions): Promise<Store> {
  if (isOpenableDisk(directory)) {
    const { home, ground } = directory[GROUND];
    return openAt(home, settle(options), ground as Ground);
  }
  assertPath('directory', directory);
  const home = resolve(directory);
  const file = onlyFileOf(home);
  if (file !== null)
    throw new TypeError(
      `Expected \`directory\` to be free for a store, got the hidden folder of ${file}. Use openDoc.`,
    );
  return openAt(home, settle(options));
}

export function assertPath(what: string, path: unknown): asserts path is string {
  if (typeof path !== 'string' || path === '')
    throw new TypeError(`Expected \`${what}\` to be a path, got ${JSON.stringify(path) ?? typeof path}`);
}

/** `home`: a store's directory, or the hidden folder of a single document (see Places). */
export async function openAt(home: string, settings: Settings, ground = realGround): Promise<Store> {
  const path = ground.makeHome(home);
  const { stores } = ground;
  const known = stores.get(path);
  if (known !== undefined) {
    const store = await known;
    const shared = store.share();
    if (shared !== null) return shared;
    // It is being closed, or lost to another process: its turn ends when its lock is released.
    await store.close().catch((error: unknown) => {
      // One that was lost lets go all the same.
      if (store.health().phase !== 'closed') throw error;
    });
    return openAt(home, settings, ground);
  }
  const opening = openFresh(ground, path, settings, () => {
    if (stores.get(path) === opening) stores.delete(path);
  });
  stores.set(path, opening);
  try {
    return await opening;
  } catch (error) {
    if (stores.get(path) === opening) stores.delete(path);
    throw isDiskFull(error) ? fullError(path, error) : error;
  }
}

/** Opening begins a new tail: without room for it nothing that is changed could be saved. */
function fullError(path: string, error: unknown): HoldfastError {
  const reason = error instanceof Error ? error.message : String(error);
  return new HoldfastError(
    'HF_DISK_FULL',
    `Opening ${path} failed: ${reason}. What was saved is untouched. Free some space, then open it again; openReadOnly needs none.`,
    { cause: error },
  );
}

async function openFresh(ground: Ground, directory: string, settings: Settings, forget: () => void): Promise<Store> {
  const places = new Places(directory);
  const lock = await ground.lock(places.hidden, { takeover: settings.takeover });
  try {
    const onDamage = settings.onDamage === 'salvage' ? 'salvage' : 'refuse';
    const { plan, replica } = planOpening({ disk: ground.disk, places, owner: lock.owner, onDamage, now: Date.now });
    // Lock files were lost, by a power cut or by hand: a tail of a lower owner than an earlier one would not count.
    if (lock.owner <= plan.ownerMax) lock.raise(plan.ownerMax);
    const release = async () => {
      try {
        await lock.release();
      } finally {
        forget();
      }
    };
    return await run(ground, directory, settings, lock.owner, plan, replica, release);
  } catch (error) {
    await lock.release();
    throw error;
  }
}

async function run(
  ground: Ground,
  directory: string,
  settings: Settings,
  owner: number,
  plan: Plan,
  replica: Replica,
  release: () => Promise<void>,
): Promise<Store> {
  const thread = ground.journal(settings.workersUrl);
  let store: Store | null = null;
  const { syncDelayMs } = settings;
  const channel = new Channel({ directory, owner, plan, syncDelayMs }, thread, (report) => store?.onReport(report));
  const notes = await channel.open();
  try {
    store = new Store({ ground, directory, settings, channel, replica, plan, owner, release });
  } catch (error) {
    channel.abandon();
    throw error;
  }
  store.noteRecovery(notes);
  return store;
}
