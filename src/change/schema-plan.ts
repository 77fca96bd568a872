// What the checker works out once per schema.

import { type ZodType, z } from 'zod';
import { type Check, type Definition, definitionOf, internalsOf, requiredKeysOf } from './schema-shape.js';

export interface Plan {
  readonly schema: ZodType;
  readonly def: Definition;
  /** Yes without asking zod: true only for what zod accepts and gives back as it is. */
  readonly isSurelyFine: ((value: unknown) => boolean) | null;
  /** The schema's own checks without its children. */
  readonly own: ZodType | null;
  /** Some own check reads more than a length, so it has to be given what zod would give it. */
  readonly readsInside: boolean;
  /** Some own check parses a part of the value with a schema. */
  readonly parsesInside: boolean;
  /** Keys that a record has to have, when they are finitely many. */
  readonly requiredKeys: ReadonlySet<string> | null;
  /** Every key passes the key schema of this record. */
  readonly takesAnyKey: boolean;
  /** This record without its own checks, for one entry at a time. */
  readonly bareRecord: ZodType | null;
  /** One declared property each, so that zod itself says what its absence means. */
  readonly absences: Map<string, ZodType>;
}

const LENGTH_CHECKS = new Set(['min_length', 'max_length', 'length_equals']);
/** They add to a registry when attached, and decide nothing. */
const NOTES = new Set(['describe', 'meta']);

export function planFor(schema: ZodType): Plan {
  const def = definitionOf(schema);
  const checks = (def.checks ?? []).filter((check) => !NOTES.has(kindOf(check)));
  const isRecord = def.type === 'record';
  const values = requiredKeysOf(def);
  return {
    schema,
    def,
    isSurelyFine: quickTest(schema),
    own: checks.length === 0 ? null : z.any().check(...(checks as unknown as z.core.$ZodCheck<unknown>[])),
    readsInside: checks.some((check) => !LENGTH_CHECKS.has(kindOf(check))),
    parsesInside: checks.some(({ _zod }) => _zod.def.schema !== undefined || _zod.def.shape !== undefined),
    requiredKeys: values === undefined ? null : new Set([...values].map(String)),
    takesAnyKey: isRecord && def.keyType !== undefined && isPlainType(def.keyType, 'string'),
    bareRecord: isRecord ? z.core.clone(schema, { ...schema._zod.def, checks: [] }) : null,
    absences: new Map(),
  };
}

function kindOf(check: Check): string {
  return check._zod.def.check;
}

function quickTest(schema: ZodType): Plan['isSurelyFine'] {
  const { def, values } = internalsOf(schema);
  if (!isPlainType(schema, def.type)) return null;
  switch (def.type) {
    case 'string':
      return (value) => typeof value === 'string';
    case 'boolean':
      return (value) => typeof value === 'boolean';
    case 'number':
      return Number.isFinite;
    case 'null':
      return (value) => value === null;
    case 'enum':
    case 'literal':
      return values === undefined ? null : (value) => values.has(value);
    case 'nullable': {
      const inner = def.innerType === undefined ? null : quickTest(def.innerType);
      return inner === null ? null : (value) => value === null || inner(value);
    }
    default:
      return null;
  }
}

/** Of this type and nothing more: no checks, no format. */
function isPlainType(schema: ZodType, type: string): boolean {
  const { def } = internalsOf(schema);
  return def.type === type && def.format === undefined && (def.checks ?? []).length === 0;
}
