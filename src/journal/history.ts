// How much there is to read when the store is opened, from the names and sizes of its files alone.

import type { Disk } from '../disk/disk.js';
import { type Places, parseTruthName } from './places.js';

export interface History {
  /** Since the newest base. */
  tails: number;
  tailBytes: number;
  baseBytes: number;
}

export function measureHistory(disk: Disk, places: Places): History {
  const history: History = { tails: 0, tailBytes: 0, baseBytes: 0 };
  const files = disk.list(places.hidden).flatMap((name) => parseTruthName(name) ?? []);
  for (const { number, kind } of files.sort((a, b) => b.number - a.number)) {
    const bytes = disk.entry(places.truth(number, kind))?.size ?? 0;
    if (kind === 'base') return { ...history, baseBytes: bytes };
    history.tails++;
    history.tailBytes += bytes;
  }
  return history;
}
