// Compaction, as far as logs go: before a base may say how long a log is, its entries are in files of its own.
//
// V1. Files first, then the base, and only then may tails go. Stopped in between, the files are found by their names and
//     nothing is moved twice: the next compaction begins where they end.
// V2. A small file is not added to: its entries are taken over into the next one. It goes when the base is there.
// V3. As long as tails hold the entries of a file too, the file is read whole at every compaction. One that has rotted is
//     not counted: its entries are moved once more. So it is known to be sound when the tails go.

import { basename } from 'node:path';
import type { Disk } from '../disk/disk.js';
import { withFile } from '../disk/files.js';
import { publish } from '../disk/publish.js';
import { HoldfastError } from '../errors.js';
import { Shelf } from '../projection/shelf.js';
import type { Link } from './chain.js';
import { coverageOf } from './coverage.js';
import { EntrySource } from './entries.js';
import type { LogExtent, Range } from './log-key.js';
import { makeIfMissing, type Places } from './places.js';
import {
  hashOf,
  namedSegments,
  type SegmentName,
  segmentChunks,
  segmentPath,
  segmentProblem,
  soundSegments,
} from './segment.js';

/** Smaller ones are taken over into the next: a program that is started often must not collect files. */
const SMALL_BYTES = 1024 * 1024;

export interface Move {
  storeId: Buffer;
  owner: number;
  /** That of the base to come: never used twice, so that no name is taken. */
  number: number;
  /** The commit at which the logs are as long as they are given here. Durable. */
  at: Link;
  timeMs: number;
  logs: ReadonlyMap<string, LogExtent>;
}

/** When this returns, every entry of these logs is in a file that survives a power cut. */
export function moveEntries(disk: Disk, places: Places, move: Move): void {
  if (move.logs.size === 0) return;
  const shelf = new Shelf(disk, places, move.storeId);
  shelf.refresh();
  const { beforeTails } = shelf;
  for (const [key, { count, lost }] of move.logs) {
    const segments = soundSegments(disk, places, move.storeId, key);
    // V3.
    const trusted = segments.filter((segment) => segment.header.prevSeq <= beforeTails || isWhole(disk, key, segment));
    const { end, last } = coverageOf(trusted, lost);
    if (end >= count) continue;
    const isTakenOver = last !== null && last.to === end && last.bytes < SMALL_BYTES && isWhole(disk, key, last);
    const small = isTakenOver ? last : null;
    const from = small?.from ?? end;
    const source = new EntrySource(disk, places, move.storeId, key);
    writeSegment(disk, places, { ...move, key, from, to: count }, linesFrom(source, from, count, lost));
  }
}

export function writeSegment(
  disk: Disk,
  places: Places,
  plan: Omit<Move, 'logs'> & { key: string; from: number; to: number },
  lines: Iterable<Buffer>,
): void {
  const { key, from, to, number } = plan;
  const path = segmentPath(places, key, from, to, number);
  const named: SegmentName = { path, name: basename(path), hash: hashOf(key), from, to, number };
  makeIfMissing(disk, places.logs);
  // Also when it was there: whoever made it may have been killed before its name was on the medium.
  disk.syncDirectory(places.hidden);
  const handle = publish(disk, {
    temp: places.temp(named.name),
    path,
    directory: places.logs,
    chunks: segmentChunks(plan, lines),
    verify: (file) => {
      const problem = segmentProblem(disk, file, key, named);
      if (problem !== null) throw new HoldfastError('HF_IO', `${path} does not read back: ${problem}.`);
    },
  });
  disk.close(handle);
}

function* linesFrom(source: EntrySource, from: number, count: number, lost: readonly Range[]): Generator<Buffer> {
  for (let at = from; at < count; ) {
    const portion = source.next(at, count, lost);
    if (portion.to > portion.from) yield portion.lines();
    at = portion.to;
  }
}

function isWhole(disk: Disk, key: string, segment: SegmentName): boolean {
  return withFile(disk, segment.path, (handle) => segmentProblem(disk, handle, key, segment) === null);
}

/** Deletes files all of whose entries are in another one. To be called when a base counts on that one. */
export function sweepSegments(disk: Disk, places: Places, storeId: Buffer, logs: Iterable<string>): string[] {
  const deleted: string[] = [];
  for (const key of logs) {
    const sound = soundSegments(disk, places, storeId, key);
    for (const segment of namedSegments(disk, places, key)) {
      const holder = sound.find((other) => other.name !== segment.name && holds(other, segment));
      if (holder === undefined || !isWhole(disk, key, holder)) continue;
      disk.unlink(segment.path);
      sound.splice(0, sound.length, ...sound.filter(({ name }) => name !== segment.name));
      deleted.push(segment.name);
    }
  }
  return deleted;
}

function holds(other: SegmentName, segment: SegmentName): boolean {
  return other.from <= segment.from && other.to >= segment.to;
}
