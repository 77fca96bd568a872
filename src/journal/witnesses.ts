// W, the high-water mark: the highest sequence that anything readable says was durable.

import type { Disk } from '../disk/disk.js';
import { durableWitness } from '../projection/record.js';
import { basesIn } from './choose-base.js';
import type { FrameHeader } from './frame.js';
import type { HighWater } from './high-water.js';
import type { Places } from './places.js';
import { soundSegments } from './segment.js';
import { isVoid, type TailContents, type TruthFile } from './survey.js';

export interface Witnesses {
  highWater: HighWater | null;
  /** Of the base that was chosen, and of the record of what was published. */
  knownSeq: number;
  /** Of entries that have files of their own. */
  movedSeq: number;
  files: readonly TruthFile[];
  tails: readonly TailContents[];
}

export function markSeqOf({ highWater, knownSeq, movedSeq, files, tails }: Witnesses): number {
  let mark = Math.max(knownSeq, highWater?.seq ?? 0);
  // A base is written only once its last commit is durable: its header says so even when the rest of it has rotted.
  for (const { header } of basesIn(files)) mark = Math.max(mark, header?.prevSeq ?? 0);
  mark = Math.max(mark, movedSeq);
  for (const { file, frames, rotten } of tails) {
    // Everything a tail takes over was synced in it before it got its name.
    mark = Math.max(mark, file.header?.prevSeq ?? 0, file.header?.pinned ?? 0);
    const witness = (header: FrameHeader) => {
      if (!isVoid(tails, header.seq, file.number)) mark = Math.max(mark, header.durableSeq);
    };
    for (const { frame } of frames) witness(frame.header);
    rotten.forEach(witness);
  }
  return mark;
}

/** A file was published at this sequence, so it was durable. */
export function publishedSeq(disk: Disk, places: Places, storeId: Buffer | null): number {
  return storeId === null ? 0 : durableWitness(disk, places, storeId);
}

/** Only entries of durable commits get into a file of their own. If their commits could be cut, others would take their indices. */
export function movedSeq(disk: Disk, places: Places, storeId: Buffer | null): number {
  if (storeId === null) return 0;
  return soundSegments(disk, places, storeId).reduce((seq, { header }) => Math.max(seq, header.prevSeq), 0);
}
