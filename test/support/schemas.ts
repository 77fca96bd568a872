// Random schemas, values for them, and edits that a document with such a schema may or may not survive. A schema is
// described by a `Spec`, so that what fails can be made smaller; everything else follows from a seed.

import fc from 'fast-check';
import { type ZodType, z } from 'zod';

export type Spec =
  | {
      kind:
        | 'string'
        | 'number'
        | 'boolean'
        | 'null'
        | 'any'
        | 'enum'
        | 'literal'
        | 'short'
        | 'undefined'
        | 'custom'
        | 'tag';
    }
  | { kind: 'object'; mode: 'plain' | 'strict' | 'loose' | 'catchall'; fields: [string, Spec][]; rest: Spec }
  | { kind: 'record'; keys: 'string' | 'pattern' | 'enum' | 'partial' | 'number' | 'loose' | 'looseEnum'; value: Spec }
  | { kind: 'array'; item: Spec; min: number; max: number }
  | { kind: 'tuple'; items: Spec[]; rest: Spec | null }
  | { kind: 'union'; options: Spec[] }
  | { kind: 'tagged'; options: [string, Spec][][] }
  | { kind: 'both'; left: Spec; right: Spec }
  | { kind: 'optional' | 'exactOptional' | 'nullable' | 'readonly' | 'nonoptional' | 'lazy'; inner: Spec }
  | { kind: 'default' | 'prefault'; inner: Spec; seed: number }
  | { kind: 'tree'; leaf: Spec; style: 'getter' | 'lazy' }
  | { kind: 'refined'; inner: Spec; form: RefineForm; modulus: number; rest: number };

const REFINE_FORMS = ['refine', 'abort', 'when', 'super', 'check', 'in', 'property'] as const;
type RefineForm = (typeof REFINE_FORMS)[number];

const FIELDS = ['a', 'b', 'c', 'tag', 'constructor'];
const KEYS = ['a', 'b', 'c', 'tag', 'x', '1', '-2', '1.5', '01', '1e21', '__proto__', 'constructor'];
const TEXTS = ['', 'a', 'b', 'long text'];

export const specs: fc.Arbitrary<Spec> = fc.letrec<{ spec: Spec; container: Spec }>((tie) => {
  const spec = tie('spec');
  const fields = fc.uniqueArray(fc.tuple(fc.constantFrom(...FIELDS), spec), {
    selector: ([name]) => name,
    minLength: 1,
    maxLength: 4,
  });
  const container: fc.Arbitrary<Spec> = fc.oneof(
    { maxDepth: 5, depthIdentifier: 'spec' },
    fc.constant<Spec>({ kind: 'record', keys: 'string', value: { kind: 'number' } }),
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('object' as const),
        mode: fc.constantFrom('plain' as const, 'strict' as const, 'loose' as const, 'catchall' as const),
        fields,
        rest: spec,
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('record' as const),
        keys: fc.constantFrom(
          'string' as const,
          'pattern' as const,
          'enum' as const,
          'partial' as const,
          'number' as const,
          'loose' as const,
          'looseEnum' as const,
        ),
        value: spec,
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('array' as const),
        item: spec,
        min: fc.nat(2),
        max: fc.integer({ min: 2, max: 6 }),
      }),
    },
    fc.record({
      kind: fc.constant('tuple' as const),
      items: fc.array(spec, { minLength: 1, maxLength: 3 }),
      rest: fc.option(spec),
    }),
    fc.record({ kind: fc.constant('union' as const), options: fc.array(spec, { minLength: 1, maxLength: 3 }) }),
    fc.record({
      kind: fc.constant('tagged' as const),
      options: fc.array(fields, { minLength: 1, maxLength: 3 }),
    }),
    fc.record({ kind: fc.constant('both' as const), left: tie('container'), right: tie('container') }),
    fc.record({
      kind: fc.constant('tree' as const),
      leaf: spec,
      style: fc.constantFrom('getter' as const, 'lazy' as const),
    }),
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('refined' as const),
        inner: tie('container'),
        form: fc.constantFrom(...REFINE_FORMS),
        modulus: fc.integer({ min: 2, max: 5 }),
        rest: fc.nat(4),
      }),
    },
    fc.record({
      kind: fc.constantFrom('readonly' as const, 'lazy' as const, 'nullable' as const),
      inner: tie('container'),
    }),
  );
  const leaf: fc.Arbitrary<Spec> = fc.record({
    kind: fc.constantFrom(
      'string' as const,
      'number' as const,
      'boolean' as const,
      'null' as const,
      'any' as const,
      'enum' as const,
      'literal' as const,
      'short' as const,
      'undefined' as const,
      'custom' as const,
    ),
  });
  return {
    container,
    spec: fc.oneof(
      { maxDepth: 5, depthIdentifier: 'spec' },
      { weight: 3, arbitrary: leaf },
      { weight: 4, arbitrary: tie('container') },
      {
        weight: 3,
        arbitrary: fc.record({
          kind: fc.constantFrom(
            'optional' as const,
            'exactOptional' as const,
            'nullable' as const,
            'readonly' as const,
            'nonoptional' as const,
            'lazy' as const,
          ),
          inner: spec,
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          kind: fc.constantFrom('default' as const, 'prefault' as const),
          inner: spec,
          seed: fc.nat(),
        }),
      },
      fc.record({
        kind: fc.constant('refined' as const),
        inner: spec,
        form: fc.constantFrom(...REFINE_FORMS),
        modulus: fc.integer({ min: 2, max: 5 }),
        rest: fc.nat(4),
      }),
    ),
  };
}).container;

export function build(spec: Spec): ZodType {
  switch (spec.kind) {
    case 'string':
      return z.string();
    case 'number':
      return z.number();
    case 'boolean':
      return z.boolean();
    case 'null':
      return z.null();
    case 'any':
      return z.any();
    case 'undefined':
      return z.union([z.undefined(), z.number()]);
    case 'custom':
      return z.custom((value) => size(value) % 3 !== 2);
    case 'enum':
      return z.enum(['a', 'b']);
    case 'tag':
      return z.templateLiteral(['k', z.number()]);
    case 'literal':
      return z.literal(['a', 1, null]);
    case 'short':
      return z.string().max(4);
    case 'object':
      return buildObject(spec);
    case 'record':
      return buildRecord(spec.keys, build(spec.value));
    case 'array':
      return z.array(build(spec.item)).min(spec.min).max(spec.max);
    case 'tuple': {
      const items = spec.items.map(build) as [ZodType, ...ZodType[]];
      return spec.rest === null ? z.tuple(items) : z.tuple(items, build(spec.rest));
    }
    case 'union':
      return z.union(spec.options.map(build));
    case 'tagged':
      return z.discriminatedUnion('kind', spec.options.map(taggedOption) as never);
    case 'both':
      return z.intersection(build(spec.left), build(spec.right));
    case 'tree':
      return buildTree(build(spec.leaf), spec.style);
    case 'refined':
      return refine(build(spec.inner), spec.form, (value) => size(value) % spec.modulus !== spec.rest);
    case 'lazy': {
      const inner = build(spec.inner);
      return z.lazy(() => inner);
    }
    default:
      return wrap(spec, build(spec.inner));
  }
}

type Wrapper = Extract<Spec, { inner: Spec }>;

function wrap(spec: Wrapper, inner: ZodType): ZodType {
  switch (spec.kind) {
    case 'optional':
      return inner.optional();
    case 'exactOptional':
      return z.exactOptional(inner);
    case 'nullable':
      return inner.nullable();
    case 'nonoptional':
      return z.nonoptional(inner);
    case 'default':
      return inner.default(() => valueFor(spec.inner, random(spec.seed)) ?? null);
    case 'prefault':
      return inner.prefault(() => valueFor(spec.inner, random(spec.seed)) ?? null);
    default:
      return inner.readonly();
  }
}

function buildObject({ mode, fields, rest }: Extract<Spec, { kind: 'object' }>): ZodType {
  const shape = Object.fromEntries(fields.map(([name, field]) => [name, build(field)]));
  if (mode === 'strict') return z.strictObject(shape);
  if (mode === 'loose') return z.looseObject(shape);
  return mode === 'plain' ? z.object(shape) : z.object(shape).catchall(build(rest));
}

function buildRecord(keys: Extract<Spec, { kind: 'record' }>['keys'], value: ZodType): ZodType {
  switch (keys) {
    case 'string':
      return z.record(z.string(), value);
    case 'pattern':
      return z.record(z.string().regex(/^[a-c1_]/), value);
    case 'enum':
      return z.record(z.enum(['a', 'b', 'constructor']), value);
    case 'partial':
      return z.partialRecord(z.enum(['a', 'b', 'x']), value);
    case 'number':
      return z.record(z.number(), value);
    case 'loose':
      return z.looseRecord(z.string().regex(/^[a-c]/), value);
    case 'looseEnum':
      return z.looseRecord(z.enum(['a', 'b']), value);
  }
}

function taggedOption(fields: [string, Spec][], index: number): ZodType {
  const shape = Object.fromEntries(fields.map(([name, field]) => [name, build(field)]));
  const option = z.object({ ...shape, kind: z.literal(`k${index}`) });
  return index === 1 ? option.refine((value) => size(value) % 4 !== 1) : option;
}

function buildTree(leaf: ZodType, style: 'getter' | 'lazy'): ZodType {
  if (style === 'lazy') {
    const tree: ZodType = z.object({ leaf, kids: z.array(z.lazy(() => tree)).max(3) });
    return tree;
  }
  const tree = z.object({
    leaf,
    get kids(): ZodType {
      return z.array(tree).max(3);
    },
  });
  return tree.refine((value) => size(value) % 5 !== 4);
}

function refine(inner: ZodType, form: RefineForm, isFine: (value: unknown) => boolean): ZodType {
  switch (form) {
    case 'refine':
      return inner.refine(isFine, 'refined');
    case 'abort':
      return inner.refine(isFine, { abort: true }).refine((value) => size(value) % 11 !== 7);
    case 'when':
      return inner.refine(isFine, { when: ({ value }) => size(value) % 2 === 0 });
    case 'super':
      return inner.superRefine((value, context) => {
        if (!isFine(value)) context.addIssue('super');
      });
    case 'check':
      return inner.check((payload) => {
        if (!isFine(payload.value)) payload.issues.push({ code: 'custom', input: payload.value, message: 'checked' });
      });
    case 'in':
      return inner.refine((value) => typeof value !== 'object' || value === null || !('c' in value) || isFine(value));
    case 'property':
      return inner.check(z.property('a', z.custom(isFine)) as never);
  }
}

function size(value: unknown): number {
  return (JSON.stringify(value) ?? '').length;
}

/** Whole numbers below a limit, the same ones for the same seed. */
export type Random = (below: number) => number;

export function random(seed: number): Random {
  let state = seed | 0;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

function pick<V>(values: readonly V[], rng: Random): V {
  return values[rng(values.length)] as V;
}

/** A value that the schema accepts, refinements and clashes inside intersections apart. Undefined means absent. */
export function valueFor(spec: Spec, rng: Random, depth = 0): unknown {
  switch (spec.kind) {
    case 'string':
      return pick(TEXTS, rng);
    case 'number':
      return rng(20);
    case 'boolean':
      return rng(2) === 0;
    case 'null':
      return null;
    case 'any':
    case 'custom':
      return garbage(rng);
    case 'undefined':
      return rng(3) === 0 ? undefined : rng(5);
    case 'enum':
      return pick(['a', 'b'], rng);
    case 'tag':
      return `k${rng(3)}`;
    case 'literal':
      return pick(['a', 1, null], rng);
    case 'short':
      return pick(['', 'a', 'b'], rng);
    case 'object':
      return objectFor(spec.fields, rng, depth);
    case 'record':
      return recordFor(spec, rng, depth);
    case 'array':
      return listOf(spec.item, Math.min(spec.max, spec.min + rng(3)), rng, depth);
    case 'tuple': {
      const items = spec.items.map((item) => valueFor(item, rng, depth + 1));
      while (items.length > 0 && items.at(-1) === undefined) items.pop();
      const isFull = items.length === spec.items.length;
      const rest = spec.rest !== null && isFull ? listOf(spec.rest, rng(3), rng, depth) : [];
      return [...items.map((item) => item ?? null), ...rest];
    }
    case 'union':
      return valueFor(pick(spec.options, rng), rng, depth);
    case 'tagged': {
      const index = rng(spec.options.length);
      return { ...objectFor(spec.options[index] ?? [], rng, depth), kind: `k${index}` };
    }
    case 'both': {
      const left = valueFor(spec.left, rng, depth);
      const right = valueFor(spec.right, rng, depth);
      const areObjects = [left, right].every((side) => typeof side === 'object' && side && !Array.isArray(side));
      return areObjects ? { ...(left as object), ...(right as object) } : left;
    }
    case 'tree': {
      const kids = depth > 3 ? 0 : rng(3);
      return {
        ...objectFor([['leaf', spec.leaf]], rng, depth),
        kids: Array.from({ length: kids }, () => valueFor(spec, rng, depth + 2)),
      };
    }
    case 'nullable':
      return rng(4) === 0 ? null : valueFor(spec.inner, rng, depth);
    case 'optional':
    case 'exactOptional':
    case 'default':
    case 'prefault':
      return rng(3) === 0 ? undefined : valueFor(spec.inner, rng, depth);
    default:
      return valueFor(spec.inner, rng, depth);
  }
}

function listOf(item: Spec, length: number, rng: Random, depth: number): unknown[] {
  return Array.from({ length }, () => valueFor(item, rng, depth + 1) ?? null);
}

function objectFor(fields: readonly [string, Spec][], rng: Random, depth: number): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  const start = rng(fields.length || 1);
  for (let at = 0; at < fields.length; at++) {
    const [name, field] = fields[(start + at) % fields.length] as [string, Spec];
    const value = valueFor(field, rng, depth + 1);
    if (value !== undefined) object[name] = value;
  }
  return object;
}

const RECORD_KEYS = {
  string: ['a', 'b', 'x'],
  pattern: ['a', 'b', '1'],
  enum: ['a', 'b', 'constructor'],
  partial: ['a', 'x'],
  number: ['1', '-2', '1.5'],
  loose: ['a', 'x'],
  looseEnum: ['a', 'b', 'x'],
};

function recordFor(spec: Extract<Spec, { kind: 'record' }>, rng: Random, depth: number): Record<string, unknown> {
  const all = RECORD_KEYS[spec.keys];
  const keys = spec.keys === 'enum' || spec.keys === 'looseEnum' ? all : all.slice(rng(all.length));
  return objectFor(
    keys.map((key) => [key, spec.value]),
    rng,
    depth,
  );
}

function garbage(rng: Random): unknown {
  return pick<() => unknown>(
    [
      () => rng(20),
      () => pick(TEXTS, rng),
      () => null,
      () => true,
      () => ({ a: 1 }),
      () => ({ a: { b: 'x' }, kind: 'k0' }),
      () => [],
      () => ['a', 1],
      () => ({}),
    ],
    rng,
  )();
}

/** The spec of what is at `key`, as far as that can be said without parsing. */
function specBelow(spec: Spec, key: string | number, rng: Random): Spec {
  switch (spec.kind) {
    case 'object':
      return spec.fields.find(([name]) => name === key)?.[1] ?? spec.rest;
    case 'tagged':
      if (key === 'kind') return { kind: 'tag' };
      return pick(spec.options, rng).find(([name]) => name === key)?.[1] ?? { kind: 'any' };
    case 'record':
      return spec.value;
    case 'array':
      return spec.item;
    case 'tuple':
      return spec.items[Number(key)] ?? spec.rest ?? { kind: 'any' };
    case 'union':
      return specBelow(pick(spec.options, rng), key, rng);
    case 'both':
      return specBelow(rng(2) === 0 ? spec.left : spec.right, key, rng);
    case 'tree':
      if (key === 'leaf') return spec.leaf;
      return key === 'kids' ? { kind: 'array', item: spec, min: 0, max: 3 } : { kind: 'any' };
    default:
      return 'inner' in spec ? specBelow(spec.inner, key, rng) : { kind: 'any' };
  }
}

type Draft = Record<string | number, unknown>;
type Grow = (draft: object, key: never, text: string) => void;

/** One random change somewhere in the draft. The same seed makes the same change to the same state. */
export function edit(draft: object, spec: Spec, rng: Random, grow: Grow): void {
  let at = draft as Draft;
  let here = spec;
  for (;;) {
    const below = Object.keys(at).filter(
      (key) => typeof at[key] === 'object' && at[key] !== null && key !== '__proto__',
    );
    if (below.length === 0 || rng(3) === 0) break;
    const key = pick(below, rng);
    const step = Array.isArray(at) ? Number(key) : key;
    here = specBelow(here, step, rng);
    at = at[key] as Draft;
  }
  if (Array.isArray(at)) editArray(at, here, rng, grow);
  else editObject(at, here, rng, grow);
}

function newValue(spec: Spec, rng: Random): unknown {
  return rng(5) === 0 ? garbage(rng) : valueFor(spec, rng);
}

function editObject(draft: Draft, spec: Spec, rng: Random, grow: Grow): void {
  const present = Object.keys(draft);
  const known = present.length > 0 && rng(4) > 0 ? pick(present, rng) : pick(KEYS, rng);
  const key =
    rng(3) === 0 && spec.kind === 'object' ? (spec.fields[rng(spec.fields.length)] as [string, Spec])[0] : known;
  const value = newValue(specBelow(spec, key, rng), rng);
  const act = rng(8);
  if (act < 4) set(draft, key, value);
  else if (act < 6) delete draft[key];
  else if (act === 6) {
    delete draft[key];
    set(draft, key, value);
  } else if (typeof draft[key] === 'string') grow(draft, key as never, 'aa');
  else set(draft, key, value);
}

function set(draft: Draft, key: string, value: unknown): void {
  if (value === undefined) {
    delete draft[key];
    return;
  }
  Object.defineProperty(draft, key, { value, enumerable: true, writable: true, configurable: true });
}

function editArray(draft: unknown[], spec: Spec, rng: Random, grow: Grow): void {
  const index = rng(draft.length + 1);
  const value = newValue(specBelow(spec, index, rng), rng) ?? null;
  const acts = [
    () => draft.push(value),
    () => draft.splice(index, 1),
    () => draft.splice(index, 1, value),
    () => draft.splice(index, rng(2), value, value),
    () => draft.shift(),
    () => draft.pop(),
    () => draft.unshift(value),
    () => draft.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
    () => draft.reverse(),
    () => {
      if (typeof draft[index] === 'string') grow(draft, index as never, 'b');
      else draft[index] = value;
    },
  ];
  pick(acts, rng)();
}
