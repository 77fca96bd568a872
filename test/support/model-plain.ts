// The world of ordinary objects, with an ordinary undo: the model that a store is held against.

import { type Bag, type Box, define, isBox, Refused, type World } from './model-world.js';

/** Every object of the documents with what it held, so that undo keeps identities. */
type Snapshot = Map<Box, unknown>;

export class PlainWorld implements World {
  docs = new Map<string, { root: Box }>();

  rootOf(name: string): Box {
    return this.#doc(name).root;
  }

  create(name: string, value: unknown): void {
    if (!isBox(value)) throw new Refused('HF_VALUE');
    this.docs.set(name, { root: plainCopy(value) as Box });
  }

  update(name: string, recipe: (root: Box) => unknown): unknown {
    return this.#protect(() => recipe(this.#doc(name).root));
  }

  replace(name: string, value: unknown): void {
    this.#protect(() => {
      if (!isBox(value)) throw new Refused('HF_VALUE');
      const next = plainCopy(value) as Box;
      const doc = this.#doc(name);
      if (Array.isArray(next) === Array.isArray(doc.root)) become(doc.root, next);
      else doc.root = next;
    });
  }

  transaction(fn: () => void): void {
    this.#protect(fn);
  }

  #doc(name: string): { root: Box } {
    return this.docs.get(name) as { root: Box };
  }

  #protect<R>(fn: () => R): R {
    const roots = new Map<{ root: Box }, Box>();
    const contents: Snapshot = new Map();
    for (const doc of this.docs.values()) {
      roots.set(doc, doc.root);
      remember(doc.root, contents);
    }
    try {
      return fn();
    } catch (error) {
      for (const [name, doc] of this.docs) if (!roots.has(doc)) this.docs.delete(name);
      for (const [doc, root] of roots) doc.root = root;
      for (const [box, held] of contents) refill(box, held);
      throw error;
    }
  }

  #assertAttached(box: Box): void {
    for (const { root } of this.docs.values()) if (isInside(root, box)) return;
    throw new Refused('HF_DRAFT');
  }

  set(into: Box, key: string | number, value: unknown): void {
    if (Array.isArray(into)) {
      if ((key as number) > into.length) throw new Refused('HF_VALUE');
      if (isBox(value) && into[key as number] === value) return;
      const copy = plainCopy(value);
      this.#assertAttached(into);
      into[key as number] = copy;
      return;
    }
    if (value === undefined) {
      this.#assertAttached(into);
      delete into[key];
      return;
    }
    if (isBox(value) && Object.hasOwn(into, key) && into[key] === value) return;
    const copy = plainCopy(value);
    this.#assertAttached(into);
    define(into, String(key), copy);
  }

  remove(from: Bag, key: string): void {
    delete from[key];
  }

  assign(into: Bag, value: Bag): void {
    for (const key of Object.keys(value)) this.set(into, key, value[key]);
  }

  call(list: unknown[], method: string, args: unknown[]): unknown {
    switch (method) {
      case 'push':
        return list.push(...args.map(plainCopy));
      case 'unshift':
        return list.unshift(...args.map(plainCopy));
      case 'splice':
        // Positions that are no numbers are complained about before items are.
        [].splice(...(args.slice(0, 2) as [number, number]));
        return list.splice(...([...args.slice(0, 2), ...args.slice(2).map(plainCopy)] as [number, number]));
      case 'fill':
        for (const at of covered(list.length, args[1], args[2])) this.set(list, at, args[0]);
        return list;
      case 'copyWithin': {
        const positions = list.map((_, at) => at);
        positions.copyWithin(...(args as [number, number]));
        const before = [...list];
        positions.forEach((from, at) => {
          if (from !== at) this.set(list, at, before[from]);
        });
        return list;
      }
      default:
        return (list as unknown as Record<string, (...args: unknown[]) => unknown>)[method]?.(...args);
    }
  }

  setLength(list: unknown[], length: number): void {
    if (length > list.length) throw new Refused('HF_VALUE');
    list.length = length;
  }

  append(into: Box, key: string | number, text: string): void {
    const known = Object.hasOwn(into, key) ? (into as Bag)[key] : undefined;
    if (known === undefined) this.set(into, key, text);
    else if (typeof known !== 'string') throw new TypeError('not a string');
    else this.set(into, key, known + text);
  }

  lapsed(): Box {
    return LAPSED;
  }
}

/** The indices that `fill` would reach. */
function covered(length: number, start: unknown, end: unknown): number[] {
  return Array.from({ length }, (_, at) => at).slice(start as number | undefined, end as number | undefined);
}

/** What a document makes of a value: its own copy, without undefined, -0 or holes. */
export function plainCopy(value: unknown): unknown {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value === 0 ? 0 : value;
  if (value === LAPSED) throw new Refused('HF_DRAFT');
  if (Array.isArray(value)) return Array.from(value, plainCopy);
  if (!isBox(value) || Object.getPrototypeOf(value) !== Object.prototype) throw new Refused('HF_VALUE');
  const copy: Bag = {};
  for (const [key, item] of Object.entries(value)) if (item !== undefined) define(copy, key, plainCopy(item));
  return copy;
}

/** Stands, in the model, for a draft whose update is over. */
const LAPSED: Bag = {};

function isInside(tree: Box, box: Box): boolean {
  return tree === box || Object.values(tree).some((item) => isBox(item) && isInside(item, box));
}

function remember(box: Box, into: Snapshot): void {
  into.set(box, Array.isArray(box) ? [...box] : Object.entries(box));
  for (const item of Object.values(box)) if (isBox(item)) remember(item, into);
}

function refill(box: Box, held: unknown): void {
  if (Array.isArray(box)) {
    box.length = 0;
    for (const item of held as unknown[]) box.push(item);
    return;
  }
  for (const key of Object.keys(box)) delete box[key];
  for (const [key, value] of held as [string, unknown][]) define(box, key, value);
}

/** `now` gets the content of `next`, and keeps the containers that are of the same kind in the same place. */
function become(now: Box, next: Box): void {
  if (Array.isArray(now)) {
    const items = next as unknown[];
    refill(
      now,
      items.map((item, at) => kept(now[at], item)),
    );
    return;
  }
  const wanted = Object.entries(next);
  const present = Object.keys(now).filter((key) => Object.hasOwn(next, key));
  const inPlace = present.findIndex((key, at) => key !== wanted[at]?.[0]);
  const stay = new Set(inPlace === -1 ? present : present.slice(0, inPlace));
  refill(
    now,
    wanted.map(([key, item]) => [key, stay.has(key) ? kept((now as Bag)[key], item) : item]),
  );
}

function kept(now: unknown, next: unknown): unknown {
  if (!isBox(now) || !isBox(next) || Array.isArray(now) !== Array.isArray(next)) return next;
  become(now, next);
  return now;
}
