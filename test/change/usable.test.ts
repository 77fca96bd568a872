import { describe, expect, it } from 'vitest';
import { type ZodType, z } from 'zod';
import * as mini from 'zod/mini';
import { Checker } from '../../src/change/checker.js';
import { inspectSchema } from '../../src/change/usable.js';
import { HoldfastError } from '../../src/errors.js';

function messageFor(schema: ZodType): string {
  try {
    inspectSchema(schema, 'loop');
  } catch (error) {
    if (error instanceof HoldfastError && error.code === 'HF_SCHEMA') return error.message;
    throw error;
  }
  return 'accepted';
}

/** A schema with this one at `items[].due`. */
const deep = (schema: ZodType) => z.object({ items: z.array(z.object({ due: schema })) });

describe('schemas that are refused, with the place and what to use instead', () => {
  const cases: [string, ZodType, what: string, instead: string][] = [
    ['transform', z.string().transform(Number), '.transform()', 'before the update'],
    ['a bare transform', z.transform(String), 'z.transform()', 'before the update'],
    ['pipe', z.string().pipe(z.string()), '.pipe()', 'before the update'],
    ['preprocess', z.preprocess(Number, z.number()), 'z.preprocess()', 'before the update'],
    ['codec', z.codec(z.string(), z.number(), { decode: Number, encode: String }), 'a codec', 'before the update'],
    ['stringbool', z.stringbool(), 'z.stringbool()', 'before the update'],
    ['catch', z.string().catch('x'), '.catch()', '.optional()'],
    ['coerce', z.coerce.number(), 'z.coerce.number()', 'use z.number() and convert first'],
    ['trim', z.string().trim(), '.trim()', 'before the update'],
    ['toLowerCase', z.string().toLowerCase(), '.toLowerCase()', 'before the update'],
    ['normalize', z.string().normalize(), 'the like', 'before the update'],
    ['overwrite', z.number().overwrite(Math.round), '.overwrite()', 'before the update'],
    ['a url that is normalized', z.url({ normalize: true }), 'normalize: true', 'leave out normalize'],
    ['async refine', z.string().refine(async () => true), 'an async refinement', 'await the answer before the update'],
    ['async check', z.string().check(async () => undefined), 'an async refinement', 'await the answer'],
    ['async custom', z.custom(async () => true), 'an async refinement', 'await the answer'],
    ['date', z.date(), 'z.date()', 'z.iso.datetime()'],
    ['bigint', z.bigint(), 'z.bigint()', 'z.string()'],
    ['map', z.map(z.string(), z.string()), 'z.map()', 'z.record()'],
    ['set', z.set(z.string()), 'z.set()', 'z.array()'],
    ['symbol', z.symbol(), 'z.symbol()', 'z.enum()'],
    ['nan', z.nan(), 'z.nan()', 'z.null()'],
    ['file', z.file(), 'z.file()', 'store its path'],
    ['function', z.function() as unknown as ZodType, 'z.function()', 'store data that names it'],
    ['promise', z.promise(z.string()), 'z.promise()', 'await it before the update'],
    ['success', z.success(z.string()), 'z.success()', 'use the schema inside it'],
    ['literal with a bigint', z.literal(5n), 'z.literal()', 'use a string or a number'],
  ];

  it.each(cases)('%s', (_name, schema, what, instead) => {
    const message = messageFor(deep(schema));
    expect(message).toContain("The schema of 'loop' cannot be used: ");
    expect(message).toContain(what);
    expect(message).toContain(' at items[].due: ');
    expect(message).toContain(instead);
    expect(messageFor(schema)).toContain(' at its root: ');
  });

  it('wherever a schema can hide', () => {
    const bad = z.date();
    const places: [string, ZodType][] = [
      ['["a b"]', z.object({ 'a b': bad })],
      ['[*]', z.object({}).catchall(bad)],
      ['[*]', z.record(z.string(), bad)],
      ['[key]', z.record(z.string().trim(), z.string())],
      ['[0]', z.tuple([bad])],
      ['[]', z.tuple([z.string()], bad)],
      ['<option 1>', z.union([z.string(), bad])],
      [
        '<option 1>.at',
        z.discriminatedUnion('k', [z.object({ k: z.literal(1) }), z.object({ k: z.literal(2), at: bad })]),
      ],
      ['<left>', z.intersection(bad, z.any())],
      ['<right>', z.intersection(z.any(), bad)],
      ['<property>', z.array(z.string()).check(z.property('length', z.coerce.number()) as never)],
      ['at', z.object({ at: z.lazy(() => bad.optional().nullable().default(null).readonly()) })],
      ['at', z.object({ at: z.nonoptional(bad.prefault(() => new Date())) })],
    ];
    for (const [place, schema] of places) expect(messageFor(schema)).toContain(` at ${place}: `);
  });

  it('in what was checked on top of a lazy schema that is used without it too', () => {
    const list = z.lazy(() => z.array(z.number()));
    const refused: [ZodType, string][] = [
      [list.refine(async () => true), 'an async refinement at b: '],
      [list.overwrite((items) => items), '.overwrite(), .trim(), .toLowerCase() or the like at b: '],
      [list.check(z.property('length', z.coerce.number()) as never), 'z.coerce.number() at b<property>: '],
    ];
    for (const [checked, what] of refused) expect(messageFor(z.object({ a: list, b: checked }))).toContain(what);
  });

  it('a factory that makes new schemas for ever', () => {
    const byGetter = (): ZodType =>
      z.object({
        get kid() {
          return byGetter().optional();
        },
      });
    const byLazy = (): ZodType => z.object({ kids: z.array(z.lazy(() => byLazy())) });
    for (const schema of [byGetter(), byLazy()]) {
      expect(messageFor(schema)).toContain('a recursion that makes new schemas for ever at kid');
      expect(messageFor(schema)).toContain('build the schema once');
      expect(messageFor(schema).length).toBeLessThan(300);
    }
  });
});

describe('schemas that are accepted', () => {
  it('recursive ones, by getter, by lazy and by a factory with one getter', () => {
    const byGetter = z.object({
      get kids() {
        return z.array(byGetter);
      },
    });
    const byLazy: ZodType = z.object({ kid: z.lazy(() => byLazy).optional() });
    const factory = (): ZodType => z.object({ kid: z.lazy(factory).optional() });
    const checked = (): ZodType => z.object({ kid: z.lazy(checked).refine(Boolean).optional() });
    for (const schema of [byGetter, byLazy, factory(), checked(), z.json()])
      expect(messageFor(schema)).toBe('accepted');
  });

  it('readonly ones: what is frozen is a copy', () => {
    for (const schema of [z.any().readonly(), z.object({}).readonly(), z.union([z.unknown(), z.string()]).readonly()]) {
      expect(messageFor(schema)).toBe('accepted');
    }
  });

  it('those of zod/mini', () => {
    const schema = mini.object({ a: mini.optional(mini.string().check(mini.minLength(2), mini.describe('two'))) });
    expect(new Checker(schema as unknown as ZodType, 'loop').checkWhole({ a: 'x' })?.path).toEqual(['a']);
    const trimmed = mini.string().check(mini.trim());
    expect(messageFor(trimmed as unknown as ZodType)).toContain('.trim()');
  });
});

describe('whether code of the caller looks at objects', () => {
  it('is so for refinements of anything that may be one', () => {
    expect(inspectSchema(z.object({}).refine(Boolean), 'loop').runsCallerCode).toBe(true);
    expect(inspectSchema(z.object({ a: z.array(z.any()).superRefine(() => undefined) }), 'loop').runsCallerCode).toBe(
      true,
    );
    expect(inspectSchema(z.object({ a: z.custom() }), 'loop').runsCallerCode).toBe(true);
    const list = z.lazy(() => z.array(z.number()));
    expect(inspectSchema(z.object({ a: list, b: list.refine(Boolean) }), 'loop').runsCallerCode).toBe(true);
  });

  it('is not so for refinements of text and numbers, and for lengths', () => {
    const schema = z.object({ a: z.string().refine(Boolean), b: z.array(z.number().refine(Boolean)).min(1) });
    expect(inspectSchema(schema, 'loop').runsCallerCode).toBe(false);
  });
});

describe('what is not a zod 4 schema', () => {
  const cases: [unknown, string][] = [
    [null, 'null'],
    [undefined, 'undefined'],
    ['text', 'string'],
    [() => 1, 'function'],
    [{}, 'an object'],
    [[], 'an array'],
    [{ _def: { typeName: 'ZodObject' }, parse: () => 1 }, 'a zod 3 schema'],
    [{ _zod: {} }, 'an object'],
  ];

  it.each(cases)('is a TypeError: %o', (value, got) => {
    const open = () => new Checker(value as ZodType, 'loop');
    expect(open).toThrow(TypeError);
    expect(open).toThrow(`Expected \`schema\` to be a zod 4 schema, got ${got}`);
  });
});
