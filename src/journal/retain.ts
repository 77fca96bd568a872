// What may be deleted: whatever precedes the older of two bases that were just read back whole.

import type { Disk } from '../disk/disk.js';
import { readBase } from './base.js';
import { sweepSegments } from './move-entries.js';
import type { Places } from './places.js';
import { splitFenced, survey, type TruthFile } from './survey.js';

/** Decides only, oldest first. `isSound` is asked from the newest base down until two are known to be good. */
function planRetention(files: readonly TruthFile[], isSound: (base: TruthFile) => boolean): TruthFile[] {
  const bases = files.filter(({ kind, header }) => kind === 'base' && header !== null);
  bases.sort((a, b) => (b.header?.prevSeq ?? 0) - (a.header?.prevSeq ?? 0) || b.number - a.number);
  const sound: TruthFile[] = [];
  for (const base of bases) if (sound.length < 2 && isSound(base)) sound.push(base);
  const older = sound[1];
  if (older === undefined || older.header === null) return [];
  const { prevSeq } = older.header;
  const tails = files.filter(({ kind }) => kind === 'tail');
  const dead = tails.filter((_, index) => {
    const next = tails.slice(index + 1).find(({ header }) => header !== null);
    // The next tail holds everything beyond its own `prevSeq`; this one is needed only up to there.
    return next?.header !== undefined && next.header !== null && next.header.prevSeq <= prevSeq;
  });
  const oldBases = bases.slice(bases.indexOf(older) + 1);
  return [...oldBases, ...dead].sort((a, b) => a.number - b.number);
}

export function retain(disk: Disk, places: Places): string[] {
  const logs = new Set<string>();
  const isSound = ({ path }: TruthFile) => {
    const { problem, replica } = readBase(disk, places, path);
    if (problem !== null) return false;
    for (const key of replica.logs.keys()) logs.add(key);
    return true;
  };
  const { files } = splitFenced(survey(disk, places));
  const dead = planRetention(files, isSound);
  for (const { path } of dead) {
    // Before each: the tail that makes this one superfluous must be there for good, and so must the end of the one
    // before: a tail must not outlive the later one that says what of it is void.
    disk.syncDirectory(places.hidden);
    disk.unlink(path);
  }
  const storeId = files.find(({ header }) => header !== null)?.header?.storeId;
  if (storeId !== undefined) sweepSegments(disk, places, storeId, logs);
  return dead.map(({ name }) => name);
}
