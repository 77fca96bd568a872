import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ZodType, z } from 'zod';
import { Changes } from '../../src/change/changes.js';
import { Checker } from '../../src/change/checker.js';
import { type Container, copyPlain, isContainer, type Plain } from '../../src/change/plain.js';
import { append, Tracked } from '../../src/change/tracked.js';
import { HoldfastError } from '../../src/errors.js';
import { refusal } from '../support/refusal.js';
import { build, edit, type Random, random, type Spec, specs, valueFor } from '../support/schemas.js';

const RUNS = Number(process.env.HOLDFAST_RUNS ?? 300);
const SEED = Number(process.env.HOLDFAST_SEED ?? 20_240_607);

// What an update has to agree with: zod's answer for the whole state, and that no key of it is lost.
function refuses(schema: ZodType, state: unknown): boolean {
  try {
    const result = schema.safeParse(copyPlain(state));
    return !result.success || losesKeys(state, result.data);
  } catch {
    return true;
  }
}

function losesKeys(input: unknown, output: unknown): boolean {
  if (!isContainer(input) || !isContainer(output)) return false;
  return Object.keys(input).some((key) => {
    if (key === '__proto__') return false;
    return !Object.hasOwn(output, key) || losesKeys((input as Plain)[key], (output as Plain)[key]);
  });
}

function isFrozenAnywhere(value: unknown): boolean {
  if (!isContainer(value)) return false;
  return Object.isFrozen(value) || Object.values(value).some(isFrozenAnywhere);
}

const growPlain = (object: object, key: never, text: string) => {
  (object as Plain)[key] = `${(object as Plain)[key]}${text}`;
};

interface Change {
  seeds: number[];
  how: 'update' | 'nested' | 'replace';
}

type Step = Change | { parts: Change[]; catches: boolean; throws: boolean };

const changes: fc.Arbitrary<Change> = fc.record({
  seeds: fc.array(fc.nat(), { minLength: 1, maxLength: 3 }),
  how: fc.constantFrom('update', 'update', 'nested', 'replace'),
});

const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: changes },
  fc.record({
    parts: fc.array(changes, { minLength: 1, maxLength: 3 }),
    catches: fc.boolean(),
    throws: fc.boolean(),
  }),
);

const STOP = new Error('stop');

/** A document beside a plain object that gets the same edits; the schema answers for the plain object as a whole. */
class Pair {
  readonly tracker = new Changes();
  readonly doc: Tracked<object>;
  expected: Container;
  refusals = 0;

  constructor(
    readonly spec: Spec,
    readonly schema: ZodType,
    start: Container,
    isKnown: boolean,
  ) {
    const checker = new Checker(schema, 'doc');
    if (isKnown) expect(checker.checkWhole(start)).toBeNull();
    this.doc = new Tracked('doc', this.tracker, copyPlain(start), 1, checker);
    this.expected = start;
  }

  run(step: Step): void {
    if ('seeds' in step) this.#change(step);
    else this.#transaction(step);
    expect(JSON.stringify(this.doc.raw)).toBe(JSON.stringify(this.expected));
    expect(isFrozenAnywhere(this.doc.raw)).toBe(false);
  }

  /** True when it was refused. */
  #change({ seeds, how }: Change): boolean {
    const next = seeds.reduce<Container>((state, seed) => {
      const copy = copyPlain(state);
      edit(copy, this.spec, random(seed), growPlain);
      return copyPlain(copy);
    }, this.expected);
    const isChanged = JSON.stringify(next) !== JSON.stringify(this.expected);
    const isRefused = isChanged && refuses(this.schema, next);
    const before = JSON.stringify(this.doc.raw);
    let caught: unknown = null;
    try {
      this.#apply(seeds, how, next);
    } catch (error) {
      caught = error;
    }
    const context = () => `${JSON.stringify(this.expected)} -> ${JSON.stringify(next)}: ${String(caught)}`;
    expect(caught !== null, context()).toBe(isRefused);
    if (caught instanceof HoldfastError) expect(caught.code, context()).toBe('HF_SCHEMA');
    else if (caught !== null) expect(() => this.schema.safeParse(copyPlain(next)), context()).toThrow();
    if (isRefused) expect(JSON.stringify(this.doc.raw)).toBe(before);
    else this.expected = next;
    if (isRefused) this.refusals++;
    return isRefused;
  }

  #apply(seeds: number[], how: Change['how'], next: Container): void {
    if (how === 'replace') {
      this.doc.replace(next);
      return;
    }
    const change = (draft: object, seed: number) => edit(draft, this.spec, random(seed), append as never);
    this.doc.update((draft) => {
      for (const seed of seeds) {
        if (how === 'update') {
          change(draft, seed);
          continue;
        }
        this.#undone((inner) => change(inner, seed + 1));
        this.doc.update((inner) => change(inner, seed));
      }
    });
  }

  #undone(recipe: (draft: object) => void): void {
    try {
      this.doc.update((draft) => {
        recipe(draft);
        throw STOP;
      });
    } catch (error) {
      if (error !== STOP) throw error;
    }
  }

  #transaction({ parts, catches, throws }: Extract<Step, { parts: unknown }>): void {
    const before = this.expected;
    try {
      this.tracker.run(() => {
        for (const part of parts) if (this.#change(part) && !catches) throw STOP;
        if (throws) throw STOP;
      }, 'The transaction');
    } catch (error) {
      if (error !== STOP) throw error;
      this.expected = before;
    }
  }
}

function startFor(spec: Spec, schema: ZodType, rng: Random): Container | null {
  for (let attempt = 0; attempt < 40; attempt++) {
    const state = valueFor(spec, rng);
    if (isContainer(state) && !refuses(schema, state)) return state;
  }
  return null;
}

describe('random schemas and edits', () => {
  it(
    'refuses exactly what parsing the whole state refuses, and then leaves the state as it was',
    () => {
      let accepted = 0;
      let refused = 0;
      fc.assert(
        fc.property(
          specs,
          fc.nat(),
          fc.boolean(),
          fc.array(steps, { minLength: 1, maxLength: 12 }),
          (spec, seed, isKnown, program) => {
            const schema = build(spec);
            const start = startFor(spec, schema, random(seed));
            fc.pre(start !== null);
            const pair = new Pair(spec, schema, start as Container, isKnown);
            for (const step of program) pair.run(step);
            refused += pair.refusals;
            accepted += program.length;
          },
        ),
        { numRuns: RUNS, seed: SEED },
      );
      // Both answers were put to the test, not only the easy one.
      expect(refused).toBeGreaterThan(RUNS / 3);
      expect(accepted).toBeGreaterThan(RUNS);
    },
    Math.max(60_000, RUNS * 20),
  );
});

function open<T extends object>(schema: ZodType<T>, start: NoInfer<T>): Tracked<T> {
  const checker = new Checker(schema, 'loop');
  expect(checker.checkWhole(start)).toBeNull();
  return new Tracked<T>('loop', new Changes(), copyPlain(start) as Container, 1, checker);
}

describe('a refusal', () => {
  it('says where, what, and that the update was undone, and carries the issues', () => {
    const doc = open(z.object({ items: z.record(z.string(), z.object({ tries: z.array(z.number()) })) }), {
      items: { 'item 7': { tries: [1] } },
    });
    const error = refusal(() =>
      doc.update((draft) => {
        draft.items['item 7']?.tries.push('two' as never);
      }),
    );
    expect(error.code).toBe('HF_SCHEMA');
    expect(error.message).toContain('The schema of \'loop\' refuses items["item 7"].tries[1]:');
    expect(error.message).toContain('expected number, received string');
    expect(error.message).toContain('The update was undone');
    expect(error.path).toEqual(['items', 'item 7', 'tries', 1]);
    expect(error.details).toMatchObject([{ code: 'invalid_type', path: ['items', 'item 7', 'tries', 1] }]);
    expect(doc.state).toEqual({ items: { 'item 7': { tries: [1] } } });
  });

  it('counts further issues', () => {
    const doc = open(z.object({ at: z.object({ x: z.number(), y: z.number() }) }), { at: { x: 1, y: 1 } });
    const error = refusal(() => doc.update((draft) => void (draft.at = { x: 'a', y: 'b' } as never)));
    expect(error.message).toContain('(and 1 more)');
    expect(error.details).toHaveLength(2);
  });

  it('names the key that the schema does not know, and what to do', () => {
    const doc = open(z.object({ at: z.object({ x: z.number() }), list: z.array(z.object({})) }), {
      at: { x: 1 },
      list: [],
    });
    const set = refusal(() => doc.update((draft) => void Object.assign(draft.at, { z: 1 })));
    expect(set.message).toContain('refuses at.z: Unrecognized key "z"; add it to the schema, or use z.looseObject()');
    expect(set.details).toMatchObject([{ code: 'unrecognized_keys', keys: ['z'], path: ['at', 'z'] }]);
    const nested = refusal(() => doc.update((draft) => void draft.list.push({ deep: 1 } as never)));
    expect(nested.path).toEqual(['list', 0, 'deep']);
  });

  it('gives the words of a refinement, at the value it belongs to', () => {
    const span = z.object({ from: z.number(), to: z.number() }).refine(({ from, to }) => from <= to, 'from after to');
    const doc = open(z.object({ spans: z.array(span) }), { spans: [{ from: 1, to: 2 }] });
    const error = refusal(() => doc.update((draft) => void ((draft.spans[0] as { from: number }).from = 3)));
    expect(error.message).toContain('refuses spans[0]: from after to');
  });

  it('comes from zod itself when a declared key is missing', () => {
    const doc = open(z.object({ a: z.number() }), { a: 1 });
    const error = refusal(() => doc.update((draft) => void delete (draft as { a?: number }).a));
    expect(error.path).toEqual(['a']);
    expect(error.message).toContain('expected number, received undefined');
  });

  it('is HF_SCHEMA when a refinement turns out to be async', () => {
    const isFine = () => Promise.resolve(true) as unknown as boolean;
    const doc = new Tracked<{ a: number }>(
      'loop',
      new Changes(),
      { a: 1 },
      1,
      new Checker(z.object({ a: z.number() }).refine(isFine), 'loop'),
    );
    const error = refusal(() => doc.update((draft) => void (draft.a = 2)));
    expect(error.code).toBe('HF_SCHEMA');
    expect(error.message).toContain('async refinement');
    expect(doc.state).toEqual({ a: 1 });
  });

  it('is the own error of a refinement that throws, and the update is undone', () => {
    const schema = z.object({ a: z.number() }).refine(({ a }) => {
      if (a === 2) throw new RangeError('two');
      return true;
    });
    const doc = open(schema, { a: 1 });
    expect(() => doc.update((draft) => void (draft.a = 2))).toThrow(RangeError);
    expect(doc.state).toEqual({ a: 1 });
  });
});

describe('what refinements see', () => {
  const counted = z
    .object({ tries: z.number().default(3), list: z.array(z.number()) })
    .refine(({ tries, list }) => list.length <= tries, 'too many tries');

  it('includes defaults that the state leaves out, whether or not the start was checked', () => {
    const states = [open(counted, { list: [1, 2] } as never)];
    states.push(new Tracked('loop', new Changes(), { list: [1, 2] }, 1, new Checker(counted, 'loop')));
    for (const doc of states) {
      doc.update((draft) => void draft.list.push(3));
      expect(refusal(() => doc.update((draft) => void draft.list.push(4))).message).toContain('too many tries');
      doc.update((draft) => void (draft.tries = 4));
      doc.update((draft) => void draft.list.push(4));
    }
  });

  it('includes a default that takes over in the same update', () => {
    const doc = open(counted, { tries: 4, list: [1, 2, 3, 4] });
    expect(refusal(() => doc.update((draft) => void delete (draft as { tries?: number }).tries)).path).toEqual([]);
    const nested = open(
      z.object({ at: z.object({ n: z.number().default(1) }) }).refine(({ at }) => at.n !== 1),
      {
        at: { n: 2 },
      },
    );
    expect(refusal(() => nested.update((draft) => void delete (draft.at as { n?: number }).n)).path).toEqual([]);
  });

  it('includes every required key of a record, absent ones too', () => {
    const votes = z.record(z.enum(['a', 'b']), z.number().optional());
    const doc = open(
      z.object({ votes }).refine((state) => 'a' in state.votes, 'no a'),
      { votes: { a: 1, b: 2 } },
    );
    doc.update((draft) => void delete (draft.votes as { a?: number }).a);
    expect(doc.state).toEqual({ votes: { b: 2 } });
    const filled = z.object({ votes: z.record(z.enum(['a', 'b']), z.number().default(7)) });
    const seven = open(
      filled.refine((state) => state.votes.a !== 7, 'seven'),
      { votes: { a: 1, b: 2 } },
    );
    const error = refusal(() => seven.update((draft) => void delete (draft.votes as { a?: number }).a));
    expect(error.message).toContain('seven');
  });

  it('does not include deleted keys, not even through `in`', () => {
    const schema = z.object({ a: z.number().optional(), b: z.number() }).refine((state) => 'a' in state || state.b > 1);
    const doc = open(schema, { a: 1, b: 1 });
    expect(refusal(() => doc.update((draft) => void delete draft.a)).code).toBe('HF_SCHEMA');
    expect(Object.keys(doc.state)).toEqual(['a', 'b']);
  });
});

describe('absent keys', () => {
  it('of a catchall may go', () => {
    const doc = open(z.object({}).catchall(z.string()), { a: 'x', b: 'y' });
    doc.update((draft) => void delete draft.a);
    expect(doc.state).toEqual({ b: 'y' });
  });

  it('are told apart from undefined as zod tells them apart, inside a union too', () => {
    const doc = open(
      z.object({ at: z.union([z.object({ exact: z.exactOptional(z.number()), any: z.any() }), z.null()]) }),
      {
        at: { exact: 1, any: 1 },
      },
    );
    doc.update((draft) => void delete draft.at?.exact);
    expect(doc.state).toEqual({ at: { any: 1 } });
    expect(refusal(() => doc.update((draft) => void delete draft.at?.any)).code).toBe('HF_SCHEMA');
  });
});

describe('discriminated unions', () => {
  const schema = z.object({
    phase: z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('idle'), since: z.number() }),
      z.object({ kind: z.literal('busy'), since: z.number(), task: z.string() }),
    ]),
  });

  it('are followed while the tag stays, and checked whole when it changes', () => {
    const doc = open(schema, { phase: { kind: 'busy', since: 1, task: 't' } });
    expect(refusal(() => doc.update(({ phase }) => void (phase.since = 'x' as never))).path).toEqual([
      'phase',
      'since',
    ]);
    expect(refusal(() => doc.update(({ phase }) => void (phase.kind = 'idle'))).path).toEqual(['phase', 'task']);
    doc.update((draft) => void (draft.phase = { kind: 'idle', since: 2 }));
    expect(refusal(() => doc.update(({ phase }) => void (phase.kind = 'busy' as never))).path).toEqual([
      'phase',
      'task',
    ]);
    expect(refusal(() => doc.update(({ phase }) => void delete (phase as { kind?: string }).kind)).code).toBe(
      'HF_SCHEMA',
    );
  });
});

describe('a key named __proto__', () => {
  const withProto = (draft: object) =>
    void Object.defineProperty(draft, '__proto__', { value: 1, enumerable: true, writable: true, configurable: true });

  it('is refused by strict objects and by records with listed keys', () => {
    expect(refusal(() => open(z.strictObject({}), {}).update(withProto)).message).toContain('__proto__');
    const record = open(z.record(z.enum(['a']), z.number()), { a: 1 });
    expect(refusal(() => record.update(withProto)).message).toContain('__proto__');
  });

  it('is let through elsewhere, and then refinements see what zod would show them', () => {
    const doc = open(
      z.record(z.string(), z.string()).refine((record) => !Object.hasOwn(record, '__proto__')),
      {},
    );
    doc.update(withProto);
    doc.update((draft) => void (draft.b = 'b'));
    expect(Object.keys(doc.state)).toEqual(['__proto__', 'b']);
    doc.update((draft) => void Reflect.deleteProperty(draft, '__proto__'));
    expect(Object.keys(doc.state)).toEqual(['b']);
  });
});

describe('updates inside updates', () => {
  const schema = z.object({ low: z.number(), high: z.number() }).refine(({ low, high }) => low <= high);

  it('are checked once, when the outermost one of the document ends', () => {
    const doc = open(schema, { low: 1, high: 2 });
    doc.update((draft) => {
      doc.update((inner) => void (inner.low = 5));
      draft.high = 6;
    });
    expect(doc.state).toEqual({ low: 5, high: 6 });
  });

  it('of a transaction are checked one by one', () => {
    const doc = open(schema, { low: 1, high: 2 });
    const run = () =>
      doc.changes.run(() => {
        doc.update((draft) => void (draft.high = 3));
        doc.update((draft) => void (draft.low = 5));
      }, 'The transaction');
    expect(refusal(run).code).toBe('HF_SCHEMA');
    expect(doc.state).toEqual({ low: 1, high: 2 });
  });
});

describe('nothing of the document is ever frozen', () => {
  const frozenByFailing = z.object({
    at: z.union([
      z.string().readonly(),
      z.object({ n: z.number() }).readonly(),
      z.array(z.any().readonly()).max(2).readonly(),
    ]),
  });

  it('not by an option of a union that does not fit', () => {
    for (const at of [[{ a: 1 }, { b: [] }], { n: 1 }]) {
      const doc = open<{ at: unknown }>(frozenByFailing, { at });
      doc.update((draft) => {
        if (Array.isArray(draft.at)) draft.at[0].a = 2;
        else (draft.at as { n: number }).n = 2;
      });
      expect(isFrozenAnywhere(doc.raw)).toBe(false);
    }
  });

  it('not by a refusal, so that the update can be undone', () => {
    const doc = open<{ at: unknown }>(frozenByFailing, { at: [1, 2] });
    expect(refusal(() => doc.update((draft) => void (draft.at as number[]).push(3))).code).toBe('HF_SCHEMA');
    expect(doc.state).toEqual({ at: [1, 2] });
    expect(isFrozenAnywhere(doc.raw)).toBe(false);
  });

  it('not by a schema inside a check, nor by filling in defaults', () => {
    const schema = z.object({ at: z.object({ n: z.number() }) }).check(z.property('at', z.any().readonly()));
    const start = { at: { n: 1 } };
    new Checker(schema, 'loop').withDefaults(start);
    expect(isFrozenAnywhere(start)).toBe(false);
    const doc = open(schema, start);
    doc.update((draft) => void (draft.at.n = 2));
    expect(isFrozenAnywhere(doc.raw)).toBe(false);
  });
});

describe('the cost of an update', () => {
  it('is that of what changed: refinements of other entries do not run', () => {
    let calls = 0;
    const item = z.object({ n: z.number().refine(() => ++calls > 0) }).refine(() => ++calls > 0);
    const schema = z.object({ items: z.record(z.string(), item), list: z.array(item).min(1) });
    const start: z.infer<typeof schema> = { items: {}, list: [] };
    for (let at = 0; at < 10_000; at++) {
      start.items[`k${at}`] = { n: at };
      start.list.push({ n: at });
    }
    const doc = open(schema, start);
    const callsOf = (recipe: (draft: z.infer<typeof schema>) => void): number => {
      calls = 0;
      doc.update(recipe);
      return calls;
    };
    expect(callsOf((draft) => void (draft.items.k77 = { n: 1 }))).toBe(2);
    expect(callsOf((draft) => void ((draft.items.k78 as { n: number }).n = 1))).toBe(2);
    expect(callsOf((draft) => void draft.list.push({ n: 1 }))).toBe(2);
    expect(callsOf((draft) => void draft.list.shift())).toBe(0);
    expect(callsOf((draft) => void delete draft.items.k79)).toBe(0);
    expect(callsOf((draft) => void (draft.items.k80 as { n: number }).n)).toBe(0);
  });

  it('does not grow with tuples and tagged unions around what changed', () => {
    let calls = 0;
    const counted = z.number().refine(() => ++calls > 0);
    const schema = z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('a'), rows: z.tuple([z.string()], counted) }),
      z.object({ kind: z.literal('b') }),
    ]);
    const doc = open(schema, { kind: 'a', rows: ['x', ...Array.from({ length: 1_000 }, () => 1)] });
    calls = 0;
    doc.update((draft) => void (draft.kind === 'a' && draft.rows.push(2)));
    expect(calls).toBe(1);
  });
});

describe('withDefaults', () => {
  const schema = z.object({
    a: z.number().default(1),
    b: z.object({ c: z.string().default('c'), d: z.number() }),
    e: z.tuple([z.number(), z.number().default(9)]),
    f: z.array(z.object({ g: z.boolean().default(true) })),
    h: z.number().optional(),
  });

  it('fills in what is absent and keeps the keys that are there in their order', () => {
    const given = { e: [1], b: { d: 2 }, f: [{}, { g: false }], h: undefined };
    const filled = new Checker(schema, 'loop').withDefaults(given);
    expect(JSON.stringify(filled)).toBe(
      JSON.stringify({ e: [1, 9], b: { d: 2, c: 'c' }, f: [{ g: true }, { g: false }], a: 1 }),
    );
    expect(given).toEqual({ e: [1], b: { d: 2 }, f: [{}, { g: false }], h: undefined });
  });

  it('gives back the very state when nothing is absent or the state does not fit', () => {
    const full = { a: 1, b: { c: 'x', d: 1 }, e: [1, 2], f: [] };
    const checker = new Checker(schema, 'loop');
    expect(checker.withDefaults(full)).toBe(full);
    const bad = { a: 'x' };
    expect(checker.withDefaults(bad)).toBe(bad);
  });

  it('keeps the text of a value that its schema would trim', () => {
    const checker = new Checker(z.object({ at: z.url() }), 'loop');
    const state = { at: ' https://example.org ' };
    expect(checker.withDefaults(state)).toBe(state);
    expect(checker.checkWhole(state)).toBeNull();
  });
});
