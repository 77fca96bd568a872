// What is known of a log's JSON Lines, in memory and in the record, and what a torn end looks like.

import { logNameOf } from '../journal/log-key.js';
import type { Edition } from './record.js';
import { type Identity, keptName } from './target.js';

/** A file as far as it is known to be right. */
export interface KnownLines {
  count: number;
  size: number;
  crc: number;
  identity: Identity | null;
}

export const NOTHING: KnownLines = { count: 0, size: 0, crc: 0, identity: null };
const NEWLINE = 10;

/** CRC-32 and not SHA-256: it goes on from where it was, without the bytes before. */
export function checksum(crc: number): string {
  return crc.toString(16).padStart(8, '0');
}

export function fromEdition(edition: Edition | undefined): KnownLines | undefined {
  if (edition === undefined) return undefined;
  const { version: count, size, sha256, older } = edition;
  const [ino, mtimeMs] = older.map(Number);
  const identity = { ino: ino ?? 0, mtimeMs: mtimeMs ?? 0, size };
  return { count, size, crc: Number.parseInt(sha256, 16), identity };
}

/** The lines at the beginning of `lines` that `found` has too. */
export function wholeLines(lines: Buffer, found: Buffer): Buffer {
  const same = commonBytes(lines, found);
  return same === 0 ? lines.subarray(0, 0) : lines.subarray(0, lines.lastIndexOf(NEWLINE, same - 1) + 1);
}

/** True when `found` is the beginning of a line that was being written, and zeros where a power cut lost the rest. */
export function isTorn(lines: Buffer, found: Buffer): boolean {
  for (let at = commonBytes(lines, found); at < found.length; at++) if (found[at] !== 0) return false;
  return found.length <= lines.length;
}

function commonBytes(a: Buffer, b: Buffer): number {
  const most = Math.min(a.length, b.length);
  let same = 0;
  while (same < most && a[same] === b[same]) same++;
  return same;
}

export function keptLines(key: string): string {
  return keptName(logNameOf(key)).replace(/\.json$/, '.jsonl');
}
