import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { append } from '../../src/change/tracked.js';
import { open } from '../../src/opening.js';
import { jsonFiles } from '../../src/projection/json-files.js';
import { faults, folder, json, openStore, workersUrl } from './support.js';

const Loop = z.object({ done: z.record(z.string(), z.object({ output: z.string() })), current: z.string().nullable() });
const initial = { done: {}, current: null };

describe('a store', () => {
  it('keeps what was flushed, and shows it as plain JSON', async () => {
    const directory = folder();
    const store = await openStore(directory);
    const loop = await store.doc('loop', { schema: Loop, initial });
    loop.update((s) => {
      s.done.a = { output: 'one' };
      s.current = 'b';
    });
    expect(loop.version).toBe(2);
    await loop.flush({ projected: true });
    expect(loop.durableVersion).toBe(2);
    const text = readFileSync(join(directory, 'loop.json'), 'utf8');
    expect(text).toBe(`${JSON.stringify(loop.state, null, 2)}\n`);
    await store.close();
    const again = await openStore(directory);
    expect((await again.doc('loop', { schema: Loop, initial })).state).toEqual(loop.state);
    expect(faults).toEqual([]);
  });

  it('is the same store when it is opened twice, and closes with its last holder', async () => {
    const directory = folder();
    const [one, two] = await Promise.all([openStore(directory), openStore(directory)]);
    expect(two).toBe(one);
    const doc = await one.doc('a', { initial: { n: 1 } });
    await one.close();
    doc.update((s) => void (s.n = 2));
    await two.close();
    expect(() => doc.update((s) => void (s.n = 3))).toThrow(expect.objectContaining({ code: 'HF_CLOSED' }));
    await expect(two.flush()).rejects.toMatchObject({ code: 'HF_CLOSED' });
    const again = await openStore(directory);
    expect((await again.doc('a', { initial: { n: 0 } })).state).toEqual({ n: 2 });
  });

  it('can be opened again while it is still closing', async () => {
    const directory = folder();
    const store = await openStore(directory);
    const doc = await store.doc('a', { initial: { n: 1 } });
    doc.update((s) => void (s.n = 2));
    const closing = store.close();
    const again = await openStore(directory);
    await closing;
    expect(again).not.toBe(store);
    expect((await again.doc('a', { initial: { n: 0 } })).state).toEqual({ n: 2 });
  });

  it('commits a transaction over several documents as one', async () => {
    const directory = folder();
    const store = await openStore(directory);
    const a = await store.doc('a', { initial: { n: 1 } });
    const b = await store.doc('deep/er/b', { initial: { n: 1 } });
    await store.flush();
    const before = store.health().lastSeq;
    store.transaction(() => {
      a.update((s) => void (s.n = 2));
      b.update((s) => void (s.n = 2));
    });
    expect(() =>
      store.transaction(() => {
        a.update((s) => void (s.n = 3));
        throw new Error('no');
      }),
    ).toThrow('no');
    expect(store.health().lastSeq).toBe(before + 1);
    await store.flush({ projected: true });
    expect([json(directory, 'a'), json(directory, 'deep/er/b')]).toEqual([{ n: 2 }, { n: 2 }]);
  });

  it('tells subscribers what changed, after it can no longer be undone', async () => {
    const store = await openStore(folder());
    const doc = await store.doc<{ list: number[]; text: string; o: Record<string, number> }>('a', {
      initial: { list: [], text: '', o: { x: 1 } },
    });
    const seen: unknown[] = [];
    const stop = doc.subscribe(({ version, paths }) => seen.push([version, paths]));
    doc.update((s) => {
      s.list.push(1);
      append(s, 'text', 'abc');
      delete s.o.x;
    });
    expect(() =>
      doc.update((s) => {
        s.list.push(2);
        throw new Error('no');
      }),
    ).toThrow();
    stop();
    doc.update((s) => void s.list.push(3));
    expect(seen).toEqual([[2, [['text'], ['list', 0], ['o', 'x']]]]);
  });

  it('stops a subscriber for whom it was asked to, and tells none of another document of the same name', async () => {
    const store = await openStore(folder());
    const doc = await store.doc('a', { initial: { n: 0 } });
    const seen: number[] = [];
    const listener = ({ version }: { version: number }) => void seen.push(version);
    const [stop] = [doc.subscribe(listener), doc.subscribe(listener)];
    doc.update((s) => void s.n++);
    stop();
    doc.update((s) => void s.n++);
    expect(seen).toEqual([2, 2, 3]);
    store.remove('a');
    const anew = await store.doc('a', { initial: { n: 0 } });
    anew.update((s) => void s.n++);
    expect(seen).toEqual([2, 2, 3]);
  });

  it('flushes inside a transaction wait for its end', async () => {
    const store = await openStore(folder());
    const doc = await store.doc('a', { initial: { n: 1 } });
    await store.flush();
    let flushed: Promise<void> | undefined;
    store.transaction(() => {
      doc.update((s) => void (s.n = 2));
      flushed = store.flush();
      expect(() => store.flushSync()).toThrow(expect.objectContaining({ code: 'HF_CLOSED' }));
    });
    await flushed;
    expect(doc.durableVersion).toBe(2);
    doc.update((s) => void (s.n = 3));
    store.flushSync();
    expect(doc.durableVersion).toBe(3);
  });

  it('lets a flush be aborted; what was handed over is saved all the same', async () => {
    const store = await openStore(folder());
    const doc = await store.doc('a', { initial: { n: 1 } });
    const controller = new AbortController();
    doc.update((s) => void (s.n = 2));
    const flushed = doc.flush({ signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(flushed).rejects.toThrow('enough');
    await expect(doc.flush({ signal: controller.signal })).rejects.toThrow('enough');
    await doc.flush();
    expect(doc.durableVersion).toBe(2);
  });

  it('carries values larger than its ring, and many at once', async () => {
    const directory = folder();
    const store = await openStore(directory);
    const doc = await store.doc<Record<string, string>>('big', { initial: {} });
    for (let n = 0; n < 8; n++) doc.update((s) => void (s[`k${n}`] = String(n).repeat(700_000)));
    for (let n = 0; n < 3000; n++) doc.update((s) => void (s.small = `${n}`));
    await store.flush();
    expect(store.health()).toMatchObject({ pendingBytes: 0, lagMs: 0, phase: 'open' });
    const { count, lastMs, maxMs } = store.health().syncs;
    expect(count).toBeGreaterThan(0);
    expect(lastMs).toBeGreaterThan(0);
    expect(maxMs).toBeGreaterThanOrEqual(lastMs);
    await store.close();
    const again = await openStore(directory);
    expect((await again.doc<Record<string, string>>('big', { initial: {} })).state).toEqual(doc.state);
  });

  it('holds back on purpose with coalesceMs: many updates, one commit', async () => {
    const store = await openStore(folder(), { coalesceMs: 30 });
    const doc = await store.doc('a', { initial: { n: 0 } });
    await store.flush();
    const before = store.health().lastSeq;
    for (let n = 1; n <= 100; n++) doc.update((s) => void (s.n = n));
    expect(store.health().lastSeq).toBe(before);
    await vi.waitFor(() => expect(store.health().lastSeq).toBe(before + 1));
    await store.flush();
    expect(doc.durableVersion).toBe(101);
  });

  it('saves under fake timers', async () => {
    const directory = folder();
    vi.useFakeTimers();
    try {
      const store = await openStore(directory);
      const doc = await store.doc('a', { initial: { n: 1 } });
      doc.update((s) => void (s.n = 2));
      await store.flush({ projected: true });
      expect(json(directory, 'a')).toEqual({ n: 2 });
      await store.close();
    } finally {
      vi.useRealTimers();
    }
  });

  it('refuses wrong options as a TypeError before anything is touched', async () => {
    const directory = join(folder(), 'never');
    await expect(open(directory, { syncDelayMs: -1 })).rejects.toThrow(TypeError);
    await expect(open(directory, { nonsense: 1 } as never)).rejects.toThrow(/nonsense/);
    await expect(open('')).rejects.toThrow(TypeError);
    await expect(open(7 as never)).rejects.toThrow(TypeError);
    expect(existsSync(directory)).toBe(false);
  });

  it('removes a document and its files', async () => {
    const directory = folder();
    const store = await openStore(directory);
    const doc = await store.doc('gone', { initial: { n: 1 } });
    await store.doc('kept', { initial: {} });
    doc.update((s) => void (s.n = 2));
    await store.flush({ projected: true });
    store.remove('gone');
    store.remove('never there');
    expect(() => doc.update((s) => void (s.n = 3))).toThrow(expect.objectContaining({ code: 'HF_CLOSED' }));
    await store.flush({ projected: true });
    expect(readdirSync(directory).sort()).toEqual(['.holdfast', 'kept.json']);
    expect((await store.doc('gone', { initial: { n: 7 } })).state).toEqual({ n: 7 });
  });

  it('throws HF_BACKPRESSURE at the entry of an update when too much waits, and takes more once drained', async () => {
    // Less than one update: while the journal has no time to write, those that follow would merge into the next.
    const store = await openStore(folder(), { pendingBytesMax: 256 * 1024, syncDelayMs: 60_000 });
    const doc = await store.doc<{ text: string; n: number }>('a', { initial: { text: '', n: 0 } });
    const fill = () => {
      for (let n = 0; n < 20; n++) doc.update((s) => void (s.text = String(n).repeat(500_000)));
    };
    expect(fill).toThrow(expect.objectContaining({ code: 'HF_BACKPRESSURE' }));
    const { n } = doc.state;
    await store.drained();
    doc.update((s) => void (s.n = n + 1));
    expect(doc.state.n).toBe(n + 1);
  });

  it('with guard, refuses writes to the state', async () => {
    const store = await openStore(folder(), { guard: true });
    const doc = await store.doc('a', { initial: { list: [{ n: 1 }] } });
    const state = doc.state as { list: { n: number }[] };
    expect(() => void (state.list = [])).toThrow(/read-only/);
    expect(() => state.list.push({ n: 2 })).toThrow(TypeError);
    expect(() => void ((state.list[0] as { n: number }).n = 2)).toThrow(/doc.update/);
    expect(() => delete (state as Partial<typeof state>).list).toThrow(TypeError);
    expect(state.list.map(({ n }) => n)).toEqual([1]);
    doc.update((s) => void s.list.push({ n: 2 }));
    expect(JSON.stringify(doc.state)).toBe('{"list":[{"n":1},{"n":2}]}');
  });

  it('does not keep an idle program alive, and needs no close', async () => {
    const directory = folder();
    const code = `
      import { open } from 'holdfast';
      const store = await open(${JSON.stringify(directory)});
      const doc = await store.doc('a', { initial: { n: 1 } });
      doc.update((s) => { s.n = 2; });`;
    const { spawnSync } = await import('node:child_process');
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
      cwd: join(import.meta.dirname, '../..'),
      timeout: 20_000,
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([0, '']);
    expect(json(directory, 'a')).toEqual({ n: 2 });
  });
});

describe('files that are already there', () => {
  it('are taken over when the schema accepts them, and become the first backup', async () => {
    const directory = folder();
    writeFileSync(join(directory, 'loop.json'), '{"done":{"a":{"output":"x"}},"current":null}');
    const store = await openStore(directory);
    const loop = await store.doc('loop', { schema: Loop, initial });
    expect(loop.state.done).toEqual({ a: { output: 'x' } });
    await store.flush({ projected: true });
    expect(readFileSync(join(directory, 'loop.json.bak1'), 'utf8')).toBe(
      '{"done":{"a":{"output":"x"}},"current":null}',
    );
  });

  it('are refused with HF_SCHEMA, and never replaced by the initial state', async () => {
    const directory = folder();
    writeFileSync(join(directory, 'loop.json'), '{"done":7}');
    const store = await openStore(directory);
    const refused = store.doc('loop', { schema: Loop, initial });
    await expect(refused).rejects.toMatchObject({ code: 'HF_SCHEMA', path: ['done'] });
    // Not the initial state, which is all that the program gave.
    await expect(refused).rejects.toThrow(`The schema of 'loop' refuses ${join(directory, 'loop.json')} at done`);
    expect(readFileSync(join(directory, 'loop.json'), 'utf8')).toBe('{"done":7}');
    expect(store.documents()).toMatchObject([{ name: 'loop', status: 'unmanaged' }]);
  });

  it.each(['', '{"done":', 'garbage'])(
    'cut to %j are HF_DAMAGED with the ways out; a backup is taken by choice',
    async (bytes) => {
      const directory = folder();
      writeFileSync(join(directory, 'loop.json'), bytes);
      const store = await openStore(directory);
      await expect(store.doc('loop', { schema: Loop, initial })).rejects.toMatchObject({ code: 'HF_DAMAGED' });
      expect(store.documents()).toMatchObject([{ name: 'loop', status: 'damaged' }]);
      await store.close();
      writeFileSync(join(directory, 'loop.json.bak1'), '{"broken');
      writeFileSync(join(directory, 'loop.json.bak2'), '{"done":{"b":{"output":"y"}},"current":"c"}');
      const healing = await openStore(directory, { onDamage: 'backup' });
      const loop = await healing.doc('loop', { schema: Loop, initial });
      expect(loop.state).toEqual({ done: { b: { output: 'y' } }, current: 'c' });
      await healing.flush({ projected: true });
      expect(json(directory, 'loop')).toEqual(loop.state);
    },
  );

  it('that we wrote and somebody emptied, cut or deleted are written anew, and said so', async () => {
    for (const damage of ['', '{"done":', null]) {
      const directory = folder();
      const store = await openStore(directory);
      await store.doc('loop', { schema: Loop, initial });
      await store.close();
      const path = join(directory, 'loop.json');
      if (damage === null) rmSync(path);
      else writeFileSync(path, damage);
      const again = await openStore(directory);
      const found: unknown[] = [];
      again.on('recovered', ({ projections }) => found.push(...projections));
      const loop = await again.doc('loop', { schema: Loop, initial });
      expect(loop.state).toEqual(initial);
      await again.flush({ projected: true });
      expect(json(directory, 'loop')).toEqual(initial);
      expect(found).toHaveLength(1);
      await again.close();
    }
  });

  it('that somebody changed are drift: refused for that document only, adopted or restored by choice', async () => {
    const directory = folder();
    const store = await openStore(directory);
    await store.doc('loop', { schema: Loop, initial });
    await store.doc('other', { initial: { n: 1 } });
    await store.close();
    const theirs = '{"done":{},"current":"edited by hand"}';
    writeFileSync(join(directory, 'loop.json'), theirs);
    const refusing = await openStore(directory);
    await expect(refusing.doc('loop', { schema: Loop, initial })).rejects.toMatchObject({ code: 'HF_DRIFT' });
    expect((await refusing.doc('other', { initial: { n: 0 } })).state).toEqual({ n: 1 });
    const adopted = await refusing.doc('loop', { schema: Loop, initial, onDrift: 'adopt' });
    expect(adopted.state.current).toBe('edited by hand');
    await refusing.close();
    expect(json(directory, 'loop')).toEqual(adopted.state);
    writeFileSync(join(directory, 'loop.json'), '{"done":{},"current":"again"}');
    const restoring = await openStore(directory, { onDrift: 'restore' });
    const restored = await restoring.doc('loop', { schema: Loop, initial });
    expect(restored.state.current).toBe('edited by hand');
    await restoring.flush({ projected: true });
    expect(json(directory, 'loop')).toEqual(restored.state);
  });

  it('that somebody changes while the store is open are not overwritten; resolve settles it', async () => {
    const directory = folder();
    const store = await openStore(directory);
    const loop = await store.doc('loop', { schema: Loop, initial });
    await store.flush({ projected: true });
    writeFileSync(join(directory, 'loop.json'), '{"done":{},"current":"theirs"}');
    const drift = new Promise((resolve) => store.on('drift', resolve));
    loop.update((s) => void (s.current = 'ours'));
    expect(await drift).toMatchObject({ document: 'loop' });
    expect(json(directory, 'loop')).toEqual({ done: {}, current: 'theirs' });
    expect(store.documents()).toMatchObject([{ name: 'loop', status: 'drifted' }]);
    await loop.resolve('adopt');
    expect(loop.state.current).toBe('theirs');
    writeFileSync(join(directory, 'loop.json'), '{"done":{},"current":"more"}');
    await loop.resolve('restore');
    expect(json(directory, 'loop')).toEqual({ done: {}, current: 'theirs' });
    await expect(loop.resolve('nonsense' as never)).rejects.toThrow(TypeError);
  });

  it('that we are writing in this moment are not taken for theirs: adopt without drift undoes nothing', async () => {
    const store = await openStore(folder(), { projectDelayMs: 0, projectBytesPerSecMax: 1e12, audit: false });
    const doc = await store.doc('a', { initial: { n: 0, text: 'x'.repeat(20_000) } });
    const settled: Promise<void>[] = [];
    for (const end = performance.now() + 500; performance.now() < end; ) {
      const n = doc.state.n + 1;
      doc.update((s) => void (s.n = n));
      for (let time = 0; time < 5; time++) settled.push(doc.resolve('adopt'));
      expect(doc.state.n).toBe(n);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(settled);
  });
});

describe('statuses', () => {
  it('tell of drift from the first moment on, and of what a document was refused for', async () => {
    const directory = folder();
    const store = await openStore(directory);
    for (const name of ['a', 'b', 'c', 'd', 'e']) await store.doc(name, { initial: { n: 1 } });
    await store.close();
    writeFileSync(join(directory, 'a.json'), '{"n":2}');
    writeFileSync(join(directory, 'b.json'), '{"n":1}');
    rmSync(join(directory, 'c.json'));
    rmSync(join(directory, 'd.json'));
    mkdirSync(join(directory, 'd.json'));
    const again = await openStore(directory, { projectDelayMs: 60_000 });
    const statuses = () => again.documents().map(({ name, status }) => `${name} ${status}`);
    const found = ['a drifted', 'b sound', 'c sound', 'd damaged', 'e sound'];
    expect(statuses()).toEqual(found);
    await expect(again.flush({ projected: true })).rejects.toMatchObject({ code: 'HF_IO' });
    expect(statuses()).toEqual(found);
    // Later than the files were looked at.
    writeFileSync(join(directory, 'e.json'), '{"n":3}');
    await expect(again.doc('e', { initial: { n: 0 } })).rejects.toMatchObject({ code: 'HF_DRIFT' });
    expect(statuses()).toEqual([...found.slice(0, -1), 'e drifted']);
    await again.doc('a', { initial: { n: 0 }, onDrift: 'adopt' });
    await again.doc('e', { initial: { n: 0 }, onDrift: 'restore' });
    await expect(again.flush({ projected: true })).rejects.toMatchObject({ code: 'HF_IO' });
    expect(statuses()).toEqual(['a sound', 'b sound', 'c sound', 'd damaged', 'e sound']);
  });

  it('leave nothing out: links, and what cannot be read', async () => {
    const directory = folder();
    writeFileSync(join(directory, 'whole.json'), '{}');
    symlinkSync(join(directory, 'whole.json'), join(directory, 'link.json'));
    symlinkSync(join(directory, 'nowhere'), join(directory, 'nowhere.json'));
    const store = await openStore(directory);
    const statuses = () => store.documents().map(({ name, status }) => `${name} ${status}`);
    expect(statuses()).toEqual(['link unmanaged', 'nowhere damaged', 'whole unmanaged']);
  });

  it('a folder that cannot be listed is one of them, and hides no other', () => {
    const entries = (path: string) => {
      if (path.endsWith('lost+found')) throw Object.assign(new Error('EACCES'), { code: 'EACCES' });
      return [
        { name: 'a.json', kind: 'file' as const },
        { name: 'lost+found', kind: 'directory' as const },
        { name: 'z.json', kind: 'link' as const },
      ];
    };
    expect([...jsonFiles({ entries }, '/x')]).toEqual([
      { path: '/x/a.json', kind: 'file' },
      { path: '/x/lost+found/*.json', kind: 'folder' },
      { path: '/x/z.json', kind: 'link' },
    ]);
  });
});

describe('names', () => {
  it.each(['', '../x', 'a//b', 'con', 'nul\0', '.holdfast/x', 'a\\b'])('%j is HF_NAME', async (name) => {
    const store = await openStore(folder());
    await expect(store.doc(name, { initial: {} })).rejects.toMatchObject({ code: 'HF_NAME' });
  });

  it('that differ only by case or composition are HF_NAME', async () => {
    const store = await openStore(folder());
    await store.doc('Caf\u00e9', { initial: {} });
    await expect(store.doc('cafe\u0301', { initial: {} })).rejects.toMatchObject({ code: 'HF_NAME' });
    store.remove('Caf\u00e9');
    await store.doc('cafe\u0301', { initial: {} });
  });
});

describe('schema versions', () => {
  const V2 = z.object({ items: z.array(z.string()), note: z.string().default('none') });

  it('migrate on the way in; the old state is kept', async () => {
    const directory = folder();
    const store = await openStore(directory);
    await store.doc('loop', { initial: { list: 'a,b' } });
    await store.close();
    const newer = await openStore(directory);
    await expect(newer.doc('loop', { schema: V2, initial: { items: [] }, version: 2 })).rejects.toMatchObject({
      code: 'HF_SCHEMA',
    });
    const migrate = (old: unknown, from: number) => ({
      items: [...(old as { list: string }).list.split(','), `${from}`],
    });
    await expect(
      newer.doc('loop', { schema: V2, initial: { items: [] }, version: 2, migrate: () => ({ items: 7 }) as never }),
    ).rejects.toMatchObject({ code: 'HF_SCHEMA' });
    const loop = await newer.doc('loop', { schema: V2, initial: { items: [] }, version: 2, migrate });
    expect(loop.state).toEqual({ items: ['a', 'b', '1'], note: 'none' });
    await newer.close();
    const kept = readdirSync(join(directory, '.holdfast', 'quarantine')).filter((name) => name.includes('version-1'));
    expect(kept.length).toBeGreaterThan(0);
    const again = await openStore(directory);
    await expect(again.doc('loop', { initial: {}, version: 1 })).rejects.toMatchObject({ code: 'HF_VERSION' });
    const same = await again.doc('loop', { schema: V2, initial: { items: [] }, version: 2, migrate });
    expect(same.state.items).toEqual(['a', 'b', '1']);
  });
});

it('a damaged store is refused, and salvaged by choice', async () => {
  const directory = folder();
  const store = await openStore(directory);
  const doc = await store.doc('a', { initial: { n: 1 } });
  doc.update((s) => void (s.n = 2));
  await store.close();
  const tail = join(directory, '.holdfast', '0000000001.tail');
  const bytes = readFileSync(tail);
  bytes.fill(0, 90, 200);
  writeFileSync(tail, bytes);
  await expect(open(directory, { workersUrl })).rejects.toMatchObject({ code: 'HF_DAMAGED' });
  const salvaged = await openStore(directory, { onDamage: 'salvage', onDrift: 'adopt' });
  expect(salvaged.documents().length).toBeGreaterThan(0);
  // The JSON file was ahead of what could be saved: it is taken over like any file that is already there.
  expect((await salvaged.doc('a', { initial: { n: 0 } })).state).toEqual({ n: 2 });
});

it('the file of a removed document goes, also when files are looked at before the removal is durable', async () => {
  const directory = folder();
  const store = await openStore(directory, { projectDelayMs: 1, syncDelayMs: 300 });
  await store.doc('gone', { initial: { n: 0 } });
  await store.flush({ projected: true });
  store.remove('gone');
  await new Promise((resolve) => setTimeout(resolve, 50));
  await store.close();
  expect(existsSync(join(directory, 'gone.json'))).toBe(false);
});
