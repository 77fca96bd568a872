// One frame: written once, verified alone, in three steps. When only the payload has rotted we can still say which
// documents lost which versions; when the document table has, still which commit it was.

import {
  CRC_BYTES,
  crc32,
  FORM_0,
  FORM_1,
  FRAME_BYTES_MIN,
  FRAME_FIXED_BYTES,
  FRAME_MAGIC,
  readU64,
  writeU64,
} from './layout.js';

export interface FrameDocument {
  name: string;
  /** The version this frame builds on; in a base, 0 where a document begins and its version where it goes on. */
  from: number;
  version: number;
}

export interface FrameHeader {
  kind: number;
  codec: number;
  seq: number;
  timeMs: number;
  prevCrc: number;
  durableSeq: number;
  documents: FrameDocument[];
}

export interface Frame {
  header: FrameHeader;
  payload: Buffer;
  crc: number;
  /** The frame as it is on disk. */
  bytes: Buffer;
}

export type Decoded =
  | { kind: 'frame'; frame: Frame }
  /** The fixed part verifies, so `length` can be trusted; the rest does not. */
  | { kind: 'rotten'; header: FrameHeader; length: number }
  /** The fixed part verifies; the frame goes on beyond the bytes that were given. */
  | { kind: 'longer'; header: FrameHeader; length: number }
  | { kind: 'none' };

const TABLE_START = FRAME_FIXED_BYTES + CRC_BYTES;
/** Per document, beside the bytes of its name. */
const ENTRY_BYTES = 18;
const FRAME_BYTES_MAX = 0xffff_ffff;
const AT_ONCE_BYTES_MAX = 64 * 1024;
const MAGIC = FRAME_MAGIC.readUInt32LE(0);

export function encodeFrame(header: FrameHeader, payload: Uint8Array): Buffer {
  const { documents } = header;
  let tableBytes = 0;
  for (const { name } of documents) tableBytes += ENTRY_BYTES + Buffer.byteLength(name);
  const tableEnd = TABLE_START + tableBytes;
  const length = tableEnd + CRC_BYTES + payload.length + CRC_BYTES;
  if (length > FRAME_BYTES_MAX) throw new RangeError(`A change of ${length} bytes does not fit into one frame`);
  const bytes = Buffer.allocUnsafe(length);
  writeFixed(bytes, header, tableBytes);
  const fixedCrc = crc32(bytes.subarray(0, FRAME_FIXED_BYTES));
  bytes.writeUInt32LE(fixedCrc, FRAME_FIXED_BYTES);
  let at = TABLE_START;
  for (const entry of documents) at = writeEntry(bytes, entry, at);
  const tableCrc = crc32(bytes.subarray(FRAME_FIXED_BYTES, tableEnd), fixedCrc);
  bytes.writeUInt32LE(tableCrc, tableEnd);
  bytes.set(payload, tableEnd + CRC_BYTES);
  const crc = crc32(bytes.subarray(tableEnd, length - CRC_BYTES), tableCrc);
  bytes.writeUInt32LE((crc ^ fixedCrc ^ tableCrc) >>> 0, length - CRC_BYTES);
  return bytes;
}

function writeFixed(bytes: Buffer, header: FrameHeader, tableBytes: number): void {
  FRAME_MAGIC.copy(bytes, 0);
  bytes.writeUInt32LE(bytes.length, 4);
  bytes.writeUInt32LE(tableBytes, 8);
  bytes[12] = header.kind;
  bytes[13] = header.codec;
  bytes[14] = FORM_1;
  bytes[15] = 0;
  writeU64(bytes, header.seq, 16);
  writeU64(bytes, header.timeMs, 24);
  bytes.writeUInt32LE(header.prevCrc, 32);
  writeU64(bytes, header.durableSeq, 36);
  bytes.writeUInt32LE(header.documents.length, 44);
}

function writeEntry(bytes: Buffer, { name, from, version }: FrameDocument, at: number): number {
  const nameBytes = bytes.write(name, at + 2);
  bytes.writeUInt16LE(nameBytes, at);
  writeU64(bytes, from, at + 2 + nameBytes);
  writeU64(bytes, version, at + 10 + nameBytes);
  return at + ENTRY_BYTES + nameBytes;
}

/** The checksum a frame ends with. */
export function frameCrc(bytes: Buffer): number {
  return bytes.readUInt32LE(bytes.length - CRC_BYTES);
}

/** Where the next fixed part stands that verifies; -1 when none does. A false magic costs 48 bytes, not what its length says. */
export function indexOfFrame(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(FRAME_MAGIC, from); at !== -1; at = bytes.indexOf(FRAME_MAGIC, at + 1)) {
    if (at + FRAME_BYTES_MIN > bytes.length) return -1;
    const fixed = bytes.subarray(at, at + FRAME_FIXED_BYTES);
    if (crc32(fixed) === bytes.readUInt32LE(at + FRAME_FIXED_BYTES)) return at;
  }
  return -1;
}

/** What `bytes` begin with. Nothing is read, allocated or trusted beyond them. */
export function decodeFrame(bytes: Buffer): Decoded {
  if (bytes.length < FRAME_BYTES_MIN || bytes.readUInt32LE(0) !== MAGIC) return { kind: 'none' };
  return decodeAtOnce(bytes) ?? decodeInSteps(bytes);
}

/**
 * Almost every frame is small and whole, and its last checksum alone proves that: what it covers is everything above it. Null
 * for any other one; a length that nothing vouches for yet asks for little work, and whoever searches does not ask here
 * before `indexOfFrame` has found one.
 */
function decodeAtOnce(bytes: Buffer): Decoded | null {
  const length = bytes.readUInt32LE(4);
  if (length < FRAME_BYTES_MIN || length > Math.min(bytes.length, AT_ONCE_BYTES_MAX)) return null;
  const end = length - CRC_BYTES;
  const crc = bytes.readUInt32LE(end);
  const whole = bytes.subarray(0, length);
  if (!endsRight(whole, crc32(bytes.subarray(0, end)))) return null;
  const tableEnd = tableEndOf(whole);
  const documents = readTable(bytes.subarray(TABLE_START, tableEnd), bytes.readUInt32LE(44));
  if (documents === null) return null;
  const header = readFixed(bytes);
  header.documents = documents;
  return {
    kind: 'frame',
    frame: { header, payload: bytes.subarray(tableEnd + CRC_BYTES, end), crc, bytes: whole },
  };
}

function decodeInSteps(bytes: Buffer): Decoded {
  const fixedCrc = bytes.readUInt32LE(FRAME_FIXED_BYTES);
  if (crc32(bytes.subarray(0, FRAME_FIXED_BYTES)) !== fixedCrc) return { kind: 'none' };
  const length = bytes.readUInt32LE(4);
  const tableEnd = tableEndOf(bytes);
  if (length < tableEnd + 2 * CRC_BYTES) return { kind: 'none' };
  const header = readFixed(bytes);
  if (length > bytes.length) return { kind: 'longer', header, length };
  const tableCrc = bytes.readUInt32LE(tableEnd);
  if (crc32(bytes.subarray(FRAME_FIXED_BYTES, tableEnd), fixedCrc) !== tableCrc)
    return { kind: 'rotten', header, length };
  const documents = readTable(bytes.subarray(TABLE_START, tableEnd), bytes.readUInt32LE(44));
  if (documents === null) return { kind: 'rotten', header, length };
  header.documents = documents;
  const whole = bytes.subarray(0, length);
  if (!endsRight(whole, crc32(whole.subarray(tableEnd, length - CRC_BYTES), tableCrc)))
    return { kind: 'rotten', header, length };
  const payload = whole.subarray(tableEnd + CRC_BYTES, length - CRC_BYTES);
  return { kind: 'frame', frame: { header, payload, crc: frameCrc(whole), bytes: whole } };
}

/** Whether the last CRC of this frame is the one that belongs there. `crc` is that of everything above it. */
export function endsRight(frame: Buffer, crc: number): boolean {
  const tableEnd = tableEndOf(frame);
  if (tableEnd + 2 * CRC_BYTES > frame.length) return false;
  const found = frameCrc(frame);
  if (frame[14] === FORM_1)
    return (crc ^ frame.readUInt32LE(FRAME_FIXED_BYTES) ^ frame.readUInt32LE(tableEnd)) >>> 0 === found;
  return frame[14] === FORM_0 && crc === found;
}

function tableEndOf(bytes: Buffer): number {
  return TABLE_START + bytes.readUInt32LE(8);
}

/** The document table of a whole frame that verifies. */
export function tableOf(bytes: Buffer): FrameDocument[] {
  return readTable(bytes.subarray(TABLE_START, tableEndOf(bytes)), bytes.readUInt32LE(44)) ?? [];
}

function readFixed(bytes: Buffer): FrameHeader {
  return {
    kind: bytes[12] as number,
    codec: bytes[13] as number,
    seq: readU64(bytes, 16),
    timeMs: readU64(bytes, 24),
    prevCrc: bytes.readUInt32LE(32),
    durableSeq: readU64(bytes, 36),
    documents: [],
  };
}

function readTable(table: Buffer, count: number): FrameDocument[] | null {
  const documents: FrameDocument[] = [];
  let at = 0;
  for (let left = count; left > 0; left--) {
    if (at + 2 > table.length) return null;
    const nameEnd = at + 2 + table.readUInt16LE(at);
    if (nameEnd + 16 > table.length) return null;
    const name = table.toString('utf8', at + 2, nameEnd);
    documents.push({ name, from: readU64(table, nameEnd), version: readU64(table, nameEnd + 8) });
    at = nameEnd + 16;
  }
  return documents;
}
