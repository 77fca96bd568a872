// The draft: a proxy that reads and writes the real object and marks what changed. No copy is made of what is read.
//
// I1. A draft lives as long as the `update` call that made it. Later use throws.
// I2. A node's key is a hint. `shift` and `sort` move items, so every write first finds the node in the tree again,
//     from the root down; one that is no longer there refuses the write.

import { HoldfastError, type Path, showPath } from '../errors.js';
import { ARRAY_METHODS, arrayIterator } from './arrays.js';
import type { Changes } from './changes.js';
import { copyIn, type Destination, isOddKey } from './copy-in.js';
import { removeKey, setIndex, setKey, setLength } from './edit.js';
import { HANDLE, type Handle } from './handles.js';
import type { Key, Marks } from './marks.js';
import { type Container, hasOwn, isContainer, isVisible, type Plain } from './plain.js';
import type { Tracked } from './tracked.js';

/** One `update` call. */
export class Session {
  isOpen = true;
  readonly #nodes = new Map<object, DraftNode>();

  constructor(
    readonly doc: Tracked,
    readonly changes: Changes,
  ) {}

  root(): DraftNode {
    return this.node(this.doc.raw, null, '');
  }

  node(raw: Container, parent: DraftNode | null, key: Key): DraftNode {
    let node = this.#nodes.get(raw);
    if (node === undefined) {
      node = new DraftNode(this, raw, parent, key);
      this.#nodes.set(raw, node);
    }
    return node;
  }
}

/** Keys that ordinary objects inherit and that a program may use as data: only own ones are seen. */
const OWN_ONLY = new Set(['__proto__', 'constructor', 'prototype']);

/** '0', '17', but not '01' or '-1'. No regular expression: this is asked for every access to an array. */
function isIndex(key: string): boolean {
  const { length } = key;
  const first = key.charCodeAt(0);
  if (length === 0 || length > 10 || (first === 48 && length > 1)) return false;
  for (let at = 0; at < length; at++) {
    const code = key.charCodeAt(at);
    if (code < 48 || code > 57) return false;
  }
  return true;
}

export class DraftNode implements ProxyHandler<Container>, Handle, Destination {
  readonly proxy: Container;
  readonly depth: number;
  #key: Key;

  constructor(
    readonly session: Session,
    readonly raw: Container,
    readonly parent: DraftNode | null,
    key: Key,
  ) {
    this.#key = key;
    this.depth = parent === null ? 0 : parent.depth + 1;
    this.proxy = new Proxy(raw, this);
  }

  get isLive(): boolean {
    return this.session.isOpen;
  }

  /** What callers see of a value found here. */
  wrap(value: unknown, key: Key): unknown {
    return isContainer(value) ? this.session.node(value, this, key).proxy : value;
  }

  /** A private copy of a value that is about to be stored at `key`. */
  copyIn(value: unknown, key: Key): unknown {
    if (typeof key === 'string' && isOddKey(key)) this.noteOdd();
    return copyIn(value, this, key);
  }

  noteOdd(): void {
    this.session.doc.noteOdd();
  }

  /** Marks of this container; null when an ancestor is written whole. Throws when it is no longer in the tree. */
  marks(): Marks | null {
    if (this.parent === null) {
      if (this.session.doc.raw !== this.raw) this.#refuseDetached();
      return this.session.changes.marksOf(this.session.doc);
    }
    const above = this.parent.marks();
    const key = this.#locate();
    return above === null ? null : above.kid(key, Array.isArray(this.raw));
  }

  /** Where this is now; where it was, once it has left the tree. */
  path(): Path {
    if (this.parent === null) return [];
    this.#isAttached();
    return [...this.parent.path(), this.#key];
  }

  #locate(): Key {
    if (!this.#isAttached()) this.#refuseDetached();
    return this.#key;
  }

  /** Brings the key up to date on the way. */
  #isAttached(): boolean {
    const { raw } = this.parent as DraftNode;
    if ((raw as Plain)[this.#key] === this.raw) return true;
    const index = Array.isArray(raw) ? raw.indexOf(this.raw) : -1;
    if (index === -1) return false;
    this.#key = index;
    return true;
  }

  #refuseDetached(): never {
    throw new HoldfastError(
      'HF_DRAFT',
      `Cannot write through ${showPath(this.path())}: it was removed or replaced earlier in this update. Read it again from the draft.`,
      { path: this.path() },
    );
  }

  #assertLive(): void {
    if (this.session.isOpen) return;
    throw new HoldfastError(
      'HF_DRAFT',
      `The draft of '${this.session.doc.name}' was used after its update ended. Use it only inside the recipe, and keep recipes synchronous.`,
    );
  }

  get(target: Container, key: string | symbol): unknown {
    if (key === HANDLE) return this;
    this.#assertLive();
    if (Array.isArray(target)) return this.#getFromArray(target, key);
    if (typeof key === 'symbol') return Reflect.get(target, key);
    if (hasOwn(target, key)) return this.wrap(target[key], key);
    return OWN_ONLY.has(key) ? undefined : Reflect.get(target, key);
  }

  #getFromArray(target: unknown[], key: string | symbol): unknown {
    if (key === Symbol.iterator) return () => arrayIterator(this);
    if (typeof key === 'symbol') return Reflect.get(target, key);
    const method = ARRAY_METHODS.get(key);
    if (method !== undefined) return (...args: unknown[]) => method(this, args);
    if (isIndex(key)) return this.wrap(target[Number(key)], Number(key));
    return OWN_ONLY.has(key) && key !== 'constructor' ? undefined : Reflect.get(target, key, this.proxy);
  }

  set(target: Container, key: string | symbol, value: unknown, receiver: unknown): boolean {
    this.#assertLive();
    if (receiver !== this.proxy) throw new TypeError('Cannot write through an object that inherits from a draft');
    if (typeof key === 'symbol') this.#refuseKey(key);
    if (!Array.isArray(target)) setKey(this, key, value);
    else if (key === 'length') setLength(this, value);
    else if (isIndex(key)) setIndex(this, Number(key), value);
    else this.#refuseKey(key);
    return true;
  }

  deleteProperty(target: Container, key: string | symbol): boolean {
    this.#assertLive();
    if (typeof key === 'symbol' || !hasOwn(target, key)) return true;
    if (Array.isArray(target)) {
      const path = [...this.path(), isIndex(key) ? Number(key) : key];
      throw new HoldfastError('HF_VALUE', `Cannot delete ${showPath(path)}: the array would get a hole. Use splice.`, {
        path,
      });
    }
    removeKey(this, key);
    return true;
  }

  has(target: Container, key: string | symbol): boolean {
    this.#assertLive();
    if (typeof key === 'symbol' || Array.isArray(target)) return Reflect.has(target, key);
    return isVisible(target, key);
  }

  ownKeys(target: Container): (string | symbol)[] {
    this.#assertLive();
    const keys = Reflect.ownKeys(target);
    if (Array.isArray(target) || !this.session.changes.hasHidden(target)) return keys;
    return keys.filter((key) => isVisible(target, key as string));
  }

  getOwnPropertyDescriptor(target: Container, key: string | symbol): PropertyDescriptor | undefined {
    this.#assertLive();
    const found = Reflect.getOwnPropertyDescriptor(target, key);
    if (found === undefined || typeof key === 'symbol') return found;
    if (!found.enumerable && !Array.isArray(target)) return undefined;
    const hint = Array.isArray(target) ? Number(key) : key;
    return { ...found, value: this.wrap(found.value, hint) };
  }

  defineProperty(target: Container, key: string | symbol, descriptor: PropertyDescriptor): boolean {
    const { enumerable, writable, configurable } = descriptor;
    if (!('value' in descriptor) || enumerable === false || writable === false || configurable === false) {
      throw new TypeError(`Cannot define ${String(key)} on a draft: only plain, writable values can be stored`);
    }
    return this.set(target, key, descriptor.value, this.proxy);
  }

  getPrototypeOf(target: Container): object | null {
    return Reflect.getPrototypeOf(target);
  }

  setPrototypeOf(): boolean {
    throw new TypeError('Cannot change the prototype of a draft: documents hold plain objects');
  }

  preventExtensions(): boolean {
    throw new TypeError('Cannot freeze or seal a draft: the document would not be changeable any more');
  }

  #refuseKey(key: string | symbol): never {
    const path = typeof key === 'symbol' ? this.path() : [...this.path(), key];
    const reason =
      typeof key === 'symbol' ? `${String(key)} cannot be a key` : 'an array has items, not named properties';
    throw new HoldfastError(
      'HF_VALUE',
      `Cannot store the value at ${showPath(path)}: ${reason}. Nothing was changed.`,
      {
        path,
      },
    );
  }
}
