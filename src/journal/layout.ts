// The bytes. docs/format.md has the same tables with the reasons. On disk. Never renumber.
//
// Frame                                            File header (80 bytes)
//    0  4  magic ff 48 46 fe                          0  8  magic "HOLDFAST"
//    4  4  length of the frame in bytes               8  2  format version
//    8  4  length of the document table in bytes     10  2  kind: 1 tail, 2 base, 3 entries of a log
//   12  1  kind                                      12  4  feature bits
//   13  1  codec of the payload                      16 16  store id
//   14  1  form of the last CRC, 0 or 1              32  8  owner number
//   15  1  zero                                      40  8  number of this file
//   16  8  sequence                                  48  8  first sequence
//   24  8  time, ms since 1970                       56  8  sequence at which the file before ends (base: B)
//   32  4  CRC of the frame before                   64  4  CRC of that frame
//   36  8  durable sequence                          68  8  tail: pinned sequence; base: number of the newest tail
//   44  4  number of documents                       76  4  CRC of the 76 bytes above
//   48  4  CRC
//   52  …  document table, per document:
//          2 name length, name, 8 version before, 8 version after
//    …  4  CRC
//    …  …  payload
//    …  4  CRC, in form 1 combined with the two above
//
// Each CRC of a frame covers everything above it in the frame. The first one lets a reader trust the length, so that
// what a false magic can cost is bounded; the second one still names the documents when only the payload has rotted.
// A CRC that is continued over bytes and their own CRC has forgotten the bytes: it is the same for all of them. So in
// form 0 the last one says nothing of which fixed part and which table it stands behind; in form 1 it does.
// Integers are little-endian; 8-byte ones stay below 2^53.

import { crc32 as zlibCrc32 } from 'node:zlib';

/** Not valid UTF-8, so no text inside a payload can look like the start of a frame. */
export const FRAME_MAGIC = Buffer.from([0xff, 0x48, 0x46, 0xfe]);
export const FRAME_FIXED_BYTES = 48;
export const CRC_BYTES = 4;
export const FRAME_BYTES_MIN = FRAME_FIXED_BYTES + 3 * CRC_BYTES;

export const FILE_MAGIC = Buffer.from('HOLDFAST', 'latin1');
export const FILE_HEADER_BYTES = 80;
export const FORMAT_VERSION = 1;
/** Frames may be of form 1. */
export const FEATURE_FORM_1 = 1;

export const KIND_COMMIT = 1;
export const KIND_MARK = 2;
export const KIND_END = 3;
export const KIND_BASE = 4;
// 5 is an entry of `projections` (record.ts).
export const KIND_ENTRIES = 6;

export const CODEC_NONE = 0;
export const CODEC_MSGPACK = 1;
export const CODEC_JSON = 2;
/** JSON text, one line per entry of a log. */
export const CODEC_LINES = 3;

/** The last CRC is that of everything above it. */
export const FORM_0 = 0;
/** And it is combined (exclusive or) with the two CRCs above. */
export const FORM_1 = 1;

export const FILE_TAIL = 1;
export const FILE_BASE = 2;
export const FILE_ENTRIES = 3;

const TWO_32 = 2 ** 32;

export function writeU64(into: Buffer, value: number, at: number): void {
  into.writeUInt32LE(value % TWO_32, at);
  into.writeUInt32LE(Math.floor(value / TWO_32), at + 4);
}

export function readU64(from: Buffer, at: number): number {
  return from.readUInt32LE(at) + from.readUInt32LE(at + 4) * TWO_32;
}

/** `before` is the CRC of the bytes that come before these. */
export function crc32(bytes: Uint8Array, before = 0): number {
  return zlibCrc32(bytes, before);
}
