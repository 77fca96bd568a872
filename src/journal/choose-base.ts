// The newest base that verifies whole. Rank is the sequence inside, not the name.

import type { Disk } from '../disk/disk.js';
import { type BaseContents, readBase } from './base.js';
import type { Places } from './places.js';
import { orRefuse } from './replica.js';
import type { TruthFile } from './survey.js';

export interface ChosenBase {
  base: BaseContents | null;
  /** Newer ones that do not count, and those that no header places. */
  damaged: TruthFile[];
  problems: string[];
}

export function chooseBase(disk: Disk, places: Places, files: readonly TruthFile[]): ChosenBase {
  const chosen: ChosenBase = { base: null, damaged: [], problems: [] };
  const bases = basesIn(files).sort((a, b) => (b.header?.prevSeq ?? -1) - (a.header?.prevSeq ?? -1));
  for (const file of bases) {
    if (file.header === null) {
      chosen.damaged.push(file);
      continue;
    }
    // Older ones are kept unread.
    if (chosen.base !== null) continue;
    const contents = orRefuse(file.name, () => readBase(disk, places, file.path));
    if (contents.problem === null) {
      chosen.base = contents;
      continue;
    }
    chosen.damaged.push(file);
    chosen.problems.push(`${file.name}: ${contents.problem}`);
  }
  return chosen;
}

export function basesIn(files: readonly TruthFile[]): TruthFile[] {
  return files.filter(({ kind }) => kind === 'base');
}
