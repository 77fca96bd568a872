// The few ways in which a document changes. Each one, in this order: checks and copies what comes in, records how to
// undo itself, changes the raw object, marks the path. Anything that can throw comes before the first change.

import { HoldfastError, showPath } from '../errors.js';
import type { DraftNode } from './draft.js';
import { handleOf } from './handles.js';
import { getOwn, hide, isVisible, type Plain, setOwn, show } from './plain.js';

export function setKey(node: DraftNode, key: string, value: unknown): void {
  if (value === undefined) {
    removeKey(node, key);
    return;
  }
  const raw = node.raw as Plain;
  if (isVisible(raw, key) && isSame(raw[key], value)) {
    node.marks();
    return;
  }
  placeKey(node, key, node.copyIn(value, key));
}

/** Puts a value that is already a private copy. */
export function placeKey(node: DraftNode, key: string, copy: unknown): void {
  const raw = node.raw as Plain;
  const marks = node.marks();
  const { changes } = node.session;
  if (isVisible(raw, key)) {
    const old = raw[key];
    changes.record(() => setOwn(raw, key, old));
  } else {
    // A key deleted in this update comes back at the end, as it does in any object.
    if (changes.isHidden(raw, key)) changes.settle(raw);
    changes.record(() => delete raw[key]);
  }
  setOwn(raw, key, copy);
  marks?.put(key);
}

export function removeKey(node: DraftNode, key: string): void {
  const raw = node.raw as Plain;
  const marks = node.marks();
  if (!isVisible(raw, key)) return;
  const old = raw[key];
  const { changes } = node.session;
  changes.record(() => {
    show(raw, key, old);
    changes.unhide(raw, key);
  });
  hide(raw, key);
  changes.addHidden(raw, key);
  marks?.drop(key);
}

export function growText(node: DraftNode, given: string | number, text: string): void {
  const raw = node.raw as Plain;
  const key = Array.isArray(raw) ? Number(given) : String(given);
  const known = getOwn(raw, key);
  if (known === undefined && !Array.isArray(raw)) {
    setKey(node, key as string, text);
    return;
  }
  if (typeof known !== 'string') {
    const got = known === null ? 'null' : typeof known;
    throw new TypeError(`Expected a string at ${showPath([...node.path(), key])} to append to, got ${got}`);
  }
  if (text === '') return;
  node.copyIn(text, key);
  const marks = node.marks();
  node.session.changes.record(() => {
    raw[key] = known;
  });
  raw[key] = known + text;
  marks?.grow(key, known.length, text);
}

export function setIndex(node: DraftNode, index: number, value: unknown): void {
  const raw = node.raw as unknown[];
  if (index > raw.length) refuseHole(node, index);
  if (index < raw.length && isSame(raw[index], value)) {
    node.marks();
    return;
  }
  placeIndex(node, index, node.copyIn(value, index));
}

/** Puts a value that is already a private copy. */
export function placeIndex(node: DraftNode, index: number, copy: unknown): void {
  const raw = node.raw as unknown[];
  // Again: what was copied may have getters, and they may have shortened the array.
  if (index > raw.length) refuseHole(node, index);
  if (index === raw.length) {
    pushAll(node, [copy]);
    return;
  }
  const marks = node.marks();
  const old = raw[index];
  node.session.changes.record(() => {
    raw[index] = old;
  });
  raw[index] = copy;
  marks?.put(index);
}

/** Adds items that are already private copies. */
export function pushAll(node: DraftNode, copies: readonly unknown[]): void {
  if (copies.length === 0) return;
  const raw = node.raw as unknown[];
  const marks = node.marks();
  const { length } = raw;
  node.session.changes.record(() => {
    raw.length = length;
  });
  for (const copy of copies) raw.push(copy);
  marks?.cut(length);
}

export function setLength(node: DraftNode, length: unknown): void {
  const raw = node.raw as unknown[];
  if (typeof length !== 'number' || !Number.isInteger(length) || length < 0) {
    throw new RangeError(`Expected an array length at ${showPath(node.path())}, got ${String(length)}`);
  }
  if (length > raw.length) refuseHole(node, length - 1);
  if (length < raw.length) spliceRaw(node, length, raw.length - length, []);
}

/** Replaces `count` items at `start` by private copies; gives back what was there. */
export function spliceRaw(node: DraftNode, start: number, count: number, copies: unknown[]): unknown[] {
  const raw = node.raw as unknown[];
  const marks = node.marks();
  const before = raw.length;
  const removed = exchange(raw, start, count, copies);
  node.session.changes.record(() => exchange(raw, start, copies.length, removed));
  if (removed.length === 0 && copies.length === 0) return removed;
  if (start === 0 && copies.length === 0 && count < before) marks?.shift(count);
  else if (removed.length === copies.length) for (let i = 0; i < copies.length; i++) marks?.put(start + i);
  else marks?.cut(start);
  return removed;
}

const SPREAD_MAX = 10_000;

function exchange(raw: unknown[], start: number, count: number, items: unknown[]): unknown[] {
  if (items.length <= SPREAD_MAX) return raw.splice(start, count, ...items);
  // Too many arguments for one call would overflow the stack.
  const rest = raw.splice(start);
  const removed = rest.slice(0, count);
  for (const item of items) raw.push(item);
  for (let i = count; i < rest.length; i++) raw.push(rest[i]);
  return removed;
}

/** The array gets the same items in another order. */
export function reorder(node: DraftNode, next: unknown[]): void {
  const raw = node.raw as unknown[];
  const marks = node.marks();
  let low = 0;
  while (low < raw.length && raw[low] === next[low]) low++;
  if (low === raw.length) return;
  let high = raw.length - 1;
  while (raw[high] === next[high]) high--;
  const before = raw.slice(low, high + 1);
  node.session.changes.record(() => {
    for (let i = 0; i < before.length; i++) raw[low + i] = before[i];
  });
  for (let i = low; i <= high; i++) raw[i] = next[i];
  if (high === raw.length - 1) marks?.cut(low);
  else for (let i = low; i <= high; i++) marks?.put(i);
}

/** True for what is there already, also as its own draft: `list = list.sort()` writes the order once. */
function isSame(present: unknown, value: unknown): boolean {
  if (present === value) return true;
  const handle = handleOf(value);
  return handle !== undefined && handle.raw === present && handle.isLive;
}

function refuseHole(node: DraftNode, index: number): never {
  const path = [...node.path(), index];
  throw new HoldfastError(
    'HF_VALUE',
    `Cannot write ${showPath(path)}: the array would get a hole. Push items instead. Nothing was changed.`,
    { path },
  );
}
