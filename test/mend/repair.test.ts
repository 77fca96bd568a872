// Repair, on stores as a crash, a bad disk or a person leaves them. `planRepair` writes nothing, ever.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { isWhole, planRepair, repair } from '../../src/mend/index.js';
import { openDoc } from '../../src/open-doc.js';
import { open } from '../../src/opening.js';
import { folder, json, openStore, workersUrl } from '../store/support.js';
import {
  contents,
  copyOf,
  emptyFolder,
  filesLike,
  hidden,
  ITEMS,
  type Loop,
  makeStore,
  quarantined,
  removeAll,
  rotten,
  torn,
  withRottenBase,
} from './support.js';

const options = { workersUrl };

let sound: string;
beforeAll(async () => {
  // Kept for the whole file: `folder()` is emptied after each test.
  sound = await makeStore(join(mkdtempSync(join(tmpdir(), 'holdfast-mend-')), '.agent'));
  return () => rmSync(join(sound, '..'), { recursive: true });
});

async function planned(directory: string) {
  const before = contents(directory);
  const plan = await planRepair(directory);
  expect(contents(directory)).toEqual(before);
  return plan;
}

async function stateOf(directory: string) {
  const store = await openStore(directory);
  const loop = await store.doc<Loop>('loop', { initial: { current: null, done: {} } });
  const upload = await store.doc('features/upload', { initial: { n: 0 } });
  const found = { done: Object.keys(loop.state.done).length, n: upload.state.n, events: store.logs()[0]?.length };
  await store.close();
  return found;
}

const ALL = { done: ITEMS, n: 1, events: ITEMS };

it('a sound store has nothing to repair, and repairing it changes nothing that is saved', async () => {
  const directory = copyOf(sound);
  const plan = await planned(directory);
  expect(isWhole(plan)).toBe(true);
  expect(plan).toMatchObject({ damage: null, keeps: [], leftovers: [], files: [] });
  expect(await repair(directory, options)).toEqual({ notes: [], putBack: [], drifted: [], unreadable: [], kept: [] });
  expect(await stateOf(directory)).toEqual(ALL);
});

it('an end that a crash tore off is told from damage, and kept', async () => {
  const directory = torn(copyOf(sound));
  const plan = await planned(directory);
  expect(plan.damage).toBeNull();
  expect(plan.leftovers).toEqual([{ kind: 'cut', file: '0000000001.tail', offset: expect.any(Number) }]);
  const { notes, kept } = await repair(directory, options);
  expect(notes).toEqual([expect.objectContaining({ kind: 'cut', file: '0000000001.tail' })]);
  expect(kept).toEqual([expect.stringContaining('0000000001.tail.from-')]);
  expect(await stateOf(directory)).toEqual(ALL);
});

it('a rotten base is put aside: the older one and the tails have everything', async () => {
  const directory = withRottenBase(copyOf(sound));
  const plan = await planned(directory);
  expect(plan.damage).toBeNull();
  expect(plan.leftovers).toContainEqual({ kind: 'base-damaged', file: expect.stringContaining('.base') });
  const { kept } = await repair(directory, options);
  expect(kept.some((path) => path.endsWith('.base'))).toBe(true);
  expect(await stateOf(directory)).toEqual({ ...ALL, n: 11 });
});

it('rot in what was durable: the plan says what is lost and kept, and repair does exactly that', async () => {
  const directory = rotten(copyOf(sound));
  await expect(openStore(directory)).rejects.toMatchObject({
    code: 'HF_DAMAGED',
    message: expect.stringContaining(`npx holdfast repair ${directory}`),
  });
  const plan = await planned(directory);
  expect(plan.damage).toMatchObject({ lost: { from: expect.any(Number), to: expect.any(Number) } });
  const loop = plan.keeps.find(({ name }) => name === 'loop');
  expect(loop).toMatchObject({ kind: 'document', knownVersion: ITEMS + 1 });
  expect(plan.keeps.find(({ name }) => name === 'events')).toMatchObject({ kind: 'log', lostEntries: 1 });
  // It was written out, so more of it is in the file than in what can be kept.
  expect(plan.files).toEqual([{ kind: 'ahead', name: 'loop', path: join(directory, 'loop.json'), version: ITEMS + 1 }]);
  const done = await repair(directory, options);
  expect(done.notes).toEqual([expect.objectContaining({ kind: 'salvaged' })]);
  expect(done.kept.map((path) => path.replace(/^.*\d{6}-/, ''))).toEqual([
    '0000000001.tail',
    'projections',
    // The lines of the entry that is lost are in the old one only.
    'events.jsonl',
  ]);
  expect(done.drifted).toEqual([expect.objectContaining({ name: 'loop' })]);
  const store = await openStore(directory, { onDrift: 'restore' });
  expect((await store.doc('loop', { initial: {} })).version).toBe(loop?.version);
  await store.close();
});

it('nothing can be kept: the store becomes an empty one, and says so beforehand', async () => {
  const directory = copyOf(sound);
  removeAll(...filesLike(directory, '.tail'));
  const plan = await planned(directory);
  expect(plan.damage?.problems).toContain('no base can be read and the first tail is missing');
  expect(plan.keeps).toEqual([]);
  await repair(directory, options);
  expect(isWhole(await planned(directory))).toBe(true);
  // What is left of it are the files, and the program takes them over.
  const store = await openStore(directory);
  expect(
    Object.keys((await store.doc<Loop>('loop', { initial: { current: null, done: {} } })).state.done),
  ).toHaveLength(ITEMS);
  await store.close();
});

describe('JSON files', () => {
  it.each([
    ['missing', (path: string) => rmSync(path)],
    ['empty', (path: string) => writeFileSync(path, '')],
    ['unparseable', (path: string) => writeFileSync(path, '{"done": {"it')],
    ['refused', (path: string) => writeFileSync(path, '42\n')],
  ])('one that is %s is written anew from what is saved', async (kind, spoil) => {
    const directory = copyOf(sound);
    const path = join(directory, 'loop.json');
    const before = readFileSync(path, 'utf8');
    spoil(path);
    expect((await planned(directory)).files).toEqual([{ kind, name: 'loop', path }]);
    const { kept } = await repair(directory, options);
    expect(readFileSync(path, 'utf8')).toBe(before);
    expect(kept).toHaveLength(kind === 'missing' ? 0 : 1);
    expect(isWhole(await planned(directory))).toBe(true);
  });

  it('one that somebody changed stays as it is', async () => {
    const directory = copyOf(sound);
    writeFileSync(join(directory, 'loop.json'), '{"current":"mine","done":{}}');
    expect((await planned(directory)).files).toMatchObject([{ kind: 'drifted', name: 'loop' }]);
    const { drifted, kept } = await repair(directory, options);
    expect(drifted).toMatchObject([{ name: 'loop' }]);
    expect(kept).toEqual([]);
    expect(json(directory, 'loop')).toEqual({ current: 'mine', done: {} });
  });

  it('the lines of a log are written anew', async () => {
    const directory = copyOf(sound);
    const path = join(directory, 'events.jsonl');
    const before = readFileSync(path, 'utf8');
    rmSync(path);
    expect((await planned(directory)).files).toEqual([{ kind: 'missing', name: 'events', path }]);
    await repair(directory, options);
    expect(readFileSync(path, 'utf8')).toBe(before);
  });

  it('one that nothing is saved of and that cannot be read gets its newest whole backup', async () => {
    const directory = copyOf(sound);
    const path = join(directory, 'notes.json');
    writeFileSync(path, '{"a":');
    writeFileSync(`${path}.bak1`, '');
    writeFileSync(`${path}.bak2`, '{"a":2}');
    expect((await planned(directory)).files).toEqual([
      { kind: 'unknown', name: 'notes', path, backup: `${path}.bak2` },
    ]);
    const { putBack, kept } = await repair(directory, options);
    expect(putBack).toEqual([{ name: 'notes', backup: `${path}.bak2` }]);
    expect(readFileSync(kept[0] as string, 'utf8')).toBe('{"a":');
    expect(readFileSync(path, 'utf8')).toBe('{"a":2}');
    expect(existsSync(`${path}.bak2`)).toBe(true);
  });

  it('and without one it is left for a person', async () => {
    const directory = copyOf(sound);
    const path = join(directory, 'notes.json');
    writeFileSync(path, '');
    expect((await repair(directory, options)).unreadable).toEqual([
      { kind: 'unknown', name: 'notes', path, backup: null },
    ]);
    expect(readFileSync(path, 'utf8')).toBe('');
  });
});

it('the file of a single document is repaired by its own name', async () => {
  const path = join(folder(), 'state.json');
  writeFileSync(path, '');
  writeFileSync(`${path}.bak1`, '{"n":1}');
  const opening = () => openDoc<{ n: number }>(path, { initial: { n: 0 }, workersUrl });
  await expect(opening()).rejects.toThrow(`npx holdfast repair ${path}`);
  expect((await planRepair(path)).files).toMatchObject([{ kind: 'unknown', backup: `${path}.bak1` }]);
  await repair(path, options);
  const document = await opening();
  expect(document.state).toEqual({ n: 1 });
  await document.close();
  expect(isWhole(await planRepair(path))).toBe(true);
});

describe('what repair does not touch', () => {
  it('a folder without a store, and one in which nothing was saved', async () => {
    const directory = emptyFolder();
    await expect(planRepair(directory)).rejects.toMatchObject({ code: 'HF_MISSING' });
    await expect(repair(directory, options)).rejects.toMatchObject({ code: 'HF_MISSING' });
    mkdirSync(hidden(directory));
    await expect(repair(directory, options)).rejects.toMatchObject({ code: 'HF_MISSING' });
    expect(contents(directory)).toEqual({});
  });

  it('a store that another part of this process, or another process, has open', async () => {
    const directory = rotten(copyOf(sound));
    const live = copyOf(sound);
    const store = await open(live, { workersUrl });
    expect(isWhole(await planRepair(live))).toBe(true);
    await store.close();
    expect(quarantined(live)).toEqual([]);
    await expect(planRepair(directory)).resolves.toMatchObject({ damage: expect.anything() });
  });

  it('something that is no file where a file of the journal should be', async () => {
    const directory = copyOf(sound);
    removeAll(...filesLike(directory, '.tail'));
    mkdirSync(hidden(directory, '0000000001.tail'));
    await expect(planRepair(directory)).rejects.toMatchObject({ code: 'EISDIR' });
    await expect(repair(directory, options)).rejects.toMatchObject({ code: 'EISDIR' });
  });
});
