// What a document is made of, and own-property access that treats every key as data: `__proto__` and `constructor`
// are keys like any other.

import type { Key } from './marks.js';

export type Container = Record<string, unknown> | unknown[];
export type Plain = Record<string, unknown>;

export function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null;
}

export const hasOwn = Object.hasOwn;

/** A key that is there and not waiting to be deleted at the end of the update (see `hide`). */
export function isVisible(raw: object, key: string): boolean {
  return Object.prototype.propertyIsEnumerable.call(raw, key);
}

export function getOwn(raw: Container, key: Key): unknown {
  return hasOwn(raw, key) ? (raw as Plain)[key] : undefined;
}

export function setOwn(raw: Plain, key: string, value: unknown): void {
  // Plain assignment would change the prototype.
  if (key === '__proto__') show(raw, key, value);
  else raw[key] = value;
}

export function show(raw: Plain, key: string, value: unknown): void {
  Object.defineProperty(raw, key, { value, enumerable: true, writable: true, configurable: true });
}

/**
 * Takes a key out of sight without giving up its place in the key order. A real `delete` cannot be undone exactly
 * without listing all keys (31 ms at 100,000), so it waits until nothing can be undone any more.
 */
export function hide(raw: Plain, key: string): void {
  Object.defineProperty(raw, key, { value: undefined, enumerable: false, writable: true, configurable: true });
}

/** A deep copy of plain data. */
export function copyPlain<V>(value: V): V {
  if (!isContainer(value)) return value;
  if (Array.isArray(value)) return value.map(copyPlain) as V;
  const copy: Plain = {};
  for (const key of Object.keys(value)) setOwn(copy, key, copyPlain((value as Plain)[key]));
  return copy as V;
}
