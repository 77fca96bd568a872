// Many documents, and odd values, all the way through a store.

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { folder, json, openStore } from './support.js';

const COUNT = 10_000;

/**
 * Of processor time, on all threads: a machine that is busy with other things must not fail. Far below what a cost that grows
 * with the square would take.
 */
const LONGEST_MS = 20_000;

it('ten thousand documents: made, flushed, opened again, and one of them changed', async () => {
  // In memory where there is such a disk: how long ten thousand syncs take is another matter.
  const directory = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'holdfast-many-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const times: Record<string, number> = {};
  const timed = async <R>(what: string, act: () => Promise<R>): Promise<R> => {
    const before = process.cpuUsage();
    const result = await act();
    const { user, system } = process.cpuUsage(before);
    times[what] = Math.round((user + system) / 1000);
    return result;
  };
  const options = { projectDelayMs: 3_600_000, audit: false, backups: 0 };
  const name = (n: number) => `items/${n % 100}/${n}`;
  const store = await timed('open', () => openStore(directory, options));
  await timed('doc', async () => {
    for (let n = 0; n < COUNT; n++) await store.doc(name(n), { initial: { n } });
  });
  await timed('flush', () => store.flush());
  await timed('update', async () => {
    for (let n = 0; n < COUNT; n++) (await store.doc(name(n), { initial: { n } })).update((s) => void s.n++);
    await store.flush();
  });
  expect(store.documents()).toHaveLength(COUNT);
  await timed('close', () => store.close());
  const again = await timed('open again', () => openStore(directory, options));
  expect(again.documents()).toHaveLength(COUNT);
  const one = await timed('doc again', () => again.doc(name(777), { initial: { n: -1 } }));
  expect(one.state).toEqual({ n: 778 });
  one.update((s) => {
    s.n = 5;
  });
  await timed('flush again', () => again.flush({ projected: true }));
  expect(json(directory, name(777))).toEqual({ n: 5 });
  await timed('docs again', async () => {
    for (let n = 0; n < COUNT; n++) await again.doc(name(n), { initial: { n: -1 } });
  });
  await timed('close again', () => again.close());
  console.info(`${COUNT} documents, ms of processor time: ${JSON.stringify(times)}`);
  for (const [what, ms] of Object.entries(times)) expect(ms, what).toBeLessThan(LONGEST_MS);
}, 240_000);

it('keys that mean something to JavaScript, and halves of characters, come back as they were', async () => {
  const directory = folder();
  const text = `{"__proto__":{"x":1},"constructor":[2],"prototype":"p","\\ud83d":"\\ude00 and \\ud800","":0}`;
  const initial = JSON.parse(text) as Record<string, unknown>;
  const store = await openStore(directory);
  const doc = await store.doc<Record<string, unknown>>('odd', { initial });
  doc.update((s) => {
    s.list = [JSON.parse('{"__proto__":null}'), '\udfff'];
  });
  const expected = JSON.stringify(doc.state);
  expect(expected).toContain('"__proto__":{"x":1}');
  await store.flush({ projected: true });
  expect(JSON.stringify(json(directory, 'odd'))).toBe(expected);
  await store.close();
  const again = await openStore(directory);
  const found = await again.doc('odd', { initial: {} });
  expect(JSON.stringify(found.state)).toBe(expected);
  expect(({} as { x?: number }).x).toBeUndefined();
  await again.close();
});
