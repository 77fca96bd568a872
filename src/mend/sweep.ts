// What a store keeps for people and no longer needs: quarantine, and what a kill left in the temporary folder.
//
// Never on a store that is damaged: what is in quarantine may be the last copy of something. And only with the lock: a
// running writer's temps are not leftovers.

import { join } from 'node:path';
import { isCode } from '../disk/faults.js';
import { acquireLock } from '../disk/lock.js';
import { nodeDisk } from '../disk/node-disk.js';
import { soundAt } from '../inspect/stored.js';
import { Places } from '../journal/places.js';
import { homeOf } from './home.js';
import type { MendOptions } from './writing.js';

export interface Waste {
  kind: 'quarantine' | 'temporary';
  path: string;
  bytes: number;
  /** When it was put there. */
  since: Date;
}

/** Everything that `sweep` would remove, oldest first. HF_DAMAGED when the store is: repair it first. */
export async function planSweep(path: string): Promise<Waste[]> {
  const home = homeOf(path);
  await soundAt(home);
  return wasteIn(new Places(home));
}

/** Removes what is on the list and still there. Returns what was removed. */
export async function sweep(
  path: string,
  waste: readonly Waste[],
  { takeover = false }: MendOptions = {},
): Promise<Waste[]> {
  const home = homeOf(path);
  const places = new Places(home);
  const lock = await acquireLock(places.hidden, { takeover });
  try {
    await soundAt(home);
    const chosen = new Set(waste.map((one) => one.path));
    const found = wasteIn(places).filter((one) => chosen.has(one.path));
    for (const one of found) nodeDisk.unlink(one.path);
    if (found.length > 0) for (const folder of foldersOf(places)) nodeDisk.syncDirectory(folder);
    return found;
  } finally {
    await lock.release();
  }
}

function wasteIn(places: Places): Waste[] {
  const quarantined = filesIn(places.quarantine).map((file) => ({ kind: 'quarantine' as const, ...file }));
  const temporary = filesIn(places.tmp).map((file) => ({ kind: 'temporary' as const, ...file }));
  return [...quarantined, ...temporary];
}

function foldersOf({ quarantine, tmp }: Places): string[] {
  return [quarantine, tmp].filter((folder) => nodeDisk.entry(folder) !== null);
}

function filesIn(folder: string): { path: string; bytes: number; since: Date }[] {
  return listed(folder).flatMap((name) => {
    const path = join(folder, name);
    const entry = nodeDisk.entry(path);
    // A writer's temp got its name in between.
    if (entry === null) return [];
    return [{ path, bytes: entry.size, since: new Date(entry.mtimeMs) }];
  });
}

function listed(folder: string): string[] {
  try {
    return nodeDisk.list(folder).sort();
  } catch (error) {
    if (!isCode(error, 'ENOENT')) throw error;
    return [];
  }
}
