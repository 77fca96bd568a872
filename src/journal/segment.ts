// A log's own files. Each holds a run of entries, is written whole under a name that nobody else takes, and never
// changes: a crash leaves no torn end, and a process that lost the store while it was stalled cannot write into a file of
// its successor. A file header, frames of entries (JSON text, one line each), an end frame.
//
// G1. Only entries of durable commits get here, so every owner would write the same entry at the same index. Files that
//     overlap agree, and any of them will do.
// G2. The name says which entries; header and end repeat it. A file whose header and end are sound is relied on at
//     open; every byte of it is checked when it is written and when it is read.

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Disk, Handle } from '../disk/disk.js';
import { isCode } from '../disk/faults.js';
import { readAt, withFile } from '../disk/files.js';
import type { Link } from './chain.js';
import { encodeFileHeader, type FileHeader, readFileHeader } from './file-header.js';
import { decodeFrame, encodeFrame, type Frame, frameCrc } from './frame.js';
import {
  CODEC_LINES,
  CODEC_NONE,
  FILE_ENTRIES,
  FILE_HEADER_BYTES,
  FRAME_BYTES_MIN,
  KIND_END,
  KIND_ENTRIES,
  readU64,
  writeU64,
} from './layout.js';
import { countLines, lineEnd } from './line-text.js';
import type { Places } from './places.js';
import { scan } from './scan.js';

export interface SegmentName {
  path: string;
  name: string;
  /** Of the log's name. */
  hash: string;
  from: number;
  to: number;
  number: number;
}

export interface Segment extends SegmentName {
  header: FileHeader;
  bytes: number;
}

/** What a reader reads at least when it wants one entry, and what it can skip by reading a header. */
const FRAME_LINES_BYTES = 64 * 1024;
const WINDOW_BYTES = 1024 * 1024;
const COUNT_BYTES = 8;
const END_BYTES = FRAME_BYTES_MIN + COUNT_BYTES;
const NAME = /^([0-9a-f]{32})-(\d{1,16})-(\d{1,16})-(\d{10})\.entries$/;

/** Log names are as long as paths may be, and equal on some disks when they differ by case: neither holds for this. */
export function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 32);
}

export function segmentPath(places: Places, key: string, from: number, to: number, number: number): string {
  return join(places.logs, `${hashOf(key)}-${from}-${to}-${String(number).padStart(10, '0')}.entries`);
}

/** By their names alone, in order of their first entries. Without a key, those of all logs. */
export function namedSegments(disk: Disk, places: Places, key?: string): SegmentName[] {
  const hash = key === undefined ? null : hashOf(key);
  const found: SegmentName[] = [];
  for (const name of listLogs(disk, places)) {
    const match = NAME.exec(name);
    const [, owner = ''] = match ?? [];
    if (match === null || (hash !== null && owner !== hash)) continue;
    const [from, to, number] = match.slice(2).map(Number) as [number, number, number];
    found.push({ path: join(places.logs, name), name, hash: owner, from, to, number });
  }
  return found.sort((a, b) => a.from - b.from || a.to - b.to || a.number - b.number);
}

function listLogs(disk: Disk, places: Places): string[] {
  try {
    return disk.list(places.logs);
  } catch (error) {
    // Made with the first file in it.
    if (isCode(error, 'ENOENT')) return [];
    throw error;
  }
}

/** Those whose headers and ends are sound and of this store. Costs three calls for each. */
export function soundSegments(disk: Disk, places: Places, storeId: Buffer, key?: string): Segment[] {
  return namedSegments(disk, places, key).flatMap((named) => {
    const segment = look(disk, named);
    return segment === null || !segment.header.storeId.equals(storeId) ? [] : [segment];
  });
}

function look(disk: Disk, named: SegmentName): Segment | null {
  try {
    return withFile(disk, named.path, (handle) => {
      const header = readSegmentHeader(disk, handle, named);
      const bytes = disk.size(handle);
      if (header === null || bytes < FILE_HEADER_BYTES + END_BYTES) return null;
      const end = decodeFrame(readAt(disk, handle, bytes - END_BYTES, END_BYTES));
      if (end.kind !== 'frame' || end.frame.header.kind !== KIND_END) return null;
      return end.frame.header.seq === named.to ? { ...named, header, bytes } : null;
    });
  } catch (error) {
    // Deleted since it was listed: one that holds more has taken its place.
    if (isCode(error, 'ENOENT')) return null;
    throw error;
  }
}

/** Null when it is not the header of a file with this name. */
export function readSegmentHeader(
  disk: Disk,
  handle: Handle,
  { path, from, to, number }: SegmentName,
): FileHeader | null {
  const header = readFileHeader(disk, handle, path);
  if (header === null || header.kind !== FILE_ENTRIES || header.number !== number) return null;
  return header.firstSeq === from && header.pinned === to ? header : null;
}

export interface SegmentPlan {
  storeId: Buffer;
  owner: number;
  number: number;
  key: string;
  from: number;
  to: number;
  /** The durable commit at which the log was `to` entries long. */
  at: Link;
  timeMs: number;
}

/** `lines`: all of them, in order, in whatever portions; each ends with a newline. */
export function* segmentChunks(plan: SegmentPlan, lines: Iterable<Buffer>): Generator<Buffer> {
  const { storeId, owner, number, key, from, to, at, timeMs } = plan;
  const { seq: prevSeq, crc } = at;
  yield encodeFileHeader({
    kind: FILE_ENTRIES,
    storeId,
    owner,
    number,
    firstSeq: from,
    prevSeq,
    prevCrc: crc,
    pinned: to,
  });
  let prevCrc = crc;
  let index = from;
  let frames = 0;
  for (const { bytes, count } of portions(lines)) {
    const documents = [{ name: key, from: index, version: index + count }];
    // The index is in the part that verifies alone, so that a reader can skip a frame for the price of 60 bytes.
    const header = {
      kind: KIND_ENTRIES,
      codec: CODEC_LINES,
      seq: index,
      timeMs,
      prevCrc,
      durableSeq: prevSeq,
      documents,
    };
    const frame = encodeFrame(header, bytes);
    index += count;
    frames++;
    prevCrc = frameCrc(frame);
    yield frame;
  }
  const total = Buffer.alloc(COUNT_BYTES);
  writeU64(total, frames, 0);
  const end = { kind: KIND_END, codec: CODEC_NONE, seq: to, timeMs, prevCrc, durableSeq: prevSeq, documents: [] };
  yield encodeFrame(end, total);
}

function* portions(lines: Iterable<Buffer>): Generator<{ bytes: Buffer; count: number }> {
  let held: Buffer[] = [];
  let size = 0;
  const take = () => {
    const bytes = Buffer.concat(held);
    held = [];
    size = 0;
    return { bytes, count: countLines(bytes) };
  };
  for (const part of lines) {
    for (let at = 0; at < part.length; ) {
      const end = lineEnd(part, at + Math.max(0, FRAME_LINES_BYTES - size - 1));
      held.push(part.subarray(at, end));
      size += end - at;
      at = end;
      if (size >= FRAME_LINES_BYTES) yield take();
    }
  }
  if (size > 0) yield take();
}

/** Null when every byte is as it was written, and it holds what its plan says. */
export function segmentProblem(disk: Disk, handle: Handle, key: string, named: SegmentName): string | null {
  const header = readSegmentHeader(disk, handle, named);
  if (header === null) return 'its header is damaged';
  let prevCrc = header.prevCrc;
  let index = named.from;
  let frames = 0;
  let end = -1;
  for (const found of scan(disk, handle, FILE_HEADER_BYTES, WINDOW_BYTES)) {
    if (found.kind === 'bad') return `it is damaged at byte ${found.offset}`;
    const { frame, offset } = found;
    if (frame.header.prevCrc !== prevCrc) return `a frame is missing before byte ${offset}`;
    prevCrc = frame.crc;
    if (frame.header.kind === KIND_END) {
      const isWhole = frame.payload.length === COUNT_BYTES && readU64(frame.payload, 0) === frames;
      end = isWhole && index === named.to ? offset + frame.bytes.length : -1;
      continue;
    }
    if (entriesFrameAt(frame, key) !== index) return `the frame at byte ${offset} does not fit`;
    index += countLines(frame.payload);
    frames++;
  }
  return end === disk.size(handle) ? null : 'its end does not fit';
}

/** The index of its first entry; -1 for a frame that is none of this log's, or holds another number of lines. */
export function entriesFrameAt({ header, payload }: Frame, key: string): number {
  const { kind, codec, seq, documents } = header;
  const [entry] = documents;
  if (kind !== KIND_ENTRIES || codec !== CODEC_LINES || entry?.name !== key || entry.from !== seq) return -1;
  return entry.version - entry.from === countLines(payload) ? seq : -1;
}

export type Peeked = { kind: 'frame'; isEnd: boolean; index: number; length: number } | { kind: 'bad' };

/** What stands at this offset, at the price of 60 bytes. */
export function peek(disk: Disk, handle: Handle, offset: number): Peeked {
  const decoded = decodeFrame(readAt(disk, handle, offset, FRAME_BYTES_MIN));
  if (decoded.kind === 'none') return { kind: 'bad' };
  const header = decoded.kind === 'frame' ? decoded.frame.header : decoded.header;
  const length = decoded.kind === 'frame' ? decoded.frame.bytes.length : decoded.length;
  if (header.kind !== KIND_ENTRIES && header.kind !== KIND_END) return { kind: 'bad' };
  return { kind: 'frame', isEnd: header.kind === KIND_END, index: header.seq, length };
}
