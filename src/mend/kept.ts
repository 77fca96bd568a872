// What went to quarantine while something ran.

import { join } from 'node:path';
import { nodeDisk } from '../disk/node-disk.js';
import type { Places } from '../journal/places.js';

/** Returns how to ask for what is new there. Names begin with a running number: the newest come last. */
export function watchKept({ quarantine }: Places): () => string[] {
  const list = () => (nodeDisk.entry(quarantine) === null ? [] : nodeDisk.list(quarantine));
  const before = new Set(list());
  return () =>
    list()
      .filter((name) => !before.has(name))
      .sort()
      .map((name) => join(quarantine, name));
}
