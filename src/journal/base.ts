// A base: the whole store at one sequence, in the same frames as a tail. Large documents are split over many frames of
// about a mebibyte, so that neither writing nor reading one needs memory in proportion to it.

import { OP_PUT, OP_TAIL, OP_TEXT, OP_WHOLE, type Op, type WirePath } from '../change/ops.js';
import { type Container, isContainer } from '../change/plain.js';
import type { Disk } from '../disk/disk.js';
import { readWhole } from '../disk/files.js';
import { publish } from '../disk/publish.js';
import { HoldfastError } from '../errors.js';
import { decodeFileHeader, encodeFileHeader, type FileHeader } from './file-header.js';
import { encodeFrame, frameCrc } from './frame.js';
import type { Link } from './journal.js';
import { CODEC_NONE, FILE_BASE, FILE_HEADER_BYTES, KIND_BASE, KIND_END, writeU64 } from './layout.js';
import { encodePayload } from './payload.js';
import { type Places, truthName } from './places.js';
import { Replica, type ReplicaDocument } from './replica.js';
import { scan } from './scan.js';

const CHUNK_BYTES = 1024 * 1024;

export interface BasePlan {
  storeId: Buffer;
  owner: number;
  number: number;
  /** The commit whose state this is. */
  at: Link;
  /** The newest tail, which must still be there whenever this base is read; 0 when none is needed. */
  tailNumber: number;
  timeMs: number;
  documents: ReadonlyMap<string, ReplicaDocument>;
}

/** Writes, reads back and publishes a base. When this returns it may be relied on. */
export function writeBase(disk: Disk, places: Places, plan: BasePlan): void {
  const path = places.truth(plan.number, 'base');
  const handle = publish(disk, {
    temp: places.temp(truthName(plan.number, 'base')),
    path,
    directory: places.hidden,
    chunks: baseChunks(plan),
    verify: (bytes) => {
      const problem = decodeBase(bytes, path).problem;
      if (problem !== null) throw new HoldfastError('HF_IO', `${path} does not read back: ${problem}.`);
    },
  });
  disk.close(handle);
}

function* baseChunks({ storeId, owner, number, at, tailNumber, timeMs, documents }: BasePlan): Generator<Buffer> {
  const { seq, crc } = at;
  const kind = FILE_BASE;
  yield encodeFileHeader({
    kind,
    storeId,
    owner,
    number,
    firstSeq: seq,
    prevSeq: seq,
    prevCrc: crc,
    pinned: tailNumber,
  });
  let prevCrc = crc;
  let count = 0;
  for (const [name, { state, version }] of documents) {
    for (const ops of split(state)) {
      const { codec, bytes } = encodePayload([ops], true);
      const entry = { name, from: version, version };
      const frame = encodeFrame(
        { kind: KIND_BASE, codec, seq, timeMs, prevCrc, durableSeq: seq, documents: [entry] },
        bytes,
      );
      prevCrc = frameCrc(frame);
      count++;
      yield frame;
    }
  }
  const total = Buffer.alloc(8);
  writeU64(total, count, 0);
  yield encodeFrame({ kind: KIND_END, codec: CODEC_NONE, seq, timeMs, prevCrc, durableSeq: seq, documents: [] }, total);
}

export interface BaseContents {
  header: FileHeader | null;
  replica: Replica;
  /** Null when every byte is as it was written. */
  problem: string | null;
}

export function readBase(disk: Disk, path: string): BaseContents {
  return decodeBase(readWhole(disk, path), path);
}

function decodeBase(bytes: Buffer, path: string): BaseContents {
  const replica = new Replica();
  const header = decodeFileHeader(bytes, path);
  if (header === null) return { header, replica, problem: 'its header is damaged' };
  let prevCrc = header.prevCrc;
  let count = 0;
  for (const found of scan(bytes, FILE_HEADER_BYTES)) {
    if (found.kind === 'bad') return { header, replica, problem: `it is damaged at byte ${found.offset}` };
    const { header: frame, payload, crc, bytes: whole } = found.frame;
    if (frame.prevCrc !== prevCrc)
      return { header, replica, problem: `a frame is missing before byte ${found.offset}` };
    prevCrc = crc;
    if (frame.kind === KIND_END) {
      const isWhole = payload.length === 8 && payload.readUInt32LE(0) === count;
      const isLast = found.offset + whole.length === bytes.length;
      return { header, replica, problem: isWhole && isLast ? null : 'its end does not fit' };
    }
    replica.applyBase(found.frame);
    count++;
  }
  return { header, replica, problem: 'its end is missing' };
}

/** Lists of ops, each about a chunk, that build this state from nothing. */
function* split(state: Container): Generator<Op[]> {
  if (costOf(state, CHUNK_BYTES) <= CHUNK_BYTES) {
    yield [[OP_WHOLE, state]];
    return;
  }
  yield [[OP_WHOLE, Array.isArray(state) ? [] : {}]];
  yield* splitContainer(state, []);
}

function* splitContainer(value: Container, path: WirePath): Generator<Op[]> {
  if (Array.isArray(value)) yield* splitArray(value, path);
  else yield* splitObject(value, path);
}

function* splitObject(value: Record<string, unknown>, path: WirePath): Generator<Op[]> {
  let op: Op = [OP_PUT, path];
  let cost = 0;
  for (const key of Object.keys(value)) {
    const item = value[key];
    const itemCost = key.length + costOf(item, CHUNK_BYTES);
    const isLarge = itemCost > CHUNK_BYTES;
    op.push(key, isLarge ? hollow(item) : item);
    cost += isLarge ? 0 : itemCost;
    if (!isLarge && cost < CHUNK_BYTES) continue;
    yield [op];
    op = [OP_PUT, path];
    cost = 0;
    if (isLarge) yield* splitLarge(item, [...path, key]);
  }
  if (op.length > 2) yield [op];
}

function* splitArray(items: unknown[], path: WirePath): Generator<Op[]> {
  let run: unknown[] = [];
  let cost = 0;
  for (let index = 0; index < items.length; index++) {
    const item = items[index];
    const itemCost = costOf(item, CHUNK_BYTES);
    const isLarge = itemCost > CHUNK_BYTES;
    run.push(isLarge ? hollow(item) : item);
    cost += isLarge ? 0 : itemCost;
    if (!isLarge && cost < CHUNK_BYTES) continue;
    yield [[OP_TAIL, path, index + 1 - run.length, run]];
    run = [];
    cost = 0;
    if (isLarge) yield* splitLarge(item, [...path, index]);
  }
  if (run.length > 0) yield [[OP_TAIL, path, items.length - run.length, run]];
}

function* splitLarge(value: unknown, path: WirePath): Generator<Op[]> {
  if (isContainer(value)) {
    yield* splitContainer(value, path);
    return;
  }
  const text = value as string;
  for (let from = 0; from < text.length; from += CHUNK_BYTES) {
    yield [[OP_TEXT, path, from, text.slice(from, from + CHUNK_BYTES)]];
  }
}

/** What stands in for a large value until its parts follow. */
function hollow(value: unknown): unknown {
  if (!isContainer(value)) return '';
  return Array.isArray(value) ? [] : {};
}

/** About the bytes a value takes; stops counting beyond `limit`. */
function costOf(value: unknown, limit: number): number {
  if (typeof value === 'string') return value.length + 3;
  if (!isContainer(value)) return 9;
  let cost = 3;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && cost <= limit; index++) cost += costOf(value[index], limit - cost);
    return cost;
  }
  for (const key in value) {
    cost += key.length + 3 + costOf(value[key], limit - cost);
    if (cost > limit) break;
  }
  return cost;
}
