// What a frame says about a document. On disk. Never renumber.
//
// I1. Ops are applied in order, exactly once, to the state the frame before left.
// I2. Per container: head, drops, puts in key order, growths, then what is below it, then the tail.

import type { Key } from './marks.js';

export const OP_WHOLE = 0;
export const OP_PUT = 1;
export const OP_DROP = 2;
export const OP_TAIL = 3;
export const OP_HEAD = 4;
export const OP_TEXT = 5;
export const OP_REMOVED = 6;
export const OP_SCHEMA = 7;
export const OP_ENTRIES = 8;
export const OP_LOG = 9;
export const OP_ADOPTED = 10;
export const OP_CHECKED = 11;

export type WirePath = Key[];

export type Op =
  /** The document is this value. */
  | [typeof OP_WHOLE, unknown]
  /** In the container at this path: key, value, key, value, … */
  | [typeof OP_PUT, WirePath, ...unknown[]]
  /** From the object at this path: keys that are gone. */
  | [typeof OP_DROP, WirePath, ...string[]]
  /** The array at this path is cut at `from`, these items follow. */
  | [typeof OP_TAIL, WirePath, number, unknown[]]
  /** The first `count` items of the array at this path are gone. */
  | [typeof OP_HEAD, WirePath, number]
  /** The string at this path is cut at `from`, this text follows. */
  | [typeof OP_TEXT, WirePath, number, string]
  /** The document is gone. */
  | [typeof OP_REMOVED]
  /** The document is of this version of its schema. Says nothing about its state. */
  | [typeof OP_SCHEMA, number]
  /** These entries are appended to the log. */
  | [typeof OP_ENTRIES, ...unknown[]]
  /** The log is as long as its version says, and its entries are in its own files; but for these: from, to, from, to, … */
  | [typeof OP_LOG, ...number[]]
  /** The state was taken from a file with this SHA-256: that file is no stranger. Says nothing about the state. */
  | [typeof OP_ADOPTED, string]
  /** From here on a schema with this fingerprint accepts the state; '': nobody knows. Says nothing about the state. */
  | [typeof OP_CHECKED, string];
