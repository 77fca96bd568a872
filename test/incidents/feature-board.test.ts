// An app kept a folder per feature. A crash cut one feature.json to 0 bytes, and the loader skipped what it could not
// parse: "Loaded 15" instead of 16, and nobody was told.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { folder, json, openStore } from '../store/support.js';

const IDS = Array.from({ length: 16 }, (_, n) => `feature-${String(n).padStart(2, '0')}`);
const PATTERN = 'features/*/feature';
const pathOf = (directory: string, id: string) => join(directory, 'features', id, 'feature.json');

/** The technique: whatever cannot be read is not there. */
function loadPlainly(directory: string): string[] {
  return readdirSync(join(directory, 'features')).filter((id) => {
    try {
      JSON.parse(readFileSync(pathOf(directory, id), 'utf8'));
      return true;
    } catch {
      return false;
    }
  });
}

it('the technique: a feature vanishes without a message', () => {
  const directory = folder();
  for (const id of IDS) {
    mkdirSync(join(directory, 'features', id), { recursive: true });
    writeFileSync(pathOf(directory, id), JSON.stringify({ title: id }));
  }
  writeFileSync(pathOf(directory, 'feature-07'), '');
  expect(loadPlainly(directory)).toHaveLength(15);
});

it('ours: all 16, and the file is whole again', async () => {
  const directory = folder();
  const first = await openStore(directory);
  const created = await first.collection<{ title: string }>(PATTERN);
  for (const id of IDS) await created.create(id, { title: id });
  await first.close();
  writeFileSync(pathOf(directory, 'feature-07'), '');

  const store = await openStore(directory);
  const recovered: string[] = [];
  store.on('recovered', ({ projections }) => recovered.push(...projections.map(({ document }) => document)));
  const entries = await (await store.collection<{ title: string }>(PATTERN)).entries();
  expect(entries.map(({ keys, status, document }) => [keys[0], status, document?.state.title])).toEqual(
    IDS.map((id) => [id, 'sound', id]),
  );
  await store.flush({ projected: true });
  expect(recovered).toEqual(['features/feature-07/feature']);
  expect(json(directory, 'features/feature-07/feature')).toEqual({ title: 'feature-07' });
});

it('ours, on the day of moving over: the damaged one is listed with its error, and hides no other', async () => {
  const directory = folder();
  for (const id of IDS) {
    mkdirSync(join(directory, 'features', id), { recursive: true });
    writeFileSync(pathOf(directory, id), JSON.stringify({ title: id }));
  }
  writeFileSync(pathOf(directory, 'feature-07'), '');
  const store = await openStore(directory);
  const features = await store.collection<{ title: string }>(PATTERN);
  const entries = await features.entries();
  expect(entries).toHaveLength(16);
  expect(entries.filter(({ error }) => error !== undefined)).toMatchObject([
    { keys: ['feature-07'], status: 'damaged', error: { code: 'HF_DAMAGED' } },
  ]);
  expect(store.documents().filter(({ status }) => status === 'damaged')).toHaveLength(1);
  rmSync(pathOf(directory, 'feature-07'));
});
