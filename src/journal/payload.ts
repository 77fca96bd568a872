// Ops as bytes. msgpack, except for what it would change in silence: lone surrogates become U+FFFD, `__proto__` gets
// another name, `constructor` and `toJSON` are taken for hooks. Frames with any of these are JSON text.

import { Packr, Unpackr } from 'msgpackr';
import { isOddKey } from '../change/copy-in.js';
import { isContainer } from '../change/plain.js';
import { CODEC_JSON, CODEC_MSGPACK } from './layout.js';

const SETTINGS = { useRecords: false, variableMapSize: true, mapsAsObjects: true } as const;
const packr = new Packr(SETTINGS);
const unpackr = new Unpackr(SETTINGS);

export interface Payload {
  codec: number;
  bytes: Buffer;
}

/** One list of ops per document. `mayBeOdd` asks for a look at the values first. */
export function encodePayload(ops: readonly unknown[], mayBeOdd: boolean): Payload {
  if (mayBeOdd && hasOdd(ops)) return { codec: CODEC_JSON, bytes: Buffer.from(JSON.stringify(ops)) };
  return { codec: CODEC_MSGPACK, bytes: packr.pack(ops) };
}

export function decodePayload(codec: number, bytes: Buffer): unknown[] {
  const ops: unknown = codec === CODEC_JSON ? JSON.parse(bytes.toString()) : unpackr.unpack(bytes);
  if (!Array.isArray(ops)) throw new TypeError('A payload is not a list');
  return ops;
}

/**
 * A text that reads like an odd key counts too: in a put, keys are items of a list. So a document whose frames are all
 * msgpack holds nothing odd, and what is read back needs no second look.
 */
function hasOdd(value: unknown): boolean {
  if (typeof value === 'string') return isOddKey(value);
  if (!isContainer(value)) return false;
  if (Array.isArray(value)) return value.some(hasOdd);
  for (const key of Object.keys(value)) if (isOddKey(key) || hasOdd(value[key])) return true;
  return false;
}
