// A state that its schema has accepted is not parsed again at the next opening: only then.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fingerprintOf, looksLike } from '../../src/change/schema-fingerprint.js';
import { Truth } from '../../src/truth.js';
import { STORE } from '../crash/script.js';
import { edited, newest } from '../crash/surgery.js';
import { RecordingDisk } from '../support/recording-disk.js';
import { build, specs } from '../support/schemas.js';

describe('a fingerprint', () => {
  it('is the same for the same schema written twice, and another for anything that decides', () => {
    const make = {
      plain: () => z.object({ a: z.string(), b: z.number() }),
      strict: () => z.strictObject({ a: z.string(), b: z.number() }),
      order: () => z.object({ b: z.number(), a: z.string() }),
      optional: () => z.object({ a: z.string(), b: z.number().optional() }),
      min: () => z.object({ a: z.string().min(1), b: z.number() }),
      min2: () => z.object({ a: z.string().min(2), b: z.number() }),
      regex: () => z.object({ a: z.string().regex(/x/), b: z.number() }),
      regexFlag: () => z.object({ a: z.string().regex(/x/i), b: z.number() }),
      literal: () => z.object({ a: z.literal('x'), b: z.number() }),
      enum: () => z.object({ a: z.enum(['x', 'y']), b: z.number() }),
      union: () => z.object({ a: z.union([z.string(), z.null()]), b: z.number() }),
      record: () => z.record(z.string(), z.number()),
      defaults: () => z.object({ a: z.string().default('x'), b: z.number() }),
      otherDefault: () => z.object({ a: z.string().default('y'), b: z.number() }),
      refined: () => z.object({ a: z.string(), b: z.number().refine((n) => n > 1) }),
      refinedOther: () => z.object({ a: z.string(), b: z.number().refine((n) => n > 2) }),
      // A name that means something in zod's own definitions.
      error: () => z.object({ error: z.string() }),
      errorNumber: () => z.object({ error: z.number() }),
      noError: () => z.object({}),
      enumError: () => z.enum({ error: 'error', done: 'done' }),
      enumErrorOther: () => z.enum({ error: 'failed', done: 'done' }),
      defaultError: () => z.object({ last: z.looseObject({}).default({ error: 1 }) }),
      defaultErrorOther: () => z.object({ last: z.looseObject({}).default({ error: 2 }) }),
      lazy: () => z.lazy(() => z.array(z.number())),
      lazyRefined: () => z.lazy(() => z.array(z.number())).refine((list) => list.length > 1),
      lazyRefinedOther: () => z.lazy(() => z.array(z.number())).refine((list) => list.length > 2),
      recursive: () => z.json(),
      recursiveRefined: () => z.json().refine((value) => value !== null),
      enumRecord: () => z.record(z.enum(['a', 'b']), z.number()),
      partialRecord: () => z.partialRecord(z.enum(['a', 'b']), z.number()),
      earlyPartialRecord: () => {
        // As zod 4.0 makes them.
        const keys = z.core.clone(z.enum(['a', 'b']));
        keys._zod.values = undefined as never;
        return z.record(keys, z.number());
      },
    };
    const prints = Object.values(make).map((one) => fingerprintOf(one()));
    expect(Object.values(make).map((one) => fingerprintOf(one()))).toEqual(prints);
    expect(new Set(prints).size).toBe(prints.length);
    expect(prints.every((one) => /^[0-9a-f]{32}$/.test(one ?? ''))).toBe(true);
  });

  it('does not depend on the words of a refusal', () => {
    const schema = (error: string) => z.object({ a: z.string({ error }).min(2, error) });
    expect(fingerprintOf(schema('one'))).toBe(fingerprintOf(schema('other')));
  });

  it('ends for schemas that contain themselves, and tells them apart', () => {
    const tree = (leaf: z.ZodType) => {
      const Tree: z.ZodType = z.object({
        leaf,
        get kids() {
          return z.array(Tree);
        },
      });
      return Tree;
    };
    const lazy = (leaf: z.ZodType) => {
      const Tree: z.ZodType = z.object({ leaf, kids: z.array(z.lazy(() => Tree)) });
      return Tree;
    };
    expect(fingerprintOf(tree(z.string()))).toBe(fingerprintOf(tree(z.string())));
    expect(fingerprintOf(tree(z.string()))).not.toBe(fingerprintOf(tree(z.number())));
    expect(fingerprintOf(lazy(z.string()))).not.toBe(fingerprintOf(lazy(z.number())));
  });

  it('is not given where the deciding code is out of sight', () => {
    const limit = { max: 3 };
    expect(fingerprintOf(z.number().refine(((n: number) => n < limit.max).bind(null)))).toBeNull();
    expect(fingerprintOf(z.number().superRefine((n, context) => void (n < 3 || context.addIssue('no'))))).toBeNull();
    expect(fingerprintOf(z.custom<string>((value) => value === 'x'))).not.toBeNull();
  });

  it('tells checked lazy schemas of one getter apart, and ends for a factory of them', () => {
    const list = z.lazy(() => z.array(z.number()));
    const short = list.refine((items) => items.length < 3);
    const twice = (other: z.ZodType) => z.object({ a: list, b: other });
    expect(fingerprintOf(twice(short))).not.toBe(fingerprintOf(twice(list)));
    const factory = (): z.ZodType => z.object({ kid: z.lazy(factory).refine(Boolean).optional() });
    expect(() => fingerprintOf(factory())).not.toThrow();
  });

  it('of what is in sight tells schemas apart whose checks are not', () => {
    const hidden = (schema: z.ZodType) => schema.superRefine(() => undefined);
    const one = hidden(z.object({ a: z.string() }));
    expect(looksLike(one, hidden(z.object({ a: z.string() })))).toBe(true);
    expect(looksLike(one, hidden(z.object({ a: z.number() })))).toBe(false);
    expect(looksLike(one, z.object({ a: z.string() }))).toBe(false);
  });

  it('does not keep a schema from being the same one when its defaults are made anew each time', () => {
    let ids = 0;
    const make = () => z.object({ id: z.string().default(() => `${ids++}`), tries: z.number().default(0) });
    expect(looksLike(make(), make())).toBe(true);
    expect(ids).toBe(0);
    expect(looksLike(make(), z.object({ id: z.string(), tries: z.number().default(0) }))).toBe(false);
  });

  it('can be asked of any schema', () => {
    fc.assert(
      fc.property(specs, (spec) => {
        const [one, other] = [fingerprintOf(build(spec)), fingerprintOf(build(spec))];
        expect(other).toBe(one);
      }),
      { numRuns: 200 },
    );
  });
});

describe('a document', () => {
  /** Counts how often a whole state is parsed. */
  const counting = () => {
    const seen = { parses: 0 };
    const schema = z.object({ n: z.number(), list: z.array(z.string()) }).refine((state) => {
      seen.parses++;
      return state.n >= 0;
    });
    return { schema, seen };
  };
  const initial = { n: 1, list: ['a'] };
  const reopen = (disk: RecordingDisk) => new Truth(STORE, { disk });

  function saved(): RecordingDisk {
    const disk = new RecordingDisk();
    const truth = reopen(disk);
    truth.doc('a', { schema: counting().schema, initial });
    truth.close();
    return disk;
  }

  it('is not checked again under the same schema, from the tail and from a base', () => {
    for (const isCompacted of [false, true]) {
      const disk = saved();
      if (isCompacted) {
        const truth = reopen(disk);
        truth.compact();
        truth.close();
      }
      const { schema, seen } = counting();
      const doc = reopen(disk).doc('a', { schema, initial });
      expect(seen.parses).toBe(0);
      expect(() => doc.update((s) => void (s.n = -1))).toThrow(expect.objectContaining({ code: 'HF_SCHEMA' }));
      expect(seen.parses).toBe(1);
    }
  });

  it('is checked by another schema, once', () => {
    const disk = saved();
    const schema = z.object({ n: z.number().max(5), list: z.array(z.string()) });
    for (const _ of [1, 2]) {
      const truth = reopen(disk);
      expect(truth.doc('a', { schema, initial }).state).toEqual(initial);
      truth.close();
    }
    const narrow = z.object({ n: z.number().max(0), list: z.array(z.string()) });
    expect(() => reopen(disk).doc('a', { schema: narrow, initial })).toThrow(
      expect.objectContaining({ code: 'HF_SCHEMA' }),
    );
  });

  it('is checked after it was changed without a schema, and not if it was only read', () => {
    const disk = saved();
    const reader = reopen(disk);
    reader.doc('a', { initial });
    reader.close();
    const again = counting();
    const checked = reopen(disk);
    checked.doc('a', { schema: again.schema, initial });
    checked.close();
    expect(again.seen.parses).toBe(0);
    const other = reopen(disk);
    other.doc<typeof initial>('a', { initial }).update((s) => void (s.n = -7));
    other.close();
    expect(() => reopen(disk).doc('a', { schema: counting().schema, initial })).toThrow(
      expect.objectContaining({ code: 'HF_SCHEMA' }),
    );
  });

  it('is checked once a default was left out: then refinements must see more than the state', () => {
    const disk = new RecordingDisk();
    const schema = () => z.object({ n: z.number().default(3), m: z.number() });
    const truth = reopen(disk);
    const doc = truth.doc('a', { schema: schema(), initial: { m: 1 } });
    doc.update((s) => {
      delete (s as { n?: number }).n;
    });
    truth.close();
    const parsed = { count: 0 };
    const counted = schema();
    const { safeParse } = counted;
    counted.safeParse = ((...given: Parameters<typeof safeParse>) => {
      parsed.count++;
      return safeParse.apply(counted, given);
    }) as typeof safeParse;
    reopen(disk).doc('a', { schema: counted, initial: { m: 1 } });
    expect(parsed.count).toBeGreaterThan(0);
  });

  it('is checked after a salvage', () => {
    const disk = saved();
    const truth = reopen(disk);
    truth.doc('b', { initial: { text: 'rotten' } });
    truth.close();
    const rot = (bytes: Buffer) => bytes.fill(0, bytes.indexOf('rotten'), bytes.indexOf('rotten') + 3);
    const damaged = edited(disk, { [newest(disk, '.tail')]: rot });
    const { schema, seen } = counting();
    const salvaged = new Truth(STORE, { disk: damaged, onDamage: 'salvage' });
    expect(salvaged.doc('a', { schema, initial }).state).toEqual(initial);
    expect(seen.parses).toBeGreaterThan(0);
  });
});
