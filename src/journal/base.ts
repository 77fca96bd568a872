// A base: the whole store at one sequence, in the same frames as a tail. Large documents are split over many frames of
// about a mebibyte, so that neither writing nor reading one needs memory in proportion to it.

import { Misfit } from '../change/apply.js';
import {
  OP_ADOPTED,
  OP_CHECKED,
  OP_LOG,
  OP_PUT,
  OP_SCHEMA,
  OP_TAIL,
  OP_TEXT,
  OP_WHOLE,
  type Op,
  type WirePath,
} from '../change/ops.js';
import { type Container, isContainer } from '../change/plain.js';
import type { Disk, Handle } from '../disk/disk.js';
import { withFile } from '../disk/files.js';
import { publish } from '../disk/publish.js';
import { HoldfastError } from '../errors.js';
import type { Link } from './chain.js';
import { coverageProblem } from './coverage.js';
import { encodeFileHeader, type FileHeader, readFileHeader } from './file-header.js';
import { encodeFrame, type Frame, type FrameDocument, frameCrc } from './frame.js';
import { CODEC_NONE, FILE_BASE, FILE_HEADER_BYTES, KIND_BASE, KIND_END, readU64, writeU64 } from './layout.js';
import type { LogExtent } from './log-key.js';
import { encodePayload } from './payload.js';
import { type Places, truthName } from './places.js';
import { Replica, type ReplicaDocument } from './replica.js';
import { scanInPlace } from './scan.js';

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
  /** Their entries are in files of their own (move-entries.ts). */
  logs: ReadonlyMap<string, LogExtent>;
}

/** Writes, reads back and publishes a base. When this returns it may be relied on. */
export function writeBase(disk: Disk, places: Places, plan: BasePlan): void {
  const path = places.truth(plan.number, 'base');
  const handle = publish(disk, {
    temp: places.temp(truthName(plan.number, 'base')),
    path,
    directory: places.hidden,
    chunks: baseChunks(plan),
    verify: (file) => {
      const { problem } = decodeBase(disk, places, file, path);
      if (problem !== null) throw new HoldfastError('HF_IO', `${path} does not read back: ${problem}.`);
    },
  });
  disk.close(handle);
}

function* baseChunks({ storeId, owner, number, at, tailNumber, timeMs, documents, logs }: BasePlan): Generator<Buffer> {
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
  const part = (entry: FrameDocument, ops: Op[], mayBeOdd: boolean): Buffer => {
    const { codec, bytes } = encodePayload([ops], mayBeOdd);
    const header = { kind: KIND_BASE, codec, seq, timeMs, prevCrc, durableSeq: seq, documents: [entry] };
    const frame = encodeFrame(header, bytes);
    prevCrc = frameCrc(frame);
    count++;
    return frame;
  };
  for (const [name, { state, version, mayBeOdd, schemaVersion, adopted, checkedBy }] of documents) {
    let from = 0;
    for (const ops of split(state)) {
      // With the first part, and behind it: a list that begins with the whole state starts a document over.
      if (from === 0 && schemaVersion !== 1) ops.push([OP_SCHEMA, schemaVersion]);
      if (from === 0 && adopted !== undefined) ops.push([OP_ADOPTED, adopted]);
      if (from === 0 && checkedBy) ops.push([OP_CHECKED, checkedBy]);
      yield part({ name, from, version }, ops, mayBeOdd);
      from = version;
    }
  }
  for (const [name, { count: version, lost }] of logs) {
    const op: Op = [OP_LOG, ...lost.flatMap(({ from, to }) => [from, to])];
    yield part({ name, from: 0, version }, [op], false);
  }
  const total = Buffer.alloc(8);
  writeU64(total, count, 0);
  yield encodeFrame({ kind: KIND_END, codec: CODEC_NONE, seq, timeMs, prevCrc, durableSeq: seq, documents: [] }, total);
}

export interface BaseContents {
  header: FileHeader | null;
  /** The sequence whose state this is, from the header or else from the frames; 0 when neither can be read. */
  seq: number;
  /** The documents that are whole: all of them when there is no problem. */
  replica: Replica;
  /** Null when every byte is as it was written. */
  problem: string | null;
}

/** Sound only together with the files of the logs that it counts on. With `only`, nothing but that document is built. */
export function readBase(disk: Disk, places: Places, path: string, only?: string): BaseContents {
  return withFile(disk, path, (handle) => decodeBase(disk, places, handle, path, only));
}

function decodeBase(disk: Disk, places: Places, handle: Handle, path: string, only?: string): BaseContents {
  const header = readFileHeader(disk, handle, path);
  const reading = new BaseReading(header?.prevCrc ?? null, new Replica(only));
  if (header === null) reading.breakOff('its header is damaged');
  for (const found of scanInPlace(disk, handle, FILE_HEADER_BYTES)) {
    if (found.kind === 'bad') reading.breakOff(`it is damaged at byte ${found.offset}`);
    else reading.take(found.frame, found.offset);
  }
  const ownProblem = reading.end(disk.size(handle));
  const { logs } = reading.replica;
  const problem = ownProblem ?? (header === null ? null : coverageProblem(disk, places, header.storeId, logs));
  return { header, seq: header?.prevSeq ?? reading.seq, replica: reading.replica, problem };
}

class BaseReading {
  readonly replica: Replica;
  seq = 0;
  #problem: string | null = null;
  #prevCrc: number | null;
  #count = 0;
  /** The document whose frames may go on. */
  #current: string | null = null;
  #endOffset = -1;

  /** Null when it is not known what the first frame follows. */
  constructor(prevCrc: number | null, replica: Replica) {
    this.#prevCrc = prevCrc;
    this.replica = replica;
  }

  /** Something is wrong here. The document being read is given up: what is missing of it is not known. */
  breakOff(problem: string): void {
    this.#problem ??= problem;
    if (this.#current !== null) {
      this.replica.documents.delete(this.#current);
      this.replica.logs.delete(this.#current);
    }
    this.#current = null;
  }

  take(frame: Frame, offset: number): void {
    const { header, payload, crc, bytes } = frame;
    if (this.#prevCrc !== null && header.prevCrc !== this.#prevCrc)
      this.breakOff(`a frame is missing before byte ${offset}`);
    this.#prevCrc = crc;
    this.seq = header.seq;
    if (header.kind === KIND_END) {
      const isWhole = payload.length === 8 && readU64(payload, 0) === this.#count;
      if (!isWhole) this.#problem ??= 'its end does not fit';
      this.#current = null;
      this.#endOffset = offset + bytes.length;
      return;
    }
    this.#count++;
    this.#takeDocument(frame, offset);
  }

  #takeDocument(frame: Frame, offset: number): void {
    const [entry] = frame.header.documents;
    if (entry?.from === 0) this.#current = entry.name;
    if (entry === undefined || entry.name !== this.#current) {
      this.breakOff(`the beginning of a document is missing before byte ${offset}`);
      return;
    }
    try {
      this.replica.applyBase(frame);
    } catch (error) {
      if (!(error instanceof Misfit)) throw error;
      this.breakOff(`a frame at byte ${offset} does not fit: ${error.message}`);
    }
  }

  end(size: number): string | null {
    if (this.#endOffset === -1) this.breakOff('its end is missing');
    else if (this.#endOffset !== size) this.#problem ??= 'its end does not fit';
    return this.#problem;
  }
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
  for (let from = 0; from < text.length; ) {
    const end = pieceEnd(text, from + CHUNK_BYTES);
    yield [[OP_TEXT, path, from, text.slice(from, end)]];
    from = end;
  }
}

/** Not between the halves of a surrogate pair: each half alone would not survive msgpack. */
function pieceEnd(text: string, end: number): number {
  const unit = text.charCodeAt(end - 1);
  return end < text.length && unit >= 0xd800 && unit <= 0xdbff ? end - 1 : end;
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
