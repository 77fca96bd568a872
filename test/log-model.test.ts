// Random programs over documents and logs, beside plain arrays: what was undone is gone without a trace, everything else
// is there in order, whatever compactions, kills and openings come in between.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Truth } from '../src/truth.js';
import { STORE } from './crash/script.js';
import { killState } from './support/crash-states.js';
import { RecordingDisk } from './support/recording-disk.js';

const RUNS = Number(process.env.HOLDFAST_RUNS ?? 120);

type Step =
  | { do: 'append'; log: 'a' | 'b'; entry: unknown }
  | { do: 'count'; by: number }
  | { do: 'bad'; log: 'a' | 'b' }
  | { do: 'nested'; steps: Step[]; throws: boolean };

type Command =
  | { do: 'run'; steps: Step[]; throws: boolean }
  | { do: 'flush' | 'rotate' | 'compact' | 'reopen' | 'kill' }
  | { do: 'read'; since: number };

const log = fc.constantFrom('a' as const, 'b' as const);
const entry = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.string({ unit: 'binary' }),
  fc.constantFrom({ constructor: 1 }, JSON.parse('{"__proto__":{"x":1}}'), '\ud83d', 'x'.repeat(70_000)),
);
const { step } = fc.letrec<{ step: Step }>((tie) => ({
  step: fc.oneof(
    { maxDepth: 2 },
    { weight: 6, arbitrary: fc.record({ do: fc.constant('append' as const), log, entry }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('count' as const), by: fc.nat(9) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('bad' as const), log }) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('nested' as const),
        steps: fc.array(tie('step'), { maxLength: 4 }),
        throws: fc.boolean(),
      }),
    },
  ),
}));
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('run' as const),
      steps: fc.array(step, { minLength: 1, maxLength: 5 }),
      throws: fc.nat(3).map((n) => n === 0),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('flush', 'rotate', 'compact', 'reopen', 'kill'),
    }) as fc.Arbitrary<Command>,
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('read' as const), since: fc.nat(12) }) },
);

interface Model {
  a: unknown[];
  b: unknown[];
  count: number;
}

class Deliberate extends Error {}

/** Undone by its caller when it throws. */
function perform(truth: Truth, model: Model, steps: readonly Step[]): void {
  for (const each of steps) {
    if (each.do === 'append') {
      expect(truth.log(each.log).append(each.entry)).toBe(model[each.log].length);
      model[each.log].push(normal(each.entry));
    } else if (each.do === 'count') {
      truth.doc<{ count: number }>('doc', { initial: { count: 0 } }).update((draft) => {
        draft.count += each.by;
      });
      model.count += each.by;
    } else if (each.do === 'bad') {
      expect(() => truth.log(each.log).append({ deep: [new Date()] })).toThrow('Cannot store');
    } else attempt(truth, model, each.steps, each.throws);
    expect([truth.log('a').length, truth.log('b').length]).toEqual([model.a.length, model.b.length]);
  }
}

function attempt(truth: Truth, model: Model, steps: readonly Step[], throws: boolean): void {
  const before = { a: [...model.a], b: [...model.b], count: model.count };
  try {
    truth.transaction(() => {
      perform(truth, model, steps);
      if (throws) throw new Deliberate();
    });
  } catch (error) {
    if (!(error instanceof Deliberate)) throw error;
    Object.assign(model, before);
  }
}

/** As JSON keeps it: -0 is 0. */
function normal(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

function check(truth: Truth, model: Model): void {
  expect(truth.readLog('a')).toEqual(model.a);
  expect(truth.readLog('b')).toEqual(model.b);
  expect(truth.doc('doc', { initial: { count: 0 } }).state).toEqual({ count: model.count });
}

it('a log is the array that was appended to it', () => {
  fc.assert(
    fc.property(fc.array(command, { minLength: 1, maxLength: 25, size: 'max' }), (commands) => {
      let disk = new RecordingDisk();
      let truth = new Truth(STORE, { disk });
      const model: Model = { a: [], b: [], count: 0 };
      truth.doc('doc', { initial: { count: 0 } });
      for (const each of commands) {
        if (each.do === 'run') attempt(truth, model, each.steps, each.throws);
        else if (each.do === 'read') {
          expect(truth.readLog('a', each.since)).toEqual(model.a.slice(each.since));
          expect(truth.readLog('b', each.since)).toEqual(model.b.slice(each.since));
        } else if (each.do === 'reopen' || each.do === 'kill') {
          if (each.do === 'reopen') truth.close();
          else {
            truth.abandon();
            disk = killState(disk);
          }
          truth = new Truth(STORE, { disk });
          check(truth, model);
        } else truth[each.do]();
      }
      check(truth, model);
      truth.abandon();
    }),
    { numRuns: RUNS },
  );
}, 600_000);
