// What is misspelt or of the wrong kind is refused before anything is read: else everything would be, in place of a part.

import { expect, it } from 'vitest';
import { exported, follow, history, verify } from '../../src/inspect/index.js';
import { Life, LOOP } from './support.js';

it.each<[what: string, look: (path: string) => Promise<unknown>, why: RegExp]>([
  ['history', (path) => first(history(path, { lmit: 1 } as never)), /^Expected options that history knows, got `lmit`/],
  [
    'history',
    (path) => first(history(path, null as never)),
    /^Expected the options of history to be an object, got null/,
  ],
  ['history', (path) => first(history(path, { doc: 7 } as never)), /^Expected `doc` to be of type string, got 7/],
  ['follow', (path) => first(follow(path, { limit: 1 } as never)), /^Expected options that follow knows, got `limit`/],
  ['follow', (path) => first(follow(path, { signal: {} } as never)), /^Expected `signal` to be an AbortSignal/],
  [
    'verify',
    (path) => verify(path, { progress: () => 0 } as never),
    /^Expected options that verify knows, got `progress`/,
  ],
  [
    'exported',
    (path) => first(exported(path, 'loop', 'xml' as never)),
    /^Expected `format` to be json or jsonl or msgpack, got "xml"/,
  ],
])('%s', async (_, look, why) => {
  const life = new Life();
  life.make('loop', LOOP);
  life.truth.close();
  const error = await look(life.directory).then(
    () => null,
    (found: unknown) => found,
  );
  expect(error).toBeInstanceOf(TypeError);
  expect((error as Error).message).toMatch(why);
});

function first(steps: AsyncGenerator<unknown>): Promise<unknown> {
  return steps.next();
}
