// The log that a mission is: opened, also when its lines are there and its truth is not.

import { readdirSync, renameSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { HoldfastError } from '../errors.js';
import type { Log } from '../log.js';
import type { Store } from '../store.js';
import { eventSchema, type MissionEvent } from './events.js';

const LOST = '.jsonl.lost-';

/** Lines of a history that the store knows nothing of are kept aside: they are a copy, and there is nothing to hold them to. */
export async function openHistory(store: Store, name: string): Promise<Log<MissionEvent>> {
  try {
    return (await store.log(name, { schema: eventSchema })) as Log<MissionEvent>;
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== 'HF_EXISTS') throw error;
    renameSync(join(store.directory, `${name}.jsonl`), join(store.directory, `${name}${LOST}${Date.now()}`));
    return (await store.log(name, { schema: eventSchema })) as Log<MissionEvent>;
  }
}

/** Lines of such a history were found, now or earlier. */
export function hasLostHistory({ directory }: Store, name: string): boolean {
  const path = join(directory, `${name}${LOST}`);
  return listIfThere(dirname(path)).some((file) => file.startsWith(basename(path)));
}

function listIfThere(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
