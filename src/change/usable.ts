// Schemas a document can live with. Validation decides and never rewrites, so a schema that produces something other
// than what it was given is refused when the document is opened, with the place and what to use instead.

import type { ZodType } from 'zod';
import { HoldfastError } from '../errors.js';

/** The parts of a schema's definition that are looked at here. */
export interface Definition {
  type: string;
  coerce?: boolean;
  checks?: { _zod: { def: { check: string; fn?: unknown } } }[];
  shape?: Record<string, ZodType>;
  catchall?: ZodType;
  element?: ZodType;
  items?: ZodType[];
  rest?: ZodType | null;
  keyType?: ZodType;
  valueType?: ZodType;
  innerType?: ZodType;
  getter?: () => ZodType;
  options?: ZodType[];
  left?: ZodType;
  right?: ZodType;
  mode?: string;
  partial?: boolean;
}

export function definitionOf(schema: ZodType): Definition {
  return schema._zod.def as unknown as Definition;
}

const REFUSED: Record<string, string> = {
  transform: 'it changes values; change them in the update instead',
  pipe: 'transform, pipe, preprocess and codec change values; change them in the update instead',
  catch: 'it replaces bad values in silence; use .optional() or .nullable()',
  success: 'it replaces values by true or false',
  promise: 'a document cannot hold a promise',
  function: 'a document cannot hold a function',
  date: 'a document cannot hold a Date; use z.iso.datetime()',
  bigint: 'a document cannot hold a bigint; use z.string() or z.number()',
  symbol: 'a document cannot hold a symbol',
  map: 'a document cannot hold a Map; use z.record()',
  set: 'a document cannot hold a Set; use z.array()',
  file: 'a document cannot hold a File; store its path',
  nan: 'a document cannot hold NaN; use z.null()',
};

/** Types that make a new value: freezing their output freezes no part of the document. */
const MAKES_ITS_OWN = new Set([
  'object',
  'array',
  'record',
  'tuple',
  'string',
  'number',
  'boolean',
  'enum',
  'literal',
  'null',
]);

/** Throws for a schema that cannot be used. Says whether code of the caller looks at values. */
export function inspectSchema(schema: ZodType, where: string): { hasRefinements: boolean } {
  const seen = new Set<ZodType>();
  let hasRefinements = false;
  const visit = (at: ZodType, place: string): void => {
    if (seen.has(at)) return;
    seen.add(at);
    const def = definitionOf(at);
    const reason = REFUSED[def.type] ?? (def.coerce ? 'coercion changes values' : undefined);
    if (reason !== undefined) refuse(def.type, place, where, reason);
    if (def.type === 'readonly' && !MAKES_ITS_OWN.has(definitionOf(def.innerType as ZodType).type)) {
      refuse('readonly', place, where, 'it would freeze the document; leave out .readonly() here');
    }
    hasRefinements ||= def.type === 'custom';
    for (const { _zod } of def.checks ?? []) {
      if (_zod.def.check === 'overwrite')
        refuse('overwrite', place, where, 'trim, toLowerCase and the like change values');
      if (_zod.def.check !== 'custom') continue;
      hasRefinements = true;
      if (isAsync(_zod.def.fn)) refuse('async refinement', place, where, 'updates are synchronous');
    }
    for (const [name, part] of partsOf(def)) visit(part, `${place}${name}`);
  };
  visit(schema, 'schema');
  return { hasRefinements };
}

function* partsOf(def: Definition): Generator<[string, ZodType]> {
  for (const key of Object.keys(def.shape ?? {})) yield [`.${key}`, def.shape?.[key] as ZodType];
  for (const [index, item] of (def.items ?? []).entries()) yield [`[${index}]`, item];
  for (const [index, option] of (def.options ?? []).entries()) yield [`|${index}`, option];
  const single = {
    '[…]': def.element,
    '.*': def.catchall,
    '[rest]': def.rest,
    '{key}': def.keyType,
    '{value}': def.valueType,
  };
  for (const [name, part] of Object.entries(single)) if (part) yield [name, part];
  for (const part of [def.innerType, def.left, def.right, def.getter?.()]) if (part) yield ['', part];
}

function isAsync(fn: unknown): boolean {
  return typeof fn === 'function' && fn.constructor.name === 'AsyncFunction';
}

function refuse(type: string, place: string, where: string, reason: string): never {
  throw new HoldfastError('HF_SCHEMA', `The schema of '${where}' cannot be used: ${place} is a ${type}: ${reason}.`);
}
