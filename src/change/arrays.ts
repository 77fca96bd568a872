// Array methods of a draft. They run on the raw array: a search through a proxy costs 150 times as much. Items that are
// objects are handed out as drafts, items that come in are copied.

import { HoldfastError, showPath } from '../errors.js';
import type { DraftNode } from './draft.js';
import { pushAll, reorder, setIndex, spliceRaw } from './edit.js';
import { handleOf } from './handles.js';

type Method = (node: DraftNode, args: unknown[]) => unknown;
type Callback = (...args: unknown[]) => unknown;

const rawItems = (node: DraftNode) => node.raw as unknown[];

export function* arrayIterator(node: DraftNode): Generator<unknown> {
  const raw = rawItems(node);
  for (let index = 0; index < raw.length; index++) yield node.wrap(raw[index], index);
}

function* entryIterator(node: DraftNode): Generator<unknown> {
  const raw = rawItems(node);
  for (let index = 0; index < raw.length; index++) yield [index, node.wrap(raw[index], index)];
}

/** `forEach`, `some`, …: the callback sees drafts, the result is a plain value. */
function visiting(name: 'forEach' | 'map' | 'flatMap' | 'some' | 'every' | 'findIndex' | 'findLastIndex'): Method {
  return (node, [callback, self]) => {
    const visit = asCallback(callback);
    const run = rawItems(node)[name] as (fn: Callback) => unknown;
    return run.call(rawItems(node), (item, index) =>
      visit.call(self, node.wrap(item, index as number), index, node.proxy),
    );
  };
}

/** `find`, `filter`, …: the callback and the caller both see drafts. */
function finding(name: 'find' | 'findLast'): Method {
  return (node, [callback, self]) => {
    const visit = asCallback(callback);
    const position = name === 'find' ? 'findIndex' : 'findLastIndex';
    const raw = rawItems(node);
    let draft: unknown;
    const index = raw[position]((item, at) => {
      draft = node.wrap(item, at);
      return Boolean(visit.call(self, draft, at, node.proxy));
    });
    return index === -1 ? undefined : draft;
  };
}

function filter(node: DraftNode, [callback, self]: unknown[]): unknown[] {
  const visit = asCallback(callback);
  const found: unknown[] = [];
  rawItems(node).forEach((item, index) => {
    const draft = node.wrap(item, index);
    if (visit.call(self, draft, index, node.proxy)) found.push(draft);
  });
  return found;
}

function reducing(name: 'reduce' | 'reduceRight'): Method {
  return (node, args) => {
    const visit = asCallback(args[0]);
    const raw = rawItems(node);
    const before = name === 'reduce' ? -1 : 1;
    // Without a start value the first sum is an item, and becomes a draft here like any other.
    let isItem = args.length < 2;
    const step: Callback = (sum, item, index) => {
      const start = isItem ? node.wrap(sum, (index as number) + before) : sum;
      isItem = false;
      return visit(start, node.wrap(item, index as number), index, node.proxy);
    };
    const result = args.length > 1 ? raw[name](step, args[1]) : raw[name](step);
    return isItem ? node.wrap(result, 0) : result;
  };
}

/** Searches by identity: a draft stands for the object behind it. */
function searching(name: 'includes' | 'indexOf' | 'lastIndexOf'): Method {
  return (node, [item, ...from]) => {
    const search = rawItems(node)[name] as (item: unknown, ...from: unknown[]) => unknown;
    return search.call(rawItems(node), handleOf(item)?.raw ?? item, ...from);
  };
}

function slice(node: DraftNode, [start, end]: unknown[]): unknown[] {
  const raw = rawItems(node);
  const first = clampIndex(start, raw.length, 0);
  return raw.slice(first, end as number | undefined).map((item, offset) => node.wrap(item, first + offset));
}

function push(node: DraftNode, items: unknown[]): number {
  const { length } = rawItems(node);
  pushAll(
    node,
    items.map((item, offset) => node.copyIn(item, length + offset)),
  );
  return rawItems(node).length;
}

function splice(node: DraftNode, args: unknown[]): unknown[] {
  const raw = rawItems(node);
  const [from, wanted, ...items] = args;
  const asked = clampIndex(from, raw.length, 0);
  const most = args.length === 0 ? 0 : args.length === 1 ? raw.length : Math.max(toInteger(wanted), 0);
  const copies = items.map((item, offset) => node.copyIn(item, asked + offset));
  // Only now: getters of the items may have shortened the array.
  const start = Math.min(asked, raw.length);
  const count = Math.min(most, raw.length - start);
  return spliceRaw(node, start, count, copies).map((item, offset) => node.wrap(item, start + offset));
}

function pop(node: DraftNode): unknown {
  const raw = rawItems(node);
  if (raw.length === 0) return undefined;
  const last = raw.length - 1;
  return node.wrap(spliceRaw(node, last, 1, [])[0], last);
}

function shift(node: DraftNode): unknown {
  if (rawItems(node).length === 0) return undefined;
  return node.wrap(spliceRaw(node, 0, 1, [])[0], 0);
}

function unshift(node: DraftNode, items: unknown[]): number {
  const copies = items.map((item, index) => node.copyIn(item, index));
  spliceRaw(node, 0, 0, copies);
  return rawItems(node).length;
}

function sort(node: DraftNode, [compare]: unknown[]): unknown {
  const before = rawItems(node).slice();
  const next = before.slice();
  if (compare === undefined) next.sort();
  else {
    const order = asCallback(compare);
    next.sort((a, b) => order(node.wrap(a, 0), node.wrap(b, 0)) as number);
  }
  const now = rawItems(node);
  if (now.length !== before.length || now.some((item, index) => item !== before[index])) {
    throw new HoldfastError('HF_DRAFT', `${showPath(node.path())} was changed by the function that sorts it.`);
  }
  reorder(node, next);
  return node.proxy;
}

function reverse(node: DraftNode): unknown {
  reorder(node, rawItems(node).slice().reverse());
  return node.proxy;
}

function fill(node: DraftNode, [value, start, end]: unknown[]): unknown {
  const { length } = rawItems(node);
  const last = clampIndex(end, length, length);
  for (let index = clampIndex(start, length, 0); index < last; index++) setIndex(node, index, value);
  return node.proxy;
}

function copyWithin(node: DraftNode, [target, start, end]: unknown[]): unknown {
  const raw = rawItems(node);
  const to = clampIndex(target, raw.length, 0);
  const source = raw.slice(clampIndex(start, raw.length, 0), clampIndex(end, raw.length, raw.length));
  source.slice(0, raw.length - to).forEach((item, offset) => {
    setIndex(node, to + offset, item);
  });
  return node.proxy;
}

export const ARRAY_METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['push', push],
  ['pop', pop],
  ['shift', shift],
  ['unshift', unshift],
  ['splice', splice],
  ['sort', sort],
  ['reverse', reverse],
  ['fill', fill],
  ['copyWithin', copyWithin],
  ['forEach', visiting('forEach')],
  ['map', visiting('map')],
  ['flatMap', visiting('flatMap')],
  ['some', visiting('some')],
  ['every', visiting('every')],
  ['findIndex', visiting('findIndex')],
  ['findLastIndex', visiting('findLastIndex')],
  ['find', finding('find')],
  ['findLast', finding('findLast')],
  ['filter', filter],
  ['reduce', reducing('reduce')],
  ['reduceRight', reducing('reduceRight')],
  ['includes', searching('includes')],
  ['indexOf', searching('indexOf')],
  ['lastIndexOf', searching('lastIndexOf')],
  ['slice', slice],
  ['join', (node, [separator]) => rawItems(node).join(separator as string | undefined)],
  ['at', (node, [index]) => at(node, toInteger(index))],
  ['values', (node) => arrayIterator(node)],
  ['entries', (node) => entryIterator(node)],
]);

function at(node: DraftNode, index: number): unknown {
  const raw = rawItems(node);
  const position = index < 0 ? raw.length + index : index;
  return node.wrap(raw[position], position);
}

function asCallback(value: unknown): Callback {
  if (typeof value === 'function') return value as Callback;
  throw new TypeError(`Expected a function, got ${typeof value}`);
}

function toInteger(value: unknown): number {
  // `+` refuses a bigint, as arrays do; Number() would take it.
  const number = Math.trunc(+(value as number));
  return Number.isNaN(number) ? 0 : number;
}

function clampIndex(value: unknown, length: number, absent: number): number {
  if (value === undefined) return absent;
  const index = toInteger(value);
  return index < 0 ? Math.max(length + index, 0) : Math.min(index, length);
}
