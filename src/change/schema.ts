// A schema a document can live with only says yes or no. What would change a value on the way (transform, coerce,
// trim …) is refused, because the state is never replaced by what a parse returns; so is what a document cannot hold.
//
// Not seen here: a refinement that returns a promise without being an `async` function. The first check that meets it
// throws HF_SCHEMA (see validate.ts).

import { HoldfastError } from '../errors.js';
import {
  type Check,
  type Child,
  childrenOf,
  type Def,
  identityOf,
  innerOf,
  isKnownType,
  isSchema,
  type Node,
  type Schema,
  schemasInChecks,
  WRAPPER_TYPES,
} from './schema-shape.js';

export { fingerprint } from './schema-fingerprint.js';
export type { Schema } from './schema-shape.js';

/** A document nests 500 deep at most; a schema that goes on past this makes new schemas for ever. */
const DEPTH_MAX = 1_000;
const NODES_MAX = 100_000;

const DATES = 'use z.iso.datetime() and store the text, or z.number() and store milliseconds';

/** Schema types that are refused: how the caller wrote it, and why and what to do instead. */
const REFUSED: Readonly<Record<string, readonly [what: string, why: string]>> = {
  bigint: ['z.bigint()', 'a document cannot hold a bigint; use z.number(), or z.string() and store the digits'],
  catch: [
    '.catch()',
    'it would accept any value and store the wrong one; use .nullable() or z.union() for what may be',
  ],
  date: ['z.date()', `a document cannot hold a Date; ${DATES}`],
  file: ['z.file()', 'a document cannot hold a File; store its path with z.string()'],
  function: ['z.function()', 'a document cannot hold a function; store data that names it'],
  map: ['z.map()', 'a document cannot hold a Map; use z.record()'],
  nan: ['z.nan()', 'a document cannot hold NaN; use z.null()'],
  promise: ['z.promise()', 'a document cannot hold a promise; await it before the update'],
  set: ['z.set()', 'a document cannot hold a Set; use z.array(), or z.record() with z.literal(true)'],
  success: ['z.success()', 'it turns every value into a boolean; use the schema inside it'],
  symbol: ['z.symbol()', 'a document cannot hold a symbol; use z.literal() or z.enum()'],
  transform: [
    '.transform()',
    'stored values are not rewritten by their schema; transform what you read or what you write',
  ],
};

const accepted = new WeakSet<object>();

/** Throws HF_SCHEMA, naming the place inside the schema, when a document cannot be kept by this schema. */
export function refuseUnusable(schema: Schema, where: string): void {
  if (!isSchema(schema)) throw new TypeError(`Expected the schema of ${where} to be a zod 4 schema`);
  const identity = identityOf(schema);
  if (accepted.has(identity)) return;
  new Walk(where).visit(schema, '', 0);
  accepted.add(identity);
}

class Walk {
  readonly #seen = new Set<object>();

  constructor(readonly where: string) {}

  visit(node: Node, place: string, depth: number): void {
    const identity = identityOf(node);
    if (this.#seen.has(identity)) return;
    this.#seen.add(identity);
    if (depth > DEPTH_MAX || this.#seen.size > NODES_MAX) this.#refuseEndless(place);
    const reason = reasonAgainst(node) ?? reasonAgainstChecks(node);
    if (reason !== null) this.#refuse(reason[0], place, reason[1]);
    for (const child of parts(node)) this.visit(child.node, place + child.step, depth + 1);
  }

  #refuseEndless(place: string): never {
    const start = place.length > 60 ? `${place.slice(0, 60)}…` : place;
    this.#refuse('a recursion without end', start, 'build the recursive schema once and refer to that one');
  }

  #refuse(what: string, place: string, why: string): never {
    const shown = place.startsWith('.') ? place.slice(1) : place;
    const at = shown === '' ? 'at its root' : `at ${shown}`;
    throw new HoldfastError('HF_SCHEMA', `The schema of ${this.where} cannot be used: ${what} ${at}: ${why}.`, {
      details: { place: shown, what },
    });
  }
}

function parts(node: Node): Child[] {
  return [...childrenOf(node), ...schemasInChecks(node)];
}

type Reason = readonly [what: string, why: string];

function reasonAgainst(node: Node): Reason | null {
  const { def } = node._zod;
  if (def.type === 'pipe') return [pipeName(def), REFUSED.transform?.[1] ?? ''];
  const refused = REFUSED[def.type];
  if (refused !== undefined) return refused;
  if (def.coerce === true)
    return [`z.coerce.${def.type}()`, 'stored values are not rewritten; convert before you write'];
  if (def.normalize === true)
    return [`z.${def.format}({ normalize: true })`, 'stored values are not rewritten; leave it out'];
  if (def.type === 'literal') return reasonAgainstLiteral(def.values ?? []);
  if (def.type === 'readonly' && innerReturnsInput(node)) {
    return ['.readonly() around a schema that returns its input', 'it would freeze the document itself; leave it out'];
  }
  return isAsync(def.fn) ? ASYNC : null;
}

function pipeName(def: Def): string {
  if ('reverseTransform' in def) return 'a codec (z.codec(), z.stringbool())';
  if (def.in?._zod.def.type === 'transform') return 'z.preprocess()';
  if (def.out?._zod.def.type === 'transform') return '.transform()';
  return '.pipe()';
}

function reasonAgainstLiteral(values: readonly unknown[]): Reason | null {
  const unholdable = values.find((value) => typeof value === 'bigint' || typeof value === 'symbol');
  if (unholdable === undefined) return null;
  return ['z.literal()', `a document cannot hold a ${typeof unholdable}; use a string or a number`];
}

const ASYNC: Reason = ['an async check', 'an update is checked before it returns; await the answer before the update'];

function reasonAgainstChecks(node: Node): Reason | null {
  for (const check of node._zod.def.checks ?? []) {
    if (check._zod.def.check === 'overwrite') {
      return [
        '.overwrite(), .trim(), .toLowerCase() or the like',
        'stored values are not rewritten; do it before you write',
      ];
    }
    if (isAsyncCheck(check)) return ASYNC;
  }
  return null;
}

function isAsyncCheck(check: Check): boolean {
  return isAsync(check._zod.def.fn) || isAsync(check._zod.check);
}

function isAsync(fn: unknown): boolean {
  return Object.prototype.toString.call(fn) === '[object AsyncFunction]';
}

// `readonly` freezes what the schema inside it gives back. Containers give back a new object; these give back the
// one they got, which would be the document's own.
function innerReturnsInput(node: Node, seen = new Set<object>()): boolean {
  const inner = innerOf(node);
  return inner !== undefined && returnsInput(inner, seen);
}

function returnsInput(node: Node, seen: Set<object>): boolean {
  if (seen.has(identityOf(node))) return false;
  seen.add(identityOf(node));
  const { def } = node._zod;
  if (WRAPPER_TYPES.has(def.type)) return innerReturnsInput(node, seen);
  if (def.type === 'union') return (def.options ?? []).some((option) => returnsInput(option, seen));
  if (def.type === 'intersection') return childrenOf(node).every((side) => returnsInput(side.node, new Set(seen)));
  return def.type === 'any' || def.type === 'unknown' || def.type === 'custom' || !isKnownType(def.type);
}
