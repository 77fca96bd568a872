// Values are copied on the way in: no caller keeps a live reference into a document, and no two paths share an object.
// What JSON would turn into something else in silence is refused, with its path, before anything has changed.

import { HoldfastError, type Path, showPath } from '../errors.js';
import { handleOf } from './handles.js';
import type { Key } from './marks.js';
import { type Container, type Plain, setOwn } from './plain.js';

const DEPTH_MAX = 500;

/** The container that a value goes into. */
export interface Destination {
  readonly depth: number;
  /** Asked for only when a value is refused. */
  path(): Path;
  /** Called for text or keys that msgpack would not carry faithfully. */
  noteOdd(): void;
}

/** A private copy of a value for `key` of a container; without a key, for the root of a document. */
export function copyIn(value: unknown, to: Destination, key?: Key): unknown {
  // Most values are text and numbers: they need nothing of what containers need.
  if (typeof value === 'string') {
    if (!isWellFormed(value)) to.noteOdd();
    return value;
  }
  return new CopyIn(to, key).copy(value);
}

/** Keys that msgpackr renames or mistakes for its own hooks. */
const ODD_KEYS = new Set(['__proto__', 'constructor', 'toJSON']);

export function isOddKey(key: string): boolean {
  return ODD_KEYS.has(key) || !isWellFormed(key);
}

/** `String.prototype.isWellFormed` is in Node 20 and not yet in the ES2023 library types. */
export function isWellFormed(text: string): boolean {
  return (text as unknown as { isWellFormed(): boolean }).isWellFormed();
}

class CopyIn {
  readonly #to: Destination;
  /** How deep the value itself will be. */
  readonly #depth: number;
  readonly #keys: Key[];
  readonly #open: object[] = [];

  constructor(to: Destination, key: Key | undefined) {
    this.#to = to;
    this.#depth = key === undefined ? to.depth : to.depth + 1;
    this.#keys = key === undefined ? [] : [key];
  }

  copy(value: unknown): unknown {
    switch (typeof value) {
      case 'string':
        if (!isWellFormed(value)) this.#to.noteOdd();
        return value;
      case 'boolean':
        return value;
      case 'number':
        if (!Number.isFinite(value)) this.#refuse(`${value} is not a JSON number; store null or a string instead`);
        return value === 0 ? 0 : value;
      case 'object':
        return value === null ? null : this.#copyObject(value);
      case 'undefined':
        return this.#refuse('undefined cannot be stored here; use null, or remove the item');
      default:
        return this.#refuse(`a ${typeof value} cannot be stored`);
    }
  }

  #copyObject(given: object): unknown {
    const handle = handleOf(given);
    if (handle !== undefined && !handle.isLive) {
      throw new HoldfastError('HF_DRAFT', `A draft was used after its update ended, at ${showPath(this.#path())}.`);
    }
    const source: object = handle?.raw ?? given;
    if (this.#depth + this.#open.length >= DEPTH_MAX) this.#refuseDepth();
    this.#open.push(source);
    const copy = Array.isArray(source) ? this.#copyArray(source) : this.#copyPlain(source);
    this.#open.pop();
    return copy;
  }

  #copyArray(source: unknown[]): unknown[] {
    if (!isPlainArray(source)) this.#refuse(`${describe(source)} is not a plain array; copy it with Array.from`);
    const copy: unknown[] = new Array(source.length);
    for (let index = 0; index < source.length; index++) {
      this.#keys.push(index);
      const item = source[index];
      if (item === undefined && !Object.hasOwn(source, index)) this.#refuse('a hole in an array cannot be stored');
      copy[index] = this.copy(item);
      this.#keys.pop();
    }
    return copy;
  }

  #copyPlain(source: object): Plain {
    if (!isPlainObject(source)) this.#refuse(`${describe(source)} cannot be stored; ${adviceFor(source)}`);
    if (Object.getOwnPropertySymbols(source).length > 0) this.#refuse('a symbol key cannot be stored');
    const copy: Plain = {};
    for (const key of Object.keys(source)) {
      const value = (source as Plain)[key];
      if (value === undefined) continue;
      this.#keys.push(key);
      if (isOddKey(key)) this.#to.noteOdd();
      setOwn(copy, key, this.copy(value));
      this.#keys.pop();
    }
    return copy;
  }

  #path(): Path {
    return [...this.#to.path(), ...this.#keys];
  }

  #refuseDepth(): never {
    const seen = new Set<object>();
    for (const object of this.#open) {
      if (seen.has(object)) this.#refuse('the value contains itself');
      seen.add(object);
    }
    return this.#refuse(`nesting deeper than ${DEPTH_MAX}`);
  }

  #refuse(reason: string): never {
    const path = this.#path();
    const shown = path.length > 20 ? `${showPath(path.slice(0, 20))}…` : showPath(path);
    throw new HoldfastError('HF_VALUE', `Cannot store the value at ${shown}: ${reason}. Nothing was changed.`, {
      path,
    });
  }
}

/** The prototype's prototype is null: objects of other realms count, class instances do not. */
export function isPlainObject(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function isPlainArray(value: unknown[]): boolean {
  if (Object.getPrototypeOf(value) === Array.prototype) return true;
  const prototype = Object.getPrototypeOf(value);
  const above = prototype && Object.getPrototypeOf(prototype);
  return above !== null && Object.getPrototypeOf(above) === null;
}

function describe(value: object): string {
  const name: unknown = value.constructor?.name;
  return typeof name === 'string' && name !== '' ? `a ${name}` : 'an object of a class';
}

function adviceFor(value: object): string {
  if (value instanceof Date) return 'store toISOString() or getTime()';
  if (value instanceof Map) return 'store Object.fromEntries(map)';
  if (value instanceof Set) return 'store [...set]';
  if (ArrayBuffer.isView(value)) return 'store it as base64 text';
  return 'store a plain object with its fields';
}

export function assertRoot(value: unknown, what: string): asserts value is Container {
  if (typeof value === 'object' && value !== null) return;
  throw new HoldfastError(
    'HF_VALUE',
    `${what} must be an object or an array, got ${value === null ? 'null' : typeof value}.`,
    {
      path: [],
    },
  );
}
