// What the compiler says about `state`: it is the schema's type, read-only all the way down, and nothing less. The lines
// that must not compile are checked with the build; here it only has to run.

import { expect, it } from 'vitest';
import { z } from 'zod';
import { Changes } from '../../src/change/changes.js';
import { type DeepReadonly, Tracked } from '../../src/change/tracked.js';

const schema = z.object({
  id: z.string().brand<'Id'>(),
  count: z.number().brand<'Count'>(),
  pair: z.tuple([z.string(), z.number()]),
  run: z.tuple([z.string()], z.object({ n: z.number() })),
  fixed: z.array(z.object({ n: z.number() })).readonly(),
  phase: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('idle'), since: z.number() }),
    z.object({ kind: z.literal('busy'), task: z.string().optional() }),
  ]),
  any: z.any(),
  unknown: z.unknown(),
});
type State = z.infer<typeof schema>;

interface Tree {
  name: string;
  kids: Tree[];
}

const state: State = {
  id: 'a' as State['id'],
  count: 1 as State['count'],
  pair: ['left', 2],
  run: ['first', { n: 3 }],
  fixed: [{ n: 4 }],
  phase: { kind: 'idle', since: 5 },
  any: { deep: 6 },
  unknown: null,
};

it('branded values, tuples and tagged unions keep their types', () => {
  const doc = new Tracked<State>('doc', new Changes(), structuredClone(state), 1);
  const id: State['id'] = doc.state.id;
  const count: State['count'] = doc.state.count;
  const [left, right]: readonly [string, number] = doc.state.pair;
  const first: string = doc.state.run[0];
  const rest: { readonly n: number } | undefined = doc.state.run[1];
  const since: number = doc.state.phase.kind === 'idle' ? doc.state.phase.since : 0;
  const deep: number = doc.state.any.deep;
  expect([id, count, left, right, first, rest, since, deep]).toEqual(['a', 1, 'left', 2, 'first', { n: 3 }, 5, 6]);
});

it('nothing in it can be assigned to', () => {
  const misuse = (given: DeepReadonly<State>, tree: DeepReadonly<Tree>) => {
    // @ts-expect-error a branded value is read-only like any other
    given.id = 'b' as State['id'];
    // @ts-expect-error an item of a tuple
    given.pair[0] = 'x';
    // @ts-expect-error there is no third item
    given.pair[2];
    // @ts-expect-error what is in a rest
    given.run[1].n = 1;
    // @ts-expect-error a read-only list of the schema, and what is in it
    given.fixed[0].n = 1;
    // @ts-expect-error however deep
    tree.kids[0]?.kids.push({ name: 'x', kids: [] });
    // @ts-expect-error unknown stays unknown
    given.unknown.x;
  };
  expect(misuse).toBeTypeOf('function');
});
