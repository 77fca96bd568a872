// One frame: written once, verified alone. The header has a checksum of its own, so that when only a payload has rotted
// we can still say which documents lost which versions.

import { CRC_BYTES, crc32, FRAME_BYTES_MIN, FRAME_FIXED_BYTES, FRAME_MAGIC, readU64, writeU64 } from './layout.js';

export interface FrameDocument {
  name: string;
  /** The version this frame builds on. */
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
  /** The header verifies, the rest does not. `length` can be trusted. */
  | { kind: 'rotten'; header: FrameHeader; length: number }
  | { kind: 'none' };

export function encodeFrame(header: FrameHeader, payload: Uint8Array): Buffer {
  const names = header.documents.map(({ name }) => Buffer.from(name));
  let headerBytes = FRAME_FIXED_BYTES + CRC_BYTES;
  for (const name of names) headerBytes += 18 + name.length;
  const length = headerBytes + payload.length + CRC_BYTES;
  const bytes = Buffer.allocUnsafe(length);
  FRAME_MAGIC.copy(bytes, 0);
  bytes.writeUInt32LE(length, 4);
  bytes.writeUInt16LE(headerBytes, 8);
  bytes[10] = header.kind;
  bytes[11] = header.codec;
  writeU64(bytes, header.seq, 12);
  writeU64(bytes, header.timeMs, 20);
  bytes.writeUInt32LE(header.prevCrc, 28);
  writeU64(bytes, header.durableSeq, 32);
  bytes.writeUInt16LE(header.documents.length, 40);
  bytes.writeUInt16LE(0, 42);
  let at = FRAME_FIXED_BYTES;
  header.documents.forEach(({ from, version }, index) => {
    const name = names[index] as Buffer;
    bytes.writeUInt16LE(name.length, at);
    name.copy(bytes, at + 2);
    writeU64(bytes, from, at + 2 + name.length);
    writeU64(bytes, version, at + 10 + name.length);
    at += 18 + name.length;
  });
  bytes.writeUInt32LE(crc32(bytes.subarray(0, at)), at);
  bytes.set(payload, headerBytes);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, length - CRC_BYTES)), length - CRC_BYTES);
  return bytes;
}

/** The checksum a frame ends with. */
export function frameCrc(bytes: Buffer): number {
  return bytes.readUInt32LE(bytes.length - CRC_BYTES);
}

/** What stands at `at`. Never reads, allocates or trusts a length beyond `file`. */
export function decodeFrame(file: Buffer, at: number): Decoded {
  if (at + FRAME_BYTES_MIN > file.length || file.compare(FRAME_MAGIC, 0, 4, at, at + 4) !== 0) return { kind: 'none' };
  const length = file.readUInt32LE(at + 4);
  const headerBytes = file.readUInt16LE(at + 8);
  if (headerBytes < FRAME_FIXED_BYTES + CRC_BYTES || at + headerBytes > file.length) return { kind: 'none' };
  if (length < headerBytes + CRC_BYTES) return { kind: 'none' };
  const header = decodeHeader(file.subarray(at, at + headerBytes));
  if (header === null) return { kind: 'none' };
  if (at + length > file.length) return { kind: 'rotten', header, length };
  const bytes = file.subarray(at, at + length);
  const crc = frameCrc(bytes);
  if (crc32(bytes.subarray(0, length - CRC_BYTES)) !== crc) return { kind: 'rotten', header, length };
  return { kind: 'frame', frame: { header, payload: bytes.subarray(headerBytes, length - CRC_BYTES), crc, bytes } };
}

function decodeHeader(bytes: Buffer): FrameHeader | null {
  const end = bytes.length - CRC_BYTES;
  if (crc32(bytes.subarray(0, end)) !== bytes.readUInt32LE(end)) return null;
  const documents: FrameDocument[] = [];
  let at = FRAME_FIXED_BYTES;
  for (let left = bytes.readUInt16LE(40); left > 0; left--) {
    if (at + 2 > end) return null;
    const nameEnd = at + 2 + bytes.readUInt16LE(at);
    if (nameEnd + 16 > end) return null;
    const name = bytes.toString('utf8', at + 2, nameEnd);
    documents.push({ name, from: readU64(bytes, nameEnd), version: readU64(bytes, nameEnd + 8) });
    at = nameEnd + 16;
  }
  return {
    kind: bytes[10] as number,
    codec: bytes[11] as number,
    seq: readU64(bytes, 12),
    timeMs: readU64(bytes, 20),
    prevCrc: bytes.readUInt32LE(28),
    durableSeq: readU64(bytes, 32),
    documents,
  };
}
