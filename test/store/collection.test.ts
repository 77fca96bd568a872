import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { faults, folder, json, openStore } from './support.js';

const Feature = z.object({ title: z.string(), steps: z.array(z.string()).default([]) });
const PATTERN = 'features/*/feature';

function put(directory: string, key: string, text: string): string {
  const path = join(directory, 'features', key, 'feature.json');
  mkdirSync(join(directory, 'features', key), { recursive: true });
  writeFileSync(path, text);
  return path;
}

async function openFeatures(directory: string, options = {}) {
  const store = await openStore(directory, options);
  return { store, features: await store.collection(PATTERN, { schema: Feature }) };
}

describe('a collection', () => {
  it('creates, gets and lists documents, which are documents of the store', async () => {
    const directory = folder();
    const { store, features } = await openFeatures(directory);
    expect(await features.entries()).toEqual([]);
    expect(await features.get('upload')).toBeUndefined();
    const upload = await features.create('upload', { title: 'Upload' });
    await features.create(['search'], { title: 'Search', steps: ['a'] });
    await store.doc('features/other', { initial: {} });
    upload.update((s) => void s.steps.push('one'));
    expect(await features.get('upload')).toBe(upload);
    expect(await store.doc('features/upload/feature', { schema: Feature, initial: { title: '' } })).toBe(upload);
    await store.close();
    expect(json(directory, 'features/upload/feature')).toEqual({ title: 'Upload', steps: ['one'] });

    const again = await openFeatures(directory);
    const entries = await again.features.entries();
    expect(entries.map(({ keys, name, status, document }) => [keys, name, status, document?.state.title])).toEqual([
      [['search'], 'features/search/feature', 'sound', 'Search'],
      [['upload'], 'features/upload/feature', 'sound', 'Upload'],
    ]);
    expect(await again.features.get(entries[0]?.keys ?? [])).toBe(entries[0]?.document);
    expect(faults).toEqual([]);
  });

  it('uses `initial` where none is given, and refuses to create without one', async () => {
    const store = await openStore(folder());
    const notes = await store.collection('notes/*', { initial: { text: 'empty' } });
    expect((await notes.create('a')).state).toEqual({ text: 'empty' });
    const others = await store.collection<{ n: number }>('others/*');
    await expect(others.create('a')).rejects.toThrow(TypeError);
    expect(await others.get('a')).toBeUndefined();
    expect((await others.create('a', { n: 1 })).state).toEqual({ n: 1 });
  });

  it('lists a broken file among 16 with its error, and all the others', async () => {
    const directory = folder();
    for (let n = 0; n < 16; n++) put(directory, `f${String(n).padStart(2, '0')}`, `{"title":"${n}"}`);
    const broken = put(directory, 'f07', '{"title":"7"');
    const { features } = await openFeatures(directory);
    const entries = await features.entries();
    expect(entries).toHaveLength(16);
    expect(entries.filter(({ error }) => error !== undefined)).toMatchObject([
      { keys: ['f07'], status: 'damaged', error: { code: 'HF_DAMAGED' } },
    ]);
    expect(entries.filter(({ status }) => status === 'unmanaged')).toHaveLength(15);
    // Listing takes nothing over; `get` does.
    expect((await features.get('f03'))?.state).toEqual({ title: '3', steps: [] });
    await expect(features.get('f07')).rejects.toMatchObject({ code: 'HF_DAMAGED' });
    expect(readFileSync(broken, 'utf8')).toBe('{"title":"7"');
    expect((await features.entries()).map(({ status }) => status).sort()).toEqual(
      ['damaged', 'sound', ...Array(14).fill('unmanaged')].sort(),
    );
  });

  it('shows what is wrong with each: schema, nesting, drift, a folder in place of a file, a link to nowhere', async () => {
    const directory = folder();
    const first = await openFeatures(directory);
    await first.features.create('drifted', { title: 'ours' });
    await first.features.create('sound', { title: 'sound' });
    await first.store.close();
    put(directory, 'drifted', '{"title":"theirs","steps":[]}');
    put(directory, 'empty', '');
    put(directory, 'refused', '{"title":7}');
    mkdirSync(join(directory, 'features', 'folder', 'feature.json'), { recursive: true });
    mkdirSync(join(directory, 'features', 'dangling'));
    symlinkSync('nowhere', join(directory, 'features', 'dangling', 'feature.json'));
    const { features } = await openFeatures(directory);
    const entries = await features.entries();
    expect(entries.map(({ keys, status, error }) => [keys[0], status, error?.code])).toEqual([
      ['dangling', 'damaged', 'HF_IO'],
      ['drifted', 'drifted', 'HF_DRIFT'],
      ['empty', 'damaged', 'HF_DAMAGED'],
      ['folder', 'damaged', 'HF_IO'],
      ['refused', 'unmanaged', 'HF_SCHEMA'],
      ['sound', 'sound', undefined],
    ]);
  });

  it('does not take a file for importable that is nested too deeply for a document', async () => {
    const directory = folder();
    put(directory, 'deep', `{"a":${'['.repeat(600)}${']'.repeat(600)}}`);
    const store = await openStore(directory);
    const any = await store.collection(PATTERN);
    expect(await any.entries()).toMatchObject([{ status: 'unmanaged', error: { code: 'HF_VALUE' } }]);
  });

  it('shows drift of documents that are open', async () => {
    const directory = folder();
    const { store, features } = await openFeatures(directory);
    const doc = await features.create('a', { title: 'ours' });
    await store.flush({ projected: true });
    put(directory, 'a', '{"title":"theirs","steps":[]}');
    const drift = new Promise((resolve) => store.on('drift', resolve));
    doc.update((s) => void (s.title = 'ours again'));
    await drift;
    expect(await features.entries()).toMatchObject([{ status: 'drifted', document: doc, error: { code: 'HF_DRIFT' } }]);
  });

  it('passes over files that lie where folders are expected, and backups', async () => {
    const directory = folder();
    put(directory, 'a', '{"title":"a"}');
    writeFileSync(join(directory, 'features', 'README.md'), 'hello');
    writeFileSync(join(directory, 'features', 'a', 'feature.json.bak1'), '{');
    const { features } = await openFeatures(directory);
    expect((await features.entries()).map(({ keys }) => keys)).toEqual([['a']]);
    expect(await features.get('README.md')).toBeUndefined();
    expect(features.remove('README.md')).toBe(false);
  });

  it('gives a folder that cannot be listed as an entry with its error, beside the others', async () => {
    const directory = folder();
    mkdirSync(join(directory, 'groups', 'fine'), { recursive: true });
    writeFileSync(join(directory, 'groups', 'fine', 'one.json'), '{}');
    symlinkSync('loop', join(directory, 'groups', 'loop'));
    const store = await openStore(directory);
    const groups = await store.collection('groups/*/*');
    expect(await groups.entries()).toMatchObject([
      { keys: ['fine', 'one'], status: 'unmanaged' },
      { keys: ['loop'], name: 'groups/loop/*', status: 'damaged', error: { code: 'HF_IO' } },
    ]);
    expect((await groups.get(['fine', 'one']))?.state).toEqual({});
  });

  it('refuses to create what is there: open, saved, or a file', async () => {
    const directory = folder();
    const first = await openFeatures(directory);
    await first.features.create('a', { title: 'a' });
    await expect(first.features.create('a', { title: 'b' })).rejects.toMatchObject({ code: 'HF_EXISTS' });
    await first.store.close();
    const path = put(directory, 'file', '{"title":"mine"}');
    const { features } = await openFeatures(directory);
    await expect(features.create('a', { title: 'b' })).rejects.toMatchObject({ code: 'HF_EXISTS' });
    await expect(features.create('file', { title: 'b' })).rejects.toMatchObject({ code: 'HF_EXISTS' });
    expect(readFileSync(path, 'utf8')).toBe('{"title":"mine"}');
    await expect(features.create('A', { title: 'b' })).rejects.toMatchObject({ code: 'HF_NAME' });
    expect((await features.get('a'))?.state.title).toBe('a');
  });

  it('removes, and creates anew at once: the old file is not taken over', async () => {
    const directory = folder();
    const { store, features } = await openFeatures(directory);
    await features.create('a', { title: 'old' });
    await store.flush({ projected: true });
    const unmanaged = put(directory, 'theirs', '{"title":"theirs"}');
    expect(features.remove('a')).toBe(true);
    expect(features.remove('a')).toBe(false);
    expect(features.remove('theirs')).toBe(false);
    expect((await features.entries()).map(({ keys }) => keys[0])).toEqual(['theirs']);
    expect((await features.create('a', { title: 'new' })).state.title).toBe('new');
    await store.flush({ projected: true });
    expect(json(directory, 'features/a/feature')).toEqual({ title: 'new', steps: [] });
    expect(features.remove('a')).toBe(true);
    await store.close();
    expect([existsSync(join(directory, 'features/a/feature.json')), existsSync(unmanaged)]).toEqual([false, true]);
    const again = await openFeatures(directory);
    expect(await again.features.get('a')).toBeUndefined();
  });

  it('refuses wrong keys', async () => {
    const { store, features } = await openFeatures(folder());
    for (const key of ['a/b', '', '..', 'con', 'x*', 'nul\0']) {
      await expect(features.get(key)).rejects.toMatchObject({ code: 'HF_NAME' });
      await expect(features.create(key, { title: '' })).rejects.toMatchObject({ code: 'HF_NAME' });
    }
    await expect(features.get([])).rejects.toThrow(TypeError);
    await expect(features.get(['a', 'b'])).rejects.toThrow(/1 key .* got 2/);
    await expect(features.get([7] as never)).rejects.toThrow(TypeError);
    await expect(features.get(undefined as never)).rejects.toThrow(TypeError);
    expect(() => features.remove('a/b')).toThrow(expect.objectContaining({ code: 'HF_NAME' }));
    // A folder may be longer than the file of a document.
    const long = 'x'.repeat(250);
    await features.create(long, { title: 'long' });
    expect((await features.entries()).map(({ keys }) => keys)).toEqual([[long]]);
    expect(store.documents()).toHaveLength(1);
  });

  it('refuses wrong patterns and schemas that no document can have', async () => {
    const store = await openStore(folder());
    for (const pattern of ['', 'plain', 'a*', '**', 'a/b*/c', 7, undefined])
      await expect(store.collection(pattern as string)).rejects.toThrow(TypeError);
    for (const pattern of ['../*', '*//x', '.holdfast/*', '/*'])
      await expect(store.collection(pattern)).rejects.toMatchObject({ code: 'HF_NAME' });
    const schema = z.object({ at: z.coerce.date() });
    await expect(store.collection('a/*', { schema })).rejects.toMatchObject({ code: 'HF_SCHEMA' });
  });

  it('migrates on the way in; one that cannot be is listed with its error', async () => {
    const directory = folder();
    const store = await openStore(directory);
    const old = await store.collection<{ n: number }>('c/*');
    await old.create('a', { n: 1 });
    await old.create('b', { n: -1 });
    await store.close();
    const newer = await openStore(directory);
    const migrate = (was: unknown) => {
      const { n } = was as { n: number };
      if (n < 0) throw new RangeError('negative');
      return { m: n };
    };
    const docs = await newer.collection('c/*', { schema: z.object({ m: z.number() }), version: 2, migrate });
    const entries = await docs.entries();
    expect(entries.map(({ status, document, error }) => [status, document?.state, error?.code])).toEqual([
      ['sound', { m: 1 }, undefined],
      ['damaged', undefined, 'HF_SCHEMA'],
    ]);
  });

  it('is closed with its store', async () => {
    const { store, features } = await openFeatures(folder());
    await features.create('a', { title: 'a' });
    await store.close();
    const closed = { code: 'HF_CLOSED' };
    await expect(features.entries()).rejects.toMatchObject(closed);
    await expect(features.get('a')).rejects.toMatchObject(closed);
    await expect(features.create('b', { title: '' })).rejects.toMatchObject(closed);
    expect(() => features.remove('a')).toThrow(expect.objectContaining(closed));
    await expect(store.collection(PATTERN)).rejects.toMatchObject(closed);
  });

  it('lists thousands without holding up the event loop', async () => {
    const directory = folder();
    const store = await openStore(directory, { audit: false, projectDelayMs: 60_000 });
    const many = await store.collection<{ n: number }>('many/*');
    for (let n = 0; n < 200; n++) await many.create(`k${n}`, { n });
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    mkdirSync(join(directory, 'many'), { recursive: true });
    for (let n = 0; n < 3000; n++) writeFileSync(join(directory, 'many', `file${n}.json`), '{}');
    const entries = await many.entries();
    clearInterval(timer);
    expect(entries).toHaveLength(3200);
    expect(turns).toBeGreaterThan(3);
  });
});
