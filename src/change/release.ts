// What a recipe returns, with every draft in it made plain: outside of the update a draft is dead.

import { isPlainObject } from './copy-in.js';
import { handleOf } from './handles.js';
import { type Container, copyPlain, isContainer, type Plain, setOwn } from './plain.js';

export function release(value: unknown): unknown {
  return isContainer(value) ? releaseContainer(value, new Map(), 0) : value;
}

/** `known` keeps a result whose objects point at each other from being walked along every way through it. */
function releaseContainer(value: Container, known: Map<object, unknown>, depth: number): unknown {
  const handle = handleOf(value);
  if (handle !== undefined) return copyPlain(handle.raw);
  if (depth > 100 || (!Array.isArray(value) && !isPlainObject(value))) return value;
  if (known.has(value)) return known.get(value);
  known.set(value, value);
  const inside = (item: unknown) => (isContainer(item) ? releaseContainer(item, known, depth + 1) : item);
  const released = Array.isArray(value) ? releaseArray(value, inside) : releaseObject(value, inside);
  known.set(value, released);
  return released;
}

function releaseArray(value: unknown[], inside: (item: unknown) => unknown): unknown[] {
  const items = value.map(inside);
  return items.some((item, index) => item !== value[index]) ? items : value;
}

function releaseObject(value: Plain, inside: (item: unknown) => unknown): Plain {
  let hasDrafts = false;
  const copy: Plain = {};
  for (const key of Object.keys(value)) {
    const item = inside(value[key]);
    hasDrafts ||= item !== value[key];
    setOwn(copy, key, item);
  }
  return hasDrafts ? copy : value;
}
