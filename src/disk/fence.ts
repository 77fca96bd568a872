// Whether this process still owns a store, asked before anything is acknowledged: two looks at the directory.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { HoldfastError } from '../errors.js';
import { Places } from '../journal/places.js';

/** A claimant takes the next number; one that follows it removes ours. So both are looked at. */
export function fenceOf(directory: string, owner: number): () => void {
  const { hidden } = new Places(directory);
  const own = join(hidden, `lock.${owner}`);
  const next = join(hidden, `lock.${owner + 1}`);
  return () => {
    if (existsSync(own) && !existsSync(next)) return;
    throw new HoldfastError(
      'HF_FENCED',
      `Another process has taken over ${directory}. Nothing more is saved by this one; end it, or close the store and open it again.`,
    );
  };
}
