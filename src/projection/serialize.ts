// The bytes people see, and how bytes that people may have touched are read.

import { createHash } from 'node:crypto';
import type { Container } from '../change/plain.js';
import type { Disk, Handle } from '../disk/disk.js';
import { withFile } from '../disk/files.js';
import { HoldfastError } from '../errors.js';
import { PORTION_BYTES, portionsOf } from './portions.js';

/** A whole file: what is to be written, and how it is known again. */
export interface Text {
  /** One after the other. */
  portions: readonly Buffer[];
  /** Of all of them, in bytes. */
  length: number;
  /** Hexadecimal. */
  sha256: string;
}

/** Byte for byte `JSON.stringify(state, null, 2) + '\n'`: `__proto__` and `toJSON` are keys like any other in data. */
export function serialize(state: Container): Text {
  try {
    return textOf(bytesOf(state));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new HoldfastError('HF_VALUE', 'A text in the document is too large for a JSON file (about 512 MB).', {
      cause: error,
    });
  }
}

export function textOf(bytes: Iterable<Buffer>): Text {
  const portions = [...bytes];
  const hash = createHash('sha256');
  let length = 0;
  for (const portion of portions) {
    hash.update(portion);
    length += portion.length;
  }
  return { portions, length, sha256: hash.digest('hex') };
}

/** In one piece. */
export function wholeOf({ portions }: Text): Buffer {
  return portions.length === 1 ? (portions[0] as Buffer) : Buffer.concat(portions);
}

function* bytesOf(state: unknown): Generator<Buffer> {
  let held = '';
  for (const part of portionsOf(state)) {
    held += part;
    if (held.length < PORTION_BYTES) continue;
    yield Buffer.from(held);
    held = '';
  }
  yield Buffer.from(`${held}\n`);
}

export function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Portion by portion: a large file is never in memory as a whole. */
export function sha256OfFile(disk: Disk, path: string): string {
  return withFile(disk, path, (handle) => sha256OfHandle(disk, handle));
}

export function sha256OfHandle(disk: Disk, handle: Handle): string {
  const hash = createHash('sha256');
  const portion = Buffer.allocUnsafeSlow(Math.min(Math.max(disk.size(handle), 1), PORTION_BYTES));
  for (let at = 0; ; ) {
    const read = disk.read(handle, portion, 0, portion.length, at);
    if (read === 0) return hash.digest('hex');
    hash.update(read === portion.length ? portion : portion.subarray(0, read));
    at += read;
  }
}

export type Parsed = { kind: 'value'; value: unknown } | { kind: 'unparseable'; reason: string };

// Fatal: bytes that are no UTF-8 must not be adopted with U+FFFD in their place. A byte order mark is dropped: some
// editors add one, and it must not make a sound file look damaged.
const decoder = new TextDecoder('utf-8', { fatal: true });

export function parse(bytes: Uint8Array): Parsed {
  try {
    return { kind: 'value', value: JSON.parse(decoder.decode(bytes)) };
  } catch (error) {
    return { kind: 'unparseable', reason: reasonOf(error) };
  }
}

/** It quotes the file. Line breaks and other control characters of a damaged one do not belong into messages. */
function reasonOf(error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these are replaced
  return reason.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ');
}

/** True when the value would be written as exactly this text: the same data, key order included. */
export function isWrittenAs(value: unknown, { sha256 }: Text): boolean {
  try {
    return textOf(bytesOf(value)).sha256 === sha256;
  } catch (error) {
    // Nested too deeply or too large to be written: then it is not what we wrote.
    if (error instanceof RangeError) return false;
    throw error;
  }
}
