// A world in which a program runs, and what all worlds share. There are two: drafts of a store, and ordinary objects.

import { HoldfastError } from '../../src/errors.js';

export type Box = Record<string, unknown> | unknown[];
export type Bag = Record<string, unknown>;

/** A refusal that the model expects the store to give too. */
export class Refused extends Error {
  constructor(readonly code: string) {
    super(code);
  }
}

export interface World {
  update(name: string, recipe: (root: Box) => unknown): unknown;
  replace(name: string, value: unknown): void;
  transaction(fn: () => void): void;
  create(name: string, value: unknown): void;
  set(into: Box, key: string | number, value: unknown): void;
  remove(from: Bag, key: string): void;
  assign(into: Bag, value: Bag): void;
  call(list: unknown[], method: string, args: unknown[]): unknown;
  setLength(list: unknown[], length: number): void;
  append(into: Box, key: string | number, text: string): void;
  /** The root as it is now: it changes when a list replaces an object. */
  rootOf(name: string): Box;
  /** A container of an update that is over. */
  lapsed(box: Box): Box;
}

export function isBox(value: unknown): value is Box {
  return typeof value === 'object' && value !== null;
}

/** Every difference shows: key order, -0, holes, undefined, keys that only pretend to be gone. */
export function show(value: unknown): string {
  if (Object.is(value, -0)) return '-0';
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'function') return 'function';
  if (!isBox(value)) return String(value);
  if (Array.isArray(value)) return `[${Array.from(value, (item, at) => (at in value ? show(item) : 'hole')).join()}]`;
  const parts = Reflect.ownKeys(value).map((key) => {
    const hidden = Object.getOwnPropertyDescriptor(value, key)?.enumerable ? '' : '!';
    return `${hidden}${JSON.stringify(String(key))}:${show(value[String(key)])}`;
  });
  return `{${parts.join()}}`;
}

export function define(into: Bag, key: string, value: unknown): void {
  Object.defineProperty(into, key, { value, enumerable: true, writable: true, configurable: true });
}

export function refusalCode(error: unknown): string | null {
  if (error instanceof HoldfastError || error instanceof Refused) return error.code;
  if (error instanceof RangeError || error instanceof TypeError) return error.constructor.name;
  return null;
}
