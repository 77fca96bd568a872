// The store, taken for one errand: opened like any program opens it, so that what the errand does is as safe as what
// programs do, and there is never a second writer. Its files are up to date when the errand is over.

import { Places } from '../journal/places.js';
import { openAt } from '../opening.js';
import { type StoreOptions, settle } from '../options.js';
import type { Store } from '../store.js';
import { watchKept } from './kept.js';

export interface MendOptions {
  /** Take the store from an owner that cannot be proved dead. @default false */
  takeover?: boolean;
  /** Where the built worker files are, when a bundler moved this module away from them. */
  workersUrl?: string | URL;
}

/** `kept`: what went to quarantine on the way. */
export async function withStore<R>(
  home: string,
  options: StoreOptions,
  errand: (store: Store, places: Places) => Promise<R>,
): Promise<R & { kept: string[] }> {
  const places = new Places(home);
  const keptNow = watchKept(places);
  const store = await openAt(home, settle(options));
  let result: R;
  try {
    result = await errand(store, places);
    await store.flush({ projected: true });
  } catch (error) {
    // What failed is what the caller wants to hear of. The lock goes with the process, if it does not go now.
    await store.close().catch(() => undefined);
    throw error;
  }
  await store.close();
  return { ...result, kept: keptNow() };
}
