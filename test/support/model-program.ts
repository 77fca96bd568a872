// Random programs over a store, as data: the same program is run on drafts and on plain objects.

import fc from 'fast-check';

/** Leads from a root to a container inside it: each number chooses among the containers one level down. */
export type Route = readonly number[];

export type Expression =
  | { kind: 'leaf'; leaf: unknown }
  | { kind: 'list'; items: readonly Expression[] }
  | { kind: 'object'; entries: readonly (readonly [string, Expression])[] }
  /** What is there now: a draft, or the plain object in its place. */
  | { kind: 'ref'; at: Route }
  | { kind: 'spread'; at: Route }
  | { kind: 'held' }
  | { kind: 'bad'; which: number };

export type Step =
  | { do: 'set'; at: Route; key: string; value: Expression }
  | { do: 'delete'; at: Route; key: string; pick: number }
  | { do: 'assign'; at: Route; value: Expression }
  | { do: 'call'; at: number; method: string; args: readonly Expression[] }
  /** Takes several from the front, one by one; or, after a refill, all but the last at once. */
  | { do: 'take'; at: number; count: number; refill: boolean }
  /** A splice that keeps the length. */
  | { do: 'exchange'; at: number; from: number; values: readonly Expression[] }
  /** Deletes a key; a nested update adds it again, and may throw. */
  | { do: 'again'; at: Route; pick: number; value: Expression; throws: boolean }
  | { do: 'read'; at: number; which: number }
  | { do: 'look'; at: Route; key: string }
  | { do: 'length'; at: number; length: number }
  | { do: 'append'; at: Route; pick: number; key: string; text: string }
  | { do: 'move'; from: Route; pick: number; to: Route; key: string }
  | { do: 'swap'; at: Route; left: number; right: number }
  | { do: 'hold'; at: Route }
  | { do: 'write held'; value: number }
  | { do: 'outer'; step: Step }
  | { do: 'nested'; name: string; steps: readonly Step[]; caught: boolean }
  | { do: 'replace'; name: string; value: Expression; caught: boolean }
  | { do: 'throw' };

export type Command =
  | { do: 'create'; name: string; value: Expression }
  | { do: 'update'; name: string; steps: readonly Step[]; result: Route }
  | { do: 'replace'; name: string; value: Expression }
  | { do: 'transaction'; commands: readonly Command[]; throws: boolean }
  | { do: 'remove'; name: string }
  | { do: 'commit' | 'flush' | 'mark' | 'rotate' | 'compact' | 'reopen' | 'kill' };

export const NAMES = ['loop', 'deep/er', 'ü'] as const;

const key = fc.oneof(
  { weight: 16, arbitrary: fc.constantFrom('a', 'b', 'c', 'd', '0', '17', '4294967295', '', 'hasOwnProperty') },
  // Few: a document that holds any of these is looked at more closely from then on.
  { weight: 2, arbitrary: fc.constantFrom('__proto__', 'constructor', 'toJSON') },
  { weight: 1, arbitrary: fc.constantFrom('\ud83d', '\udc00x', 'é', 'long key '.repeat(12)) },
);
const text = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom('', 'x', 'text', '😀', 'y'.repeat(300), '𝄞'.repeat(9000)) },
  { weight: 1, arbitrary: fc.constantFrom('\ud83d', '\ude00') },
);
const leaf = fc.oneof(
  fc.integer({ min: -3, max: 40 }),
  fc.constantFrom<unknown>(null, true, false, -0, 0.1, 2 ** 53 - 1, -(2 ** 40), 1e300, undefined),
  text,
);

// Queues are what agents have: taking from the front is the most frequent and the hardest to track.
const METHODS = [
  ...['shift', 'shift', 'shift', 'shift', 'push', 'push', 'pop', 'unshift', 'splice', 'splice'],
  ...['sort', 'reverse', 'fill', 'copyWithin'],
];

const route = fc.array(fc.nat(7), { maxLength: 4 });

type Parts = {
  value: Expression;
  object: Expression;
  step: Step;
  command: Command;
};

const { value, object, command } = fc.letrec<Parts>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    { weight: 32, arbitrary: fc.record({ kind: fc.constant('leaf' as const), leaf }) },
    { weight: 12, arbitrary: tie('object') },
    {
      weight: 12,
      arbitrary: fc.record({
        kind: fc.constant('list' as const),
        items: fc.array(tie('value'), { maxLength: 5, size: 'max' }),
      }),
    },
    { weight: 8, arbitrary: fc.record({ kind: fc.constantFrom('ref' as const, 'spread' as const), at: route }) },
    { weight: 2, arbitrary: fc.constant({ kind: 'held' as const }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('bad' as const), which: fc.nat(9) }) },
  ),
  object: fc.record({
    kind: fc.constant('object' as const),
    entries: fc.array(fc.tuple(key, tie('value')), { maxLength: 5, size: 'max' }),
  }),
  step: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    { weight: 6, arbitrary: fc.record({ do: fc.constant('set' as const), at: route, key, value: tie('value') }) },
    { weight: 6, arbitrary: fc.record({ do: fc.constant('delete' as const), at: route, key, pick: fc.nat(9) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('assign' as const), at: route, value: tie('object') }) },
    {
      weight: 14,
      arbitrary: fc.record({
        do: fc.constant('call' as const),
        at: fc.nat(9),
        method: fc.constantFrom(...METHODS),
        args: fc.array(tie('value'), { maxLength: 4 }),
      }),
    },
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('take' as const),
        at: fc.nat(9),
        count: fc.integer({ min: 1, max: 9 }),
        refill: fc.boolean(),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('exchange' as const),
        at: fc.nat(9),
        from: fc.nat(3),
        values: fc.array(tie('value'), { minLength: 2, maxLength: 3 }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('again' as const),
        at: route,
        pick: fc.nat(9),
        value: tie('value'),
        throws: fc.boolean(),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('read' as const), at: fc.nat(9), which: fc.nat(30) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('look' as const), at: route, key }) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('length' as const),
        at: fc.nat(9),
        length: fc.integer({ max: 5, min: -1 }),
      }),
    },
    { weight: 6, arbitrary: fc.record({ do: fc.constant('append' as const), at: route, pick: fc.nat(9), key, text }) },
    {
      weight: 3,
      arbitrary: fc.record({ do: fc.constant('move' as const), from: route, pick: fc.nat(9), to: route, key }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('swap' as const), at: route, left: fc.nat(9), right: fc.nat(9) }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('hold' as const), at: route }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('write held' as const), value: fc.nat(99) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('outer' as const), step: tie('step') }) },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('nested' as const),
        name: fc.constantFrom(...NAMES),
        steps: fc.array(tie('step'), { maxLength: 6, size: 'max' }),
        caught: fc.boolean(),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('replace' as const),
        name: fc.constantFrom(...NAMES),
        value: tie('value'),
        caught: fc.boolean(),
      }),
    },
    { weight: 1, arbitrary: fc.constant({ do: 'throw' as const }) },
  ),
  command: fc.oneof(
    { maxDepth: 2, depthSize: 'small' },
    {
      weight: 12,
      arbitrary: fc.record({
        do: fc.constant('update' as const),
        name: fc.constantFrom(...NAMES),
        steps: fc.array(tie('step'), { maxLength: 12, size: 'max' }),
        result: route,
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('create' as const),
        name: fc.constantFrom(...NAMES),
        value: tie('value'),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('replace' as const),
        name: fc.constantFrom(...NAMES),
        value: tie('value'),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('transaction' as const),
        commands: fc.array(tie('command'), { maxLength: 4 }),
        throws: fc.boolean(),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), name: fc.constantFrom(...NAMES) }) },
    { weight: 5, arbitrary: fc.constant({ do: 'commit' as const }) },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constantFrom(...(['flush', 'mark', 'rotate', 'compact', 'reopen', 'kill'] as const)),
      }),
    },
  ),
}));

/** A list long enough that changes to it are not all of it. */
const queue: fc.Arbitrary<Expression> = fc.record({
  kind: fc.constant('list' as const),
  items: fc.array(fc.oneof(object, value), { minLength: 5, maxLength: 9 }),
});

const withQueue: fc.Arbitrary<Expression> = fc.record({
  kind: fc.constant('object' as const),
  entries: fc.tuple(fc.tuple(fc.constant('queue'), queue), fc.tuple(key, value), fc.tuple(key, object)),
});

/** Three documents to begin with, then anything. */
export const program = fc.record({
  eager: fc.nat(3).map((n) => n === 0),
  initial: fc.tuple(withQueue.map(acceptable), queue.map(acceptable), fc.oneof(withQueue, value)),
  commands: fc.array(command, { minLength: 1, maxLength: 20, size: 'max' }),
});

export type Program = typeof program extends fc.Arbitrary<infer P> ? P : never;

function acceptable(expression: Expression): Expression {
  switch (expression.kind) {
    case 'bad':
      return { kind: 'leaf', leaf: 'bad' };
    case 'list':
      return { ...expression, items: expression.items.map(acceptable) };
    case 'object':
      return { ...expression, entries: expression.entries.map(([key, item]) => [key, acceptable(item)] as const) };
    default:
      return expression;
  }
}
