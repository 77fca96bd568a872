// Adopt, restore, import and sweep: what a person does to a store by hand. Whatever gives way is kept.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { exported } from '../../src/inspect/index.js';
import { adopt, importFile, planSweep, restore, sweep } from '../../src/mend/index.js';
import { openDoc } from '../../src/open-doc.js';
import { folder, json, openStore, workersUrl } from '../store/support.js';
import { contents, copyOf, hidden, ITEMS, type Loop, makeStore, quarantined, rotten } from './support.js';

const options = { workersUrl };

let sound: string;
beforeAll(async () => {
  sound = await makeStore(join(mkdtempSync(join(tmpdir(), 'holdfast-going-back-')), '.agent'));
  return () => rmSync(join(sound, '..'), { recursive: true });
});

async function loopOf(directory: string, schema?: z.ZodType): Promise<{ state: Loop; version: number }> {
  const store = await openStore(directory);
  const loop = await store.doc('loop', { schema: schema as z.ZodType<Loop>, initial: { current: null, done: {} } });
  const { state, version } = loop;
  await store.close();
  return { state: state as Loop, version };
}

const doneIn = ({ done }: Loop) => Object.keys(done).length;
const withoutNumber = (path: string) => basename(path).replace(/^\d{6}-/, '');

describe('adopt', () => {
  const EDITED = { current: 'by hand', done: {} };

  it('takes a changed file over, and keeps the state that was saved', async () => {
    const directory = copyOf(sound);
    const before = json(directory, 'loop');
    writeFileSync(join(directory, 'loop.json'), JSON.stringify(EDITED));
    const done = await adopt(directory, 'loop', options);
    expect(done).toMatchObject({ document: 'loop', isNew: true, version: ITEMS + 2 });
    expect(done.kept.map(withoutNumber)).toEqual([`version-${ITEMS + 1}-loop.json`]);
    expect(JSON.parse(readFileSync(done.kept[0] as string, 'utf8'))).toEqual(before);
    expect((await loopOf(directory)).state).toEqual(EDITED);
    expect(json(directory, 'loop')).toEqual(EDITED);
  });

  it('asks no schema, so the program does, also when it had accepted the state before', async () => {
    const Strict = z.object({ current: z.null(), done: z.record(z.string(), z.object({ output: z.string() })) });
    const directory = copyOf(sound);
    await loopOf(directory, Strict);
    writeFileSync(join(directory, 'loop.json'), JSON.stringify(EDITED));
    await adopt(directory, 'loop', options);
    await expect(loopOf(directory, Strict)).rejects.toMatchObject({ code: 'HF_SCHEMA' });
  });

  it('does nothing where the file holds what is saved', async () => {
    const directory = copyOf(sound);
    const before = contents(directory);
    expect(await adopt(directory, 'loop', options)).toMatchObject({ isNew: false, version: ITEMS + 1, kept: [] });
    expect(contents(directory)).toEqual(before);
  });

  it.each([
    ['is not there', null],
    ['is empty', ''],
    ['is not whole JSON', '{"current":'],
    ['neither an object nor an array', '"text"'],
  ])('refuses a file that %s, and touches nothing', async (why, text) => {
    const directory = copyOf(sound);
    const path = join(directory, 'loop.json');
    if (text === null) rmSync(path);
    else writeFileSync(path, text);
    const before = contents(directory);
    await expect(adopt(directory, 'loop', options)).rejects.toMatchObject({
      code: 'HF_DAMAGED',
      message: expect.stringContaining(why),
    });
    await expect(adopt(directory, 'loop', options)).rejects.toThrow(
      `npx holdfast restore ${directory} loop --to saved`,
    );
    expect(contents(directory)).toEqual(before);
  });

  it('names the documents there are when that one is not', async () => {
    await expect(adopt(sound, 'lop', options)).rejects.toThrow("no document 'lop'");
    await expect(adopt(sound, 'lop', options)).rejects.toThrow('features/upload, loop');
    await expect(adopt(sound, undefined, options)).rejects.toThrow(TypeError);
  });

  it('of a damaged store is refused with the way out', async () => {
    const directory = rotten(copyOf(sound));
    await expect(adopt(directory, 'loop', options)).rejects.toThrow(`npx holdfast repair ${directory}`);
  });
});

describe('restore', () => {
  it('goes back to a commit, and forward again', async () => {
    const directory = copyOf(sound);
    const last = json(directory, 'loop');
    const done = await restore(directory, 'loop', 6, options);
    expect(done).toMatchObject({ document: 'loop', isNew: true, version: ITEMS + 2, from: { kind: 'commit', seq: 6 } });
    expect(done.kept.map(withoutNumber)).toEqual([`version-${ITEMS + 1}-loop.json`]);
    const back = (await loopOf(directory)).state;
    expect(doneIn(back)).toBeLessThan(ITEMS);
    expect(doneIn(back)).toBeGreaterThan(0);
    expect(json(directory, 'loop')).toEqual(back);
    writeFileSync(join(directory, 'again.json'), readFileSync(done.kept[0] as string));
    expect(json(directory, 'again')).toEqual(last);
    expect((await loopOf(directory)).version).toBe(ITEMS + 2);
  });

  it('takes what a backup holds', async () => {
    const directory = copyOf(sound);
    const backup = JSON.parse(readFileSync(join(directory, 'loop.json.bak1'), 'utf8')) as Loop;
    expect(await restore(directory, 'loop', 'bak1', options)).toMatchObject({ isNew: true, from: { kind: 'backup' } });
    expect((await loopOf(directory)).state).toEqual(backup);
  });

  it("'saved' undoes what somebody did to the file, which is kept", async () => {
    const directory = copyOf(sound);
    const path = join(directory, 'loop.json');
    const before = readFileSync(path, 'utf8');
    writeFileSync(path, '{"mine":1}');
    const done = await restore(directory, 'loop', 'saved', options);
    expect(done).toMatchObject({ isNew: false, version: ITEMS + 1 });
    expect(done.kept.map((kept) => readFileSync(kept, 'utf8'))).toEqual(['{"mine":1}']);
    expect(readFileSync(path, 'utf8')).toBe(before);
  });

  it('does not say that it wrote a file which could not be written', async () => {
    const directory = copyOf(sound);
    rmSync(join(directory, 'loop.json'));
    mkdirSync(join(directory, 'loop.json'));
    await expect(restore(directory, 'loop', 'saved', options)).rejects.toThrow(
      /Publishing .*loop\.json failed: EISDIR/,
    );
    rmSync(join(directory, 'loop.json'), { recursive: true });
    expect(await restore(directory, 'loop', 'saved', options)).toMatchObject({ isNew: false });
    expect(json(directory, 'loop')).toEqual((await loopOf(directory)).state);
  });

  it('brings back a document that was removed', async () => {
    const directory = copyOf(sound);
    const store = await openStore(directory);
    const { lastSeq } = store.health();
    store.remove('loop');
    await store.flush({ projected: true });
    await store.close();
    await restore(directory, 'loop', lastSeq, options);
    expect(doneIn((await loopOf(directory)).state)).toBe(ITEMS);
  });

  it('goes back behind a migration: the program migrates again', async () => {
    const directory = join(folder(), '.agent');
    const openAs = async (version: number, act: (n: number) => void) => {
      const store = await openStore(directory);
      const migrate = (old: unknown) => ({ n: (old as { n: number }).n * 100 });
      const counter = await store.doc('counter', { initial: { n: 1 }, version, ...(version > 1 && { migrate }) });
      act(counter.state.n);
      await store.close();
    };
    await openAs(1, (n) => expect(n).toBe(1));
    await openAs(2, (n) => expect(n).toBe(100));
    await restore(directory, 'counter', 1, options);
    await openAs(2, (n) => expect(n).toBe(100));
  });

  it('refuses what it cannot have, and touches nothing', async () => {
    const directory = copyOf(sound);
    const before = contents(directory);
    await expect(restore(directory, 'loop', 9999, options)).rejects.toMatchObject({ code: 'HF_MISSING' });
    await expect(restore(directory, 'loop', 'bak9', options)).rejects.toMatchObject({ code: 'HF_MISSING' });
    writeFileSync(join(directory, 'loop.json.bak1'), '7');
    await expect(restore(directory, 'loop', 'bak1', options)).rejects.toThrow('loop.json.bak1');
    rmSync(join(directory, 'loop.json.bak1'));
    const { [join(directory, 'loop.json.bak1')]: _, ...rest } = before;
    expect(contents(directory)).toEqual(rest);
  });
});

describe('import', () => {
  it('gives a file a store of its own, as openDoc has it', async () => {
    const file = join(folder(), 'state.json');
    writeFileSync(file, '{"n":3}');
    expect(await importFile(file, options)).toMatchObject({ document: 'state.json', path: file, version: 1 });
    const document = await openDoc<{ n: number }>(file, { initial: { n: 0 }, workersUrl });
    expect(document.state).toEqual({ n: 3 });
    await document.close();
    await expect(importFile(file, options)).rejects.toMatchObject({
      code: 'HF_EXISTS',
      message: expect.stringContaining(`npx holdfast adopt ${file}`),
    });
  });

  it('puts a file into a store, from where it is or from elsewhere', async () => {
    const directory = copyOf(sound);
    const elsewhere = join(folder(), 'old.json');
    writeFileSync(elsewhere, '[1,2]');
    expect(await importFile(elsewhere, { into: directory, as: 'lists/old', ...options })).toMatchObject({ version: 1 });
    expect(json(directory, 'lists/old')).toEqual([1, 2]);
    expect(readFileSync(elsewhere, 'utf8')).toBe('[1,2]');
    writeFileSync(join(directory, 'here.json'), '{"here":true}');
    await importFile(join(directory, 'here.json'), { into: directory, ...options });
    expect(readFileSync(join(directory, 'here.json.bak1'), 'utf8')).toBe('{"here":true}');
  });

  it('refuses what is saved already, what is in the way, and what is no document', async () => {
    const directory = copyOf(sound);
    const file = join(folder(), 'loop.json');
    writeFileSync(file, '{}');
    const into = { into: directory, ...options };
    await expect(importFile(file, into)).rejects.toThrow(
      `cp ${file} ${join(directory, 'loop.json')} && npx holdfast adopt`,
    );
    writeFileSync(join(directory, 'new.json'), '{}');
    await expect(importFile(file, { ...into, as: 'new' })).rejects.toMatchObject({ code: 'HF_EXISTS' });
    writeFileSync(file, '{"half":');
    await expect(importFile(file, { ...into, as: 'other' })).rejects.toMatchObject({ code: 'HF_DAMAGED' });
    writeFileSync(file, '3');
    await expect(importFile(file, { ...into, as: 'other' })).rejects.toMatchObject({ code: 'HF_VALUE' });
    await expect(importFile(join(directory, 'nowhere.json'), options)).rejects.toMatchObject({ code: 'HF_MISSING' });
    writeFileSync(file, '{}');
    await expect(importFile(file, { into: folder(), ...options })).rejects.toMatchObject({ code: 'HF_MISSING' });
  });
});

describe('sweep', () => {
  it('removes what was planned, and nothing else', async () => {
    const directory = copyOf(sound);
    writeFileSync(hidden(directory, 'quarantine/000001-old.json'), 'old');
    writeFileSync(hidden(directory, 'tmp/file.0123'), 'half');
    utimesSync(hidden(directory, 'tmp/file.0123'), 0, 0);
    const waste = await planSweep(directory);
    expect(waste).toMatchObject([
      { kind: 'quarantine', bytes: 3 },
      { kind: 'temporary', bytes: 4, since: new Date(0) },
    ]);
    writeFileSync(hidden(directory, 'quarantine/000002-later.json'), 'later');
    expect(await sweep(directory, waste)).toEqual(waste);
    expect(quarantined(directory)).toEqual(['000002-later.json']);
    expect(readdirSync(hidden(directory, 'tmp'))).toEqual([]);
    expect((await loopOf(directory)).version).toBe(ITEMS + 1);
  });

  it('refuses a damaged store: what is in quarantine may be the last copy', async () => {
    const directory = rotten(copyOf(sound));
    await expect(planSweep(directory)).rejects.toMatchObject({ code: 'HF_DAMAGED' });
    await expect(sweep(directory, [])).rejects.toMatchObject({ code: 'HF_DAMAGED' });
  });
});

describe('export', () => {
  async function bytesOf(
    name: string | undefined,
    format: 'json' | 'jsonl' | 'msgpack',
    directory = sound,
  ): Promise<Buffer> {
    const parts: Buffer[] = [];
    for await (const part of exported(directory, name, format)) parts.push(part);
    return Buffer.concat(parts);
  }

  it('gives a document as its file has it, in one line, and as MessagePack', async () => {
    expect(await bytesOf('loop', 'json')).toEqual(readFileSync(join(sound, 'loop.json')));
    const text = (await bytesOf('loop', 'jsonl')).toString();
    expect(text.split('\n')).toHaveLength(2);
    expect(JSON.parse(text)).toEqual(json(sound, 'loop'));
    const { unpack } = await import('msgpackr');
    expect(unpack(await bytesOf('loop', 'msgpack'))).toEqual(json(sound, 'loop'));
  });

  it('gives a log as its lines, as one array, and as one value after the other', async () => {
    expect(await bytesOf('events', 'jsonl')).toEqual(readFileSync(join(sound, 'events.jsonl')));
    const entries = Array.from({ length: ITEMS }, (_, index) => ({ item: index + 1 }));
    expect(JSON.parse((await bytesOf('events', 'json')).toString())).toEqual(entries);
    const { unpackMultiple } = await import('msgpackr');
    expect(unpackMultiple(await bytesOf('events', 'msgpack'))).toEqual(entries);
  });

  it('refuses a format that there is not', async () => {
    const expected = 'Expected `format` to be json or jsonl or msgpack, got "xml"';
    await expect(bytesOf('loop', 'xml' as never)).rejects.toThrow(new TypeError(expected));
  });

  it('refuses what MessagePack would change', async () => {
    const directory = join(folder(), '.agent');
    const store = await openStore(directory);
    await store.doc('odd', { initial: { text: '\ud83d' } });
    await store.doc('list', { initial: [1, { a: 2 }] as unknown[] });
    await store.close();
    await expect(bytesOf('odd', 'msgpack', directory)).rejects.toMatchObject({ code: 'HF_VALUE' });
    expect((await bytesOf('odd', 'json', directory)).toString()).toContain('\\ud83d');
    expect((await bytesOf('list', 'jsonl', directory)).toString()).toBe('1\n{"a":2}\n');
    await expect(bytesOf('none', 'json', directory)).rejects.toMatchObject({ code: 'HF_MISSING' });
  });
});
