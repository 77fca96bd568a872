// From ops to state: the replica's side, used by every recovery. Nothing is guessed: an op that does not fit the state
// it meets proves that the state or the op is not what was committed.

import type { Key } from './marks.js';
import {
  OP_ADOPTED,
  OP_CHECKED,
  OP_DROP,
  OP_HEAD,
  OP_PUT,
  OP_REMOVED,
  OP_SCHEMA,
  OP_TAIL,
  OP_TEXT,
  OP_WHOLE,
  type WirePath,
} from './ops.js';
import { type Container, getOwn, hasOwn, isContainer, type Plain, setOwn } from './plain.js';

/** An op that cannot belong to this state. */
export class Misfit extends Error {}
/** An op of a later version of the format. */
export class UnknownOp extends Error {}

const KNOWN_OPS: ReadonlySet<unknown> = new Set([
  OP_WHOLE,
  OP_PUT,
  OP_DROP,
  OP_TAIL,
  OP_HEAD,
  OP_TEXT,
  OP_REMOVED,
  OP_SCHEMA,
  OP_ADOPTED,
  OP_CHECKED,
]);

/** What an op says beside the state. */
const BESIDE: ReadonlySet<unknown> = new Set([OP_SCHEMA, OP_ADOPTED, OP_CHECKED]);

/** The state after the ops, or undefined when the document is gone. The state before is changed, not kept. */
export function applyOps(state: Container | undefined, ops: readonly unknown[]): Container | undefined {
  let now = state;
  for (const op of ops) {
    if (!Array.isArray(op)) throw new Misfit('an op is not a list');
    // Before anything else: to a later version the rest of it may make sense.
    if (!KNOWN_OPS.has(op[0])) throw new UnknownOp(`op ${String(op[0])}`);
    if (op[0] === OP_WHOLE) now = asContainer(op[1]);
    else if (op[0] === OP_REMOVED) now = undefined;
    else if (BESIDE.has(op[0])) continue;
    else applyInside(asContainer(now), op);
  }
  return now;
}

function applyInside(root: Container, op: unknown[]): void {
  const path = op[1];
  if (!Array.isArray(path)) throw new Misfit('an op has no path');
  switch (op[0]) {
    case OP_PUT:
      applyPut(find(root, path), op);
      break;
    case OP_DROP:
      applyDrop(find(root, path), op);
      break;
    case OP_TAIL:
      applyTail(asArray(find(root, path)), op[2], op[3]);
      break;
    case OP_HEAD:
      applyHead(asArray(find(root, path)), op[2]);
      break;
    case OP_TEXT:
      applyText(find(root, path.slice(0, -1)), path.at(-1), op[2], op[3]);
      break;
  }
}

function applyPut(into: Container, op: unknown[]): void {
  for (let at = 2; at + 1 < op.length; at += 2) {
    const key = op[at];
    if (Array.isArray(into)) into[indexIn(into, key)] = op[at + 1];
    else if (typeof key === 'string') setOwn(into, key, op[at + 1]);
    else throw new Misfit('a put into an object has no key');
  }
}

function applyDrop(from: Container, op: unknown[]): void {
  if (Array.isArray(from)) throw new Misfit('a drop from an array');
  for (let at = 2; at < op.length; at++) delete from[String(op[at])];
}

function applyTail(items: unknown[], from: unknown, more: unknown): void {
  if (!isCount(from) || from > items.length || !Array.isArray(more)) throw new Misfit('a tail begins beyond the array');
  items.length = from;
  for (const item of more) items.push(item);
}

function applyHead(items: unknown[], count: unknown): void {
  if (!isCount(count) || count > items.length) throw new Misfit('a head is longer than the array');
  items.splice(0, count);
}

function applyText(holder: Container, key: unknown, from: unknown, text: unknown): void {
  const known = typeof key === 'string' || typeof key === 'number' ? getOwn(holder, key) : undefined;
  if (typeof known !== 'string' || typeof text !== 'string' || !isCount(from) || from > known.length) {
    throw new Misfit('a text begins beyond the string');
  }
  const next = from === known.length ? known + text : known.slice(0, from) + text;
  if (Array.isArray(holder)) holder[key as number] = next;
  else setOwn(holder, key as string, next);
}

function find(root: Container, path: WirePath): Container {
  let at: unknown = root;
  for (const key of path) {
    if (!isContainer(at) || !hasOwn(at, key as Key)) throw new Misfit('a path leads nowhere');
    at = (at as Plain)[key as Key];
  }
  return asContainer(at);
}

function indexIn(items: unknown[], key: unknown): number {
  if (!isCount(key) || key >= items.length) throw new Misfit('a put lies beyond the array');
  return key;
}

function asContainer(value: unknown): Container {
  if (isContainer(value)) return value;
  throw new Misfit('not an object or an array');
}

function asArray(value: Container): unknown[] {
  if (Array.isArray(value)) return value;
  throw new Misfit('not an array');
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
