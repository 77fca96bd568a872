// Schemas a document can live with. Validation decides and never rewrites, so a schema that produces something other
// than what it was given is refused when the document is opened, with the place and what to use instead. So is what a
// document cannot hold.
//
// Not refused: `readonly` (what it freezes is a copy, see checker.ts), and z.url(), which trims what it returns: the
// state keeps the text as it was written.
// Not seen here: a refinement that gives a promise without being an `async` function. The first check that meets it
// throws HF_SCHEMA.

import type { ZodType } from 'zod';
import { HoldfastError } from '../errors.js';
import {
  type Check,
  definitionOf,
  hasOwnChecks,
  identityOf,
  isSchema,
  PRIMITIVE_TYPES,
  partsOf,
  partsOfChecks,
} from './schema-shape.js';

/** A document nests 500 deep at most; a schema that goes on past this makes new schemas for ever. */
const DEPTH_MAX = 1_000;
const SCHEMAS_MAX = 100_000;

type Reason = readonly [what: string, why: string];

const NOT_REWRITTEN = 'stored values are not rewritten by their schema';

/** Schema types that are refused: how the caller wrote it, and why and what to use instead. */
const REFUSED: Readonly<Record<string, Reason>> = {
  bigint: ['z.bigint()', 'a document cannot hold a bigint; use z.number(), or z.string() and store the digits'],
  catch: ['.catch()', 'it would accept any value and keep the wrong one; use .optional(), .nullable() or z.union()'],
  date: ['z.date()', 'a document cannot hold a Date; use z.iso.datetime() and store the text'],
  file: ['z.file()', 'a document cannot hold a File; use z.string() and store its path'],
  function: ['z.function()', 'a document cannot hold a function; store data that names it'],
  map: ['z.map()', 'a document cannot hold a Map; use z.record()'],
  nan: ['z.nan()', 'a document cannot hold NaN; use z.null()'],
  promise: ['z.promise()', 'a document cannot hold a promise; await it before the update'],
  set: ['z.set()', 'a document cannot hold a Set; use z.array(), or z.record() with z.literal(true)'],
  success: ['z.success()', 'it turns every value into true or false; use the schema inside it'],
  symbol: ['z.symbol()', 'a document cannot hold a symbol; use z.literal() or z.enum()'],
  transform: ['z.transform()', `${NOT_REWRITTEN}; use the schema of the result, and transform before the update`],
};

const ASYNC: Reason = ['an async refinement', 'updates are synchronous; await the answer before the update'];

export interface Inspection {
  /** A refinement of the caller looks at objects or arrays. */
  readonly runsCallerCode: boolean;
}

/** Throws for a schema that cannot be used for the document `name`. */
export function inspectSchema(schema: ZodType, name: string): Inspection {
  if (!isSchema(schema)) throw new TypeError(`Expected \`schema\` to be a zod 4 schema, got ${describe(schema)}`);
  const seen = new Set<object>();
  let runsCallerCode = false;
  const visit = (at: ZodType, place: string, depth: number): void => {
    const identity = identityOf(at);
    const isKnown = seen.has(identity);
    if (isKnown && !hasOwnChecks(at)) return;
    seen.add(identity);
    if (depth > DEPTH_MAX || seen.size > SCHEMAS_MAX) refuseEndless(name, place);
    const reason = reasonAgainst(at);
    if (reason !== null) refuse(name, place, reason);
    runsCallerCode ||= looksAtContainers(at);
    for (const [step, part] of isKnown ? partsOfChecks(at) : partsOf(at)) visit(part, place + step, depth + 1);
  };
  visit(schema, '', 0);
  return { runsCallerCode };
}

function looksAtContainers(schema: ZodType): boolean {
  const { type, checks = [] } = definitionOf(schema);
  if (PRIMITIVE_TYPES.has(type)) return false;
  return type === 'custom' || checks.some(({ _zod }) => _zod.def.check === 'custom');
}

function reasonAgainst(schema: ZodType): Reason | null {
  const def = definitionOf(schema);
  if (def.type === 'pipe') return [nameOfPipe(schema), `${NOT_REWRITTEN}; change them before the update`];
  const refused = REFUSED[def.type];
  if (refused !== undefined) return refused;
  if (def.coerce === true) return [`z.coerce.${def.type}()`, `${NOT_REWRITTEN}; use z.${def.type}() and convert first`];
  if (def.normalize === true) return [`z.${def.format}({ normalize: true })`, `${NOT_REWRITTEN}; leave out normalize`];
  const unholdable = def.type === 'literal' ? def.values?.find(isUnholdable) : undefined;
  if (unholdable !== undefined) {
    return ['z.literal()', `a document cannot hold a ${typeof unholdable}; use a string or a number`];
  }
  if (isAsync(def.fn)) return ASYNC;
  return reasonAgainstChecks(def.checks ?? []);
}

function nameOfPipe(schema: ZodType): string {
  const def = definitionOf(schema);
  if ('reverseTransform' in def) return 'a codec (z.codec(), z.stringbool())';
  if (def.in !== undefined && definitionOf(def.in).type === 'transform') return 'z.preprocess()';
  return def.out !== undefined && definitionOf(def.out).type === 'transform' ? '.transform()' : '.pipe()';
}

function reasonAgainstChecks(checks: readonly Check[]): Reason | null {
  for (const { _zod } of checks) {
    if (_zod.def.check === 'overwrite') {
      return ['.overwrite(), .trim(), .toLowerCase() or the like', `${NOT_REWRITTEN}; do it before the update`];
    }
    if (isAsync(_zod.def.fn) || isAsync(_zod.check)) return ASYNC;
  }
  return null;
}

function isUnholdable(value: unknown): boolean {
  return typeof value === 'bigint' || typeof value === 'symbol';
}

function isAsync(fn: unknown): boolean {
  return Object.prototype.toString.call(fn) === '[object AsyncFunction]';
}

function refuseEndless(name: string, place: string): never {
  const start = place.length > 60 ? `${place.slice(0, 60)}…` : place;
  refuse(name, start, ['a recursion that makes new schemas for ever', 'build the schema once and refer to that one']);
}

function refuse(name: string, place: string, [what, why]: Reason): never {
  const shown = place.startsWith('.') ? place.slice(1) : place;
  const at = shown === '' ? 'at its root' : `at ${shown}`;
  throw new HoldfastError('HF_SCHEMA', `The schema of '${name}' cannot be used: ${what} ${at}: ${why}.`, {
    details: { place: shown, what },
  });
}

function describe(value: unknown): string {
  if (value === null || typeof value !== 'object') return value === null ? 'null' : typeof value;
  if ('_def' in value) return 'a zod 3 schema';
  return Array.isArray(value) ? 'an array' : 'an object';
}
