// Who wrote a file, where it stands among the others, and where what came before it ends.

import type { Disk, Handle } from '../disk/disk.js';
import { readAt } from '../disk/files.js';
import { HoldfastError } from '../errors.js';
import { crc32, FEATURE_FORM_1, FILE_HEADER_BYTES, FILE_MAGIC, FORMAT_VERSION, readU64, writeU64 } from './layout.js';

export interface FileHeader {
  kind: number;
  storeId: Buffer;
  owner: number;
  number: number;
  firstSeq: number;
  /** Where the chain stood when this file begins. For a base: the sequence whose state it holds. */
  prevSeq: number;
  prevCrc: number;
  /**
   * Tail: the last sequence taken over from earlier files; what they hold beyond it is void.
   * Base: the number of the newest tail when it was written; 0 when none is needed.
   */
  pinned: number;
}

export function encodeFileHeader(header: FileHeader): Buffer {
  const bytes = Buffer.alloc(FILE_HEADER_BYTES);
  FILE_MAGIC.copy(bytes, 0);
  bytes.writeUInt16LE(FORMAT_VERSION, 8);
  bytes.writeUInt16LE(header.kind, 10);
  bytes.writeUInt32LE(FEATURE_FORM_1, 12);
  header.storeId.copy(bytes, 16);
  writeU64(bytes, header.owner, 32);
  writeU64(bytes, header.number, 40);
  writeU64(bytes, header.firstSeq, 48);
  writeU64(bytes, header.prevSeq, 56);
  bytes.writeUInt32LE(header.prevCrc, 64);
  writeU64(bytes, header.pinned, 68);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 76)), 76);
  return bytes;
}

export function readFileHeader(disk: Disk, handle: Handle, path: string): FileHeader | null {
  return decodeFileHeader(readAt(disk, handle, 0, FILE_HEADER_BYTES), path);
}

/** Null when the bytes are not a sound header. A sound one of a later version refuses the whole store. */
export function decodeFileHeader(bytes: Buffer, name: string): FileHeader | null {
  if (bytes.length < FILE_HEADER_BYTES || bytes.compare(FILE_MAGIC, 0, 8, 0, 8) !== 0) return null;
  if (crc32(bytes.subarray(0, 76)) !== bytes.readUInt32LE(76)) return null;
  const version = bytes.readUInt16LE(8);
  const features = bytes.readUInt32LE(12);
  const isKnown = version === FORMAT_VERSION && (features === 0 || features === FEATURE_FORM_1);
  if (!isKnown) refuseVersion(name, `format ${version}, features ${features}`);
  return {
    kind: bytes.readUInt16LE(10),
    storeId: Buffer.from(bytes.subarray(16, 32)),
    owner: readU64(bytes, 32),
    number: readU64(bytes, 40),
    firstSeq: readU64(bytes, 48),
    prevSeq: readU64(bytes, 56),
    prevCrc: bytes.readUInt32LE(64),
    pinned: readU64(bytes, 68),
  };
}

export function refuseVersion(name: string, what: string): never {
  throw new HoldfastError(
    'HF_VERSION',
    `${name} was written by a later version of holdfast (${what}). Nothing was touched. Open it with that version.`,
  );
}
