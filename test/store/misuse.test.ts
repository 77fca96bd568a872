// What is wrong with a call is said before anything is touched: what was expected, and what was given.

import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { open, openDoc, openReadOnly, type Store } from '../../src/index.js';
import { runLoop } from '../../src/loop/index.js';
import { Mission } from '../../src/mission/index.js';
import { folder, openStore } from './support.js';

const never = async () => undefined;
const openMission = (options: object) => (at: string) => Mission.open(at, options);

it.each<[message: string, call: (directory: string) => Promise<unknown>]>([
  ['Expected `syncDelayMs` ≥ 0, got -1', (at) => open(at, { syncDelayMs: -1 })],
  ['Expected `backups` ≤ 9, got 12', (at) => open(at, { backups: 12 })],
  ['Expected `exit.timeoutMs` to be of type number, got "x"', (at) => open(at, { exit: { timeoutMs: 'x' as never } })],
  ['Expected options that open knows, got `exit.time`', (at) => open(at, { exit: { time: 1 } as never })],
  ['Expected options that open knows, got `syncDelay`', (at) => open(at, { syncDelay: 1 } as never)],
  [
    'Expected `exit.signals.0` to be a signal that a program can handle, got "SIGKILL"',
    (at) => open(at, { exit: { signals: ['SIGKILL'] } }),
  ],
  [
    'Expected `exit.signals.1` to be a signal that a program can handle, got "sigint"',
    (at) => open(at, { exit: { signals: ['SIGTERM', 'sigint' as never] } }),
  ],
  [
    'Expected `workersUrl` to be the URL of a folder (file:///…/), got "./workers"',
    (at) => open(at, { workersUrl: './workers' }),
  ],
  [
    'Expected `workersUrl` to be the URL of a folder (file:///…/), got an object',
    (at) => open(at, { workersUrl: new URL('https://example.com/workers/') }),
  ],
  ['Expected the options of open to be an object, got 5', (at) => open(at, 5 as never)],
  ['Expected the options of open to be an object, got an array', (at) => open(at, [] as never)],
  [
    'Expected `onDrift` to be "refuse" or "adopt" or "restore", got an object',
    (at) => open(at, { onDrift: {} as never }),
  ],
  [
    'Expected the options of openDoc to be an object, got undefined',
    (at) => openDoc(join(at, 'a.json'), undefined as never),
  ],
  ['Expected `backups` ≤ 9, got 99', (at) => openDoc(join(at, 'a.json'), { initial: {}, backups: 99 })],
  ['Expected `retries` to be of type int, got 0.5', (at) => runLoop([], join(at, 'a.json'), never, { retries: 0.5 })],
  ['Expected options that a mission knows, got `schema.featuer`', openMission({ schema: { featuer: z.string() } })],
  ['Expected `schema.note` to be a zod schema, got an object', openMission({ schema: { note: {} } })],
  ['Expected options that a mission knows, got `files.validations`', openMission({ files: { validations: 'v' } })],
  ['Expected `key` to be a function, got 3', (at) => runLoop([], join(at, 'a.json'), never, { key: 3 as never })],
])('%s', async (message, call) => {
  const directory = folder();
  await expect(call(directory)).rejects.toThrow(new TypeError(message));
  expect(readdirSync(directory)).toEqual([]);
});

it.each<[message: string, call: (store: Store) => Promise<unknown>]>([
  ['Expected the options of doc to be an object, got undefined', (store) => store.doc('a', undefined as never)],
  ['Expected options that doc knows, got `inital`', (store) => store.doc('a', { inital: {} } as never)],
  ['Expected `version` ≥ 1, got 0', (store) => store.doc('a', { initial: {}, version: 0 })],
  [
    'Expected `migrate` to be a function, got an object',
    (store) => store.doc('a', { initial: {}, migrate: {} as never }),
  ],
  ['Expected options that log knows, got `scheme`', (store) => store.log('a', { scheme: z.string() } as never)],
  ['Expected options that flush knows, got `projectd`', (store) => store.flush({ projectd: true } as never)],
  ['Expected `signal` to be an AbortSignal, got "x"', (store) => store.flush({ signal: 'x' as never })],
  ['Expected the options of flush to be an object, got null', (store) => store.flush(null as never)],
  [
    'Expected options that read knows, got `sinc`',
    async (store) => (await store.log('a')).read({ sinc: 1 } as never).next(),
  ],
  ["Expected 1 key for 'a/*', got 5", async (store) => (await store.collection('a/*')).get(5 as never)],
  ['Expected `backups` ≥ 0, got -1', (store) => store.collection('a/*', { backups: -1 })],
  ['Expected `projected` to be of type boolean, got "no"', (store) => store.flush({ projected: 'no' as never })],
  [
    'Expected one of commit, project, recovered, drift, degraded, fault, got "error"',
    async (store) => store.on('error' as never, () => undefined),
  ],
])('%s', async (message, call) => {
  const store = await openStore(folder());
  await expect(call(store)).rejects.toThrow(new TypeError(message));
  expect(store.documents()).toEqual([]);
});

it('a document that is open is given with the schema that was asked for, or not at all', async () => {
  const store = await openStore(folder());
  const make = () => z.object({ n: z.number() });
  const schema = make();
  const counted = await store.doc('counted', { schema, initial: { n: 0 } });
  expect(await store.doc('counted', { schema, initial: { n: 0 } })).toBe(counted);
  expect(await store.doc('counted', { schema: make(), initial: { n: 0 } })).toBe(counted);
  expect(await store.doc('counted', { initial: { n: 0 } })).toBe(counted);
  const other = z.object({ n: z.number().max(5) });
  await expect(store.doc('counted', { schema: other, initial: { n: 0 } })).rejects.toThrow(
    /opened with another schema/,
  );
  await store.doc('free', { initial: { n: 0 } });
  await expect(store.doc('free', { schema, initial: { n: 0 } })).rejects.toThrow(/opened without a schema/);
  await store.log('lines', { schema });
  await expect(store.log('lines', { schema: other })).rejects.toThrow(/opened with another schema/);
});

it('a document that is open is given with the version that was asked for, or not at all', async () => {
  const store = await openStore(folder());
  const doc = await store.doc('a', { initial: { n: 0 } });
  const migrate = () => ({ m: 0 });
  await expect(store.doc('a', { initial: { m: 0 }, version: 2, migrate })).rejects.toThrow(
    /Expected `version` to be 1, which 'a' is open with, got 2/,
  );
  expect(await store.doc('a', { initial: { n: 0 }, version: 1 })).toBe(doc);
  await store.doc('b', { initial: { n: 0 }, version: 3 });
  expect((await store.doc('b', { initial: { n: 0 } })).name).toBe('b');
});

it('a reader is asked with options that there are', async () => {
  const directory = folder();
  const store = await openStore(directory);
  await store.doc('a', { initial: { n: 0 } });
  await store.flush();
  const reader = await openReadOnly(directory);
  const misspelt = reader.doc('a', { scheme: z.object({}) } as never);
  await expect(misspelt).rejects.toThrow(new TypeError('Expected options that doc knows, got `scheme`'));
  await expect(reader.doc('a', null as never)).rejects.toThrow(/Expected the options of doc to be an object, got null/);
});

it('a file where the folder of a store should be is left alone, and the error names the way', async () => {
  const path = join(folder(), 'state.json');
  writeFileSync(path, '{}');
  await expect(open(path)).rejects.toMatchObject({ code: 'HF_EXISTS', message: expect.stringContaining('openDoc') });
  await expect(open(join(path, 'inside'))).rejects.toMatchObject({ code: 'HF_EXISTS' });
  expect(existsSync(path)).toBe(true);
});
