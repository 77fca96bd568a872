// What a zod 4 schema looks like from outside: the few internals that are read here, and how to walk them.
//
// I1. Only `_zod` is read, never `instanceof`: a program's schemas may come from another copy of zod 4 than ours.
// I2. Schemas are graphs. A walk recognises where it has been by `identityOf`, or it does not end.
// I3. Lazy schemas with one getter are one place with the same inside. What was checked on top (`hasOwnChecks`) is not inside.

import type { ZodType } from 'zod';

export interface Check {
  readonly _zod: {
    readonly def: {
      readonly check: string;
      readonly fn?: unknown;
      /** `z.property()` */
      readonly schema?: ZodType;
      /** `z.properties()` */
      readonly shape?: Readonly<Record<string, ZodType>>;
    };
    readonly check?: unknown;
  };
}

/** The definitions of all schema types in one: which fields are there depends on `type`. */
export interface Definition {
  readonly type: string;
  readonly checks?: readonly Check[];
  readonly coerce?: boolean;
  readonly format?: string;
  readonly normalize?: boolean;
  readonly fn?: unknown;
  readonly values?: readonly unknown[];
  readonly shape?: Readonly<Record<string, ZodType>>;
  readonly catchall?: ZodType;
  readonly element?: ZodType;
  readonly items?: readonly ZodType[];
  readonly rest?: ZodType | null;
  readonly keyType?: ZodType;
  readonly valueType?: ZodType;
  readonly mode?: string;
  readonly partial?: boolean;
  readonly innerType?: ZodType;
  readonly getter?: object;
  readonly options?: readonly ZodType[];
  readonly discriminator?: string;
  readonly left?: ZodType;
  readonly right?: ZodType;
  readonly in?: ZodType;
  readonly out?: ZodType;
}

interface Internals {
  readonly def: Definition;
  /** Every value that passes, when they are finitely many. */
  readonly values?: ReadonlySet<unknown>;
  /** The values of each property that tells options of a union apart. */
  readonly propValues?: Readonly<Record<string, ReadonlySet<unknown>>>;
  /** What a lazy schema resolves to, resolved once. */
  readonly innerType?: ZodType;
}

export function internalsOf(schema: ZodType): Internals {
  return schema._zod as unknown as Internals;
}

export function definitionOf(schema: ZodType): Definition {
  return internalsOf(schema).def;
}

export function isSchema(value: unknown): value is ZodType {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  return typeof (value as { _zod?: { def?: { type?: unknown } } })._zod?.def?.type === 'string';
}

/** The schema a wrapper stands for. */
export function innerOf(schema: ZodType): ZodType | undefined {
  const { def, innerType } = internalsOf(schema);
  return def.type === 'lazy' ? innerType : def.innerType;
}

/** The keys that a record has to have, when they are finitely many. Early versions of zod 4 say `partial` by this alone. */
export function requiredKeysOf({ type, partial, keyType }: Definition): ReadonlySet<unknown> | undefined {
  return type === 'record' && !partial && keyType ? internalsOf(keyType).values : undefined;
}

/** Two schemas at the same place of a graph: clones share their definition, a factory's lazy schemas their getter. */
export function identityOf(schema: ZodType): object {
  const def = definitionOf(schema);
  return def.getter ?? def;
}

/** Something that `identityOf` does not tell apart: `lazy.refine(…)` has the getter of `lazy`. */
export function hasOwnChecks(schema: ZodType): boolean {
  const { getter, checks = [] } = definitionOf(schema);
  return getter !== undefined && checks.length > 0;
}

/** A schema inside another one, and how to say where. */
export type Part = readonly [step: string, schema: ZodType];

/** Schemas for values inside or behind this one, those that its checks hold included. */
export function partsOf(schema: ZodType): Part[] {
  const def = definitionOf(schema);
  const found: [string, ZodType | null | undefined][] = [
    ['', innerOf(schema)],
    ...named(def.shape),
    ['[*]', def.catchall],
    ['[]', def.element],
    ...(def.items ?? []).map((item, index): [string, ZodType] => [`[${index}]`, item]),
    ['[]', def.rest],
    ['[key]', def.keyType],
    ['[*]', def.valueType],
    ...(def.options ?? []).map((option, index): [string, ZodType] => [`<option ${index}>`, option]),
    ['<left>', def.left],
    ['<right>', def.right],
  ];
  return [...found.filter(isPart), ...partsOfChecks(schema)];
}

export function partsOfChecks(schema: ZodType): Part[] {
  const { checks = [] } = definitionOf(schema);
  return checks
    .flatMap(({ _zod: { def } }) => [['<property>', def.schema] as const, ...named(def.shape)])
    .filter(isPart);
}

function isPart(part: readonly [string, ZodType | null | undefined]): part is [string, ZodType] {
  return isSchema(part[1]);
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

function named(shape: Readonly<Record<string, ZodType>> = {}): [string, ZodType | undefined][] {
  return Object.keys(shape).map((key) => [IDENTIFIER.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`, shape[key]]);
}

/** Types whose values are never objects. */
export const PRIMITIVE_TYPES: ReadonlySet<string> = new Set([
  'boolean',
  'enum',
  'literal',
  'never',
  'null',
  'number',
  'string',
  'template_literal',
  'undefined',
  'void',
]);
