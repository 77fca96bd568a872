// A file that the state was taken from is known as such from the same moment on as the state itself is saved.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { nodeDisk } from '../../src/disk/node-disk.js';
import { readBase, writeBase } from '../../src/journal/base.js';
import { makePlaces, Places } from '../../src/journal/places.js';
import { run } from '../support/process-child.js';
import { folder, json, openStore } from './support.js';

const LARGE = { list: Array.from({ length: 30_000 }, (_, n) => `item-number-${n}`), n: 0 };

it.each(['refuse', 'adopt'] as const)(
  'killed before the file is written anew, with onDrift %s: what was flushed is there',
  async (onDrift) => {
    const directory = folder();
    writeFileSync(join(directory, 'a.json'), JSON.stringify(LARGE));
    const { signal, stderr } = await run(`
      import { open } from 'holdfast';
      const store = await open(${JSON.stringify(directory)}, { projectDelayMs: 60_000 });
      const doc = await store.doc('a', { initial: {} });
      doc.update((s) => { s.n = 1; });
      await doc.flush();
      process.kill(process.pid, 'SIGKILL');`);
    expect({ signal, stderr }).toEqual({ signal: 'SIGKILL', stderr: '' });
    const store = await openStore(directory, { onDrift });
    const drifts: string[] = [];
    store.on('drift', ({ document }) => drifts.push(document));
    const doc = await store.doc('a', { initial: { n: -1 } });
    expect(doc.state.n).toBe(1);
    await store.flush({ projected: true });
    expect(drifts).toEqual([]);
    expect(json(directory, 'a')).toEqual({ ...LARGE, n: 1 });
  },
);

it('drift that was adopted is known after a kill too, and a later edit is still drift', async () => {
  const directory = folder();
  const first = await openStore(directory);
  await first.doc('a', { initial: { n: 0 } });
  await first.close();
  writeFileSync(join(directory, 'a.json'), '{"n":5}');
  await run(`
    import { open } from 'holdfast';
    const store = await open(${JSON.stringify(directory)}, { projectDelayMs: 60_000, onDrift: 'adopt' });
    const doc = await store.doc('a', { initial: {} });
    doc.update((s) => { s.n++; });
    await doc.flush();
    process.kill(process.pid, 'SIGKILL');`);
  const again = await openStore(directory);
  expect((await again.doc('a', { initial: { n: -1 } })).state.n).toBe(6);
  await again.close();
  expect(json(directory, 'a')).toEqual({ n: 6 });
  writeFileSync(join(directory, 'a.json'), '{"n":7}');
  const last = await openStore(directory);
  await expect(last.doc('a', { initial: { n: -1 } })).rejects.toMatchObject({ code: 'HF_DRIFT' });
});

it('a base remembers it', () => {
  const places = new Places(folder());
  makePlaces(nodeDisk, places, true);
  const document = { state: { n: 1 }, version: 3, mayBeOdd: false, schemaVersion: 2, adopted: 'ab'.repeat(32) };
  writeBase(nodeDisk, places, {
    storeId: Buffer.alloc(16, 1),
    owner: 1,
    number: 1,
    at: { seq: 9, crc: 7 },
    tailNumber: 0,
    timeMs: 0,
    documents: new Map([['a', document]]),
    logs: new Map(),
  });
  expect(readBase(nodeDisk, places, places.truth(1, 'base')).replica.documents.get('a')).toEqual(document);
});
