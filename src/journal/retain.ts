// What may be deleted: whatever precedes the older of two bases that were just read back whole.

import type { Disk } from '../disk/disk.js';
import { readBase } from './base.js';
import type { Places } from './places.js';
import { survey, type TruthFile } from './survey.js';

/** Decides only. `isSound` is asked from the newest base down until two are known to be good. */
export function planRetention(files: readonly TruthFile[], isSound: (base: TruthFile) => boolean): TruthFile[] {
  const bases = files.filter(({ kind, header }) => kind === 'base' && header !== null);
  bases.sort((a, b) => (b.header?.prevSeq ?? 0) - (a.header?.prevSeq ?? 0));
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
  const oldBases = files.filter(
    (file) => file.kind === 'base' && !sound.includes(file) && (file.header?.prevSeq ?? 0) < prevSeq,
  );
  return [...oldBases, ...dead];
}

export function retain(disk: Disk, places: Places): string[] {
  const isSound = ({ path }: TruthFile) => readBase(disk, path).problem === null;
  const dead = planRetention(survey(disk, places), isSound);
  for (const { path } of dead) disk.unlink(path);
  return dead.map(({ name }) => name);
}
