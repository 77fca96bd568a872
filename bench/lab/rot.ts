// What a disk, a copy tool or a well-meaning hand does to one file at rest.

import { shuffled } from './lanes.js';

export type Change = { file: string } & (
  | { kind: 'bit'; at: number; bit: number }
  | { kind: 'zero'; at: number }
  | { kind: 'sector'; at: number }
  | { kind: 'cut'; length: number }
  | { kind: 'emptied' | 'deleted' | 'older' }
);

type Files = ReadonlyMap<string, Buffer>;

const SECTOR_BYTES = 512;
/** Of the bytes that are touched, this part lies before the zeros at the end of a file that has its room in advance. */
const USED_PART = 0.8;
/** What happens to whole files and sectors takes no more than this part of a sample. */
const COARSE_PART = 0.4;

/** All there are if they are no more than `size`; else whole files first, then sectors, and fine ones at random. */
export function changesOf(files: Files, older: Files, size: number, random: () => number): Change[] {
  const whole = [...files]
    .flatMap(([file, bytes]) => wholeChanges(file, bytes, older.get(file)))
    .filter(
      // Of a single file that would be the whole folder, and nobody could tell.
      ({ kind }) => !(kind === 'deleted' && files.size === 1) && !(kind === 'older' && files.size + older.size === 2),
    );
  const sectors = [...files].flatMap(([file, bytes]) => sectorChanges(file, bytes));
  const coarse = [...shuffled(whole, random), ...shuffled(sectors, random)];
  const fineTotal = [...files.values()].reduce((sum, bytes) => sum + fineCount(bytes), 0);
  if (coarse.length + fineTotal <= size)
    return [...coarse, ...[...files].flatMap(([file, bytes]) => fineChanges(file, bytes))];
  const chosen = coarse.slice(0, Math.ceil(size * COARSE_PART));
  return [...chosen, ...sampleFine(files, size - chosen.length, random)];
}

/** The file after it; null when it is gone. */
export function changed(change: Change, bytes: Buffer, older: Buffer | undefined): Buffer | null {
  const copy = Buffer.from(bytes);
  switch (change.kind) {
    case 'bit':
      copy[change.at] = (copy[change.at] ?? 0) ^ (1 << change.bit);
      return copy;
    case 'zero':
      return copy.fill(0, change.at, change.at + 1);
    case 'sector':
      return copy.fill(0, change.at, Math.min(change.at + SECTOR_BYTES, copy.length));
    case 'cut':
      return copy.subarray(0, change.length);
    case 'emptied':
      return Buffer.alloc(0);
    case 'deleted':
      return null;
    case 'older':
      return older ?? null;
    default:
      return change satisfies never;
  }
}

export function showChange(change: Change): string {
  const { file, kind, ...where } = change;
  return `${file}: ${kind}${Object.entries(where)
    .map(([name, value]) => ` ${name} ${value}`)
    .join('')}`;
}

function wholeChanges(file: string, bytes: Buffer, older: Buffer | undefined): Change[] {
  const changes: Change[] = [{ file, kind: 'deleted' }];
  if (bytes.length > 0) changes.push({ file, kind: 'emptied' });
  if (older !== undefined && !older.equals(bytes)) changes.push({ file, kind: 'older' });
  return changes;
}

function sectorChanges(file: string, bytes: Buffer): Change[] {
  const changes: Change[] = [];
  for (let at = 0; at < bytes.length; at += SECTOR_BYTES) {
    if (bytes.subarray(at, at + SECTOR_BYTES).some((byte) => byte !== 0)) changes.push({ file, kind: 'sector', at });
  }
  return changes;
}

/** At most: a byte that is zero already cannot be zeroed. */
function fineCount(bytes: Buffer): number {
  return bytes.length * 10;
}

function fineChanges(file: string, bytes: Buffer): Change[] {
  const changes: Change[] = [];
  for (const [at, byte] of bytes.entries()) {
    for (let bit = 0; bit < 8; bit++) changes.push({ file, kind: 'bit', at, bit });
    if (byte !== 0) changes.push({ file, kind: 'zero', at });
    if (at > 0) changes.push({ file, kind: 'cut', length: at });
  }
  return changes;
}

/** Every file has the same share, however long it is: a short one says as much. */
function sampleFine(files: Files, size: number, random: () => number): Change[] {
  const pick = (below: number) => Math.floor(random() * below);
  const targets = [...files]
    .filter(([, bytes]) => bytes.length > 0)
    .map(([file, bytes]) => ({ file, bytes, used: usedBytes(bytes) }));
  const chosen = new Map<string, Change>();
  for (let left = size * 4; left > 0 && chosen.size < size && targets.length > 0; left--) {
    const target = targets[pick(targets.length)];
    if (target === undefined) break;
    const { file, bytes, used } = target;
    const at = pick(random() < USED_PART ? used : bytes.length);
    const kind = random();
    const change: Change =
      kind < 0.6
        ? { file, kind: 'bit', at, bit: pick(8) }
        : kind < 0.8 && bytes[at] !== 0
          ? { file, kind: 'zero', at }
          : { file, kind: 'cut', length: at };
    chosen.set(showChange(change), change);
  }
  return [...chosen.values()];
}

function usedBytes(bytes: Buffer): number {
  let used = bytes.length;
  while (used > 1 && bytes[used - 1] === 0) used--;
  return used;
}
