import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { open } from '../../src/opening.js';
import { memory } from '../../src/testing/index.js';

afterEach(() => vi.useRealTimers());

describe('a disk in memory', () => {
  it('shows its files, and takes those of somebody else', async () => {
    const disk = memory();
    disk.writeFile('deep/er/a.json', '{"n":1}');
    expect(disk.files()).toEqual(['deep/er/a.json']);
    const store = await open(disk);
    const doc = await store.doc('deep/er/a', { initial: { n: 0 } });
    expect(doc.state).toEqual({ n: 1 });
    await store.close();
    expect(disk.files('deep')).toEqual(['deep/er/a.json', 'deep/er/a.json.bak1']);
    expect(disk.files('.holdfast')).toContain('.holdfast/0000000001.tail');
    expect(disk.files('nowhere')).toEqual([]);
    disk.removeFile('deep/er/a.json.bak1');
    expect(disk.files()).toEqual(['deep/er/a.json']);
    for (const act of [() => disk.readFile('none.json'), () => disk.removeFile('none.json')])
      expect(act).toThrow(expect.objectContaining({ code: 'ENOENT' }));
    expect(() => disk.readFile('deep')).toThrow(expect.objectContaining({ code: 'EISDIR' }));
    expect(() => disk.writeFile('deep', '')).toThrow(expect.objectContaining({ code: 'EISDIR' }));
    expect(() => disk.writeFile('deep/er/a.json/b', '')).toThrow(expect.objectContaining({ code: 'ENOTDIR' }));
  });

  it('is one store each; two disks share nothing', async () => {
    const [one, two] = [memory(), memory()];
    const [a, b] = [await open(one), await open(two)];
    await a.doc('x', { initial: { n: 1 } });
    expect((await b.doc('x', { initial: { n: 2 } })).state).toEqual({ n: 2 });
    await Promise.all([a.close(), b.close()]);
    expect([one.readFile('x.json'), two.readFile('x.json')].map((text) => JSON.parse(text).n)).toEqual([1, 2]);
  });

  it('needs no threads, no lock and no hooks, and leaves nothing behind on the real disk', async () => {
    const listeners = () => ['exit', 'SIGINT', 'SIGTERM', 'SIGHUP'].map((name) => process.listenerCount(name));
    const before = listeners();
    const store = await open(memory(), { workersUrl: 'file:///nowhere/' });
    await store.doc('a', { initial: { n: 0 } });
    expect(listeners()).toEqual(before);
    await store.close();
    expect(store.directory).toBe('/memory');
  });

  it('works while everything is fake that can be', async () => {
    vi.useFakeTimers({
      toFake: [
        'setTimeout',
        'clearTimeout',
        'setInterval',
        'clearInterval',
        'setImmediate',
        'clearImmediate',
        'queueMicrotask',
        'performance',
        'Date',
      ],
    });
    const disk = memory();
    for (let n = 1; n <= 3; n++) {
      const store = await open(disk, { projectDelayMs: 10 });
      const doc = await store.doc('a', { initial: { n: 0 } });
      doc.update((s) => void (s.n = n));
      await store.flush();
      expect(doc.durableVersion).toBe(doc.version);
      doc.update((s) => void (s.n = -n));
      store.transaction(() => doc.update((s) => void (s.n = n)));
      store.flushSync();
      await store.drained();
      await store.flush({ projected: true });
      expect(JSON.parse(disk.readFile('a.json'))).toEqual({ n });
      if (n === 2) disk.crash('power');
      else await store.close();
    }
    expect(vi.getTimerCount()).toBe(0);
  });

  it('writes its files by itself while everything is fake', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'setImmediate', 'performance', 'Date'] });
    const disk = memory();
    const store = await open(disk, { projectDelayMs: 5 });
    const projected = new Promise((resolve) => store.on('project', resolve));
    await store.doc('a', { initial: { n: 0 } });
    await projected;
    await store.close();
    expect(disk.files()).toEqual(['a.json']);
  });

  it('opens, saves and closes a thousand times in a moment', async () => {
    const began = performance.now();
    const disk = memory();
    for (let n = 1; n <= 1000; n++) {
      const store = await open(n % 2 === 0 ? disk : memory());
      const doc = await store.doc('a', { initial: { n: 0 } });
      doc.update((s) => void (s.n += 1));
      await store.flush();
      await store.close();
    }
    const tookMs = performance.now() - began;
    console.info(`1000 × open, update, flush, close: ${tookMs.toFixed(0)} ms`);
    expect(JSON.parse(disk.readFile('a.json'))).toEqual({ n: 500 });
    // Compacted like any other: what gathers is bounded.
    expect(disk.files('.holdfast').length).toBeLessThan(40);
  });
});

describe('failNext', () => {
  it('refuses a call that is never made: a test that waits for it to fail would show nothing', () => {
    expect(() => memory().failNext('fsync' as never, 'EIO')).toThrow(
      /^Expected one of open, write, sync, .* got "fsync"$/,
    );
  });

  it('a full disk: flush rejects, nothing is dropped, and it is saved once there is room', async () => {
    const disk = memory();
    const store = await open(disk);
    const told: unknown[] = [];
    store.on('fault', ({ code }) => told.push(code));
    store.on('degraded', ({ isDegraded }) => told.push(isDegraded));
    const doc = await store.doc('a', { initial: { n: 0 } });
    await store.flush();
    disk.failNext('write', 'ENOSPC', Number.POSITIVE_INFINITY);
    doc.update((s) => void (s.n = 1));
    await expect(store.flush()).rejects.toMatchObject({ code: 'HF_DISK_FULL' });
    expect(() => store.flushSync()).toThrow(expect.objectContaining({ code: 'HF_DISK_FULL' }));
    expect(store.health()).toMatchObject({ phase: 'degraded', lastFault: { code: 'HF_DISK_FULL' } });
    disk.failNext('write', 'ENOSPC', 0);
    await store.flush();
    expect(store.health().phase).toBe('open');
    expect(told.slice(0, 2)).toEqual([true, 'HF_DISK_FULL']);
    expect(told.at(-1)).toBe(false);
    disk.crash('power');
    expect((await (await open(disk)).doc('a', { initial: { n: 0 } })).state).toEqual({ n: 1 });
  });

  it('a full disk mends by itself too', async () => {
    const disk = memory();
    const store = await open(disk, { syncDelayMs: 0 });
    store.on('fault', () => undefined);
    const doc = await store.doc('a', { initial: { n: 0 } });
    await store.flush();
    disk.failNext('write', 'ENOSPC', 3);
    doc.update((s) => void (s.n = 1));
    await vi.waitFor(() => expect(doc.durableVersion).toBe(2));
    await vi.waitFor(() => expect(store.health().phase).toBe('open'));
    await store.close();
  });

  it('one failed sync: the journal goes on in a new tail, and the flush holds', async () => {
    const disk = memory();
    const store = await open(disk);
    const faults: string[] = [];
    store.on('fault', ({ code }) => faults.push(code));
    const doc = await store.doc('a', { initial: { n: 0 } });
    await store.flush();
    disk.failNext('sync', 'EIO');
    doc.update((s) => void (s.n = 1));
    await store.flush();
    expect(faults).toEqual(['HF_IO']);
    disk.crash('power');
    expect((await (await open(disk)).doc('a', { initial: { n: 0 } })).state).toEqual({ n: 1 });
  });

  it('a file that cannot be published lags, and follows later', async () => {
    const disk = memory();
    const store = await open(disk);
    const faults: string[] = [];
    store.on('fault', ({ code }) => faults.push(code));
    const doc = await store.doc('a', { initial: { n: 0 } });
    await store.flush({ projected: true });
    disk.failNext('rename', 'EROFS');
    doc.update((s) => void (s.n = 1));
    await expect(store.flush({ projected: true })).rejects.toMatchObject({ code: 'HF_IO' });
    expect(faults).toEqual(['HF_IO']);
    expect(doc.durableVersion).toBe(doc.version);
    expect(JSON.parse(disk.readFile('a.json'))).toEqual({ n: 0 });
    await store.flush({ projected: true });
    expect(JSON.parse(disk.readFile('a.json'))).toEqual({ n: 1 });
    await store.close();
  });

  it('an open that fails leaves the disk to the next one', async () => {
    const disk = memory();
    disk.failNext('syncDirectory', 'EIO');
    await expect(open(disk)).rejects.toMatchObject({ code: expect.stringMatching(/^(EIO|HF_IO)$/) });
    await (await open(disk)).close();
  });
});

it('the library itself does not load any of it', () => {
  const seen = new Set<string>();
  const visit = (file: string) => {
    if (seen.has(file)) return;
    seen.add(file);
    const code = readFileSync(file, 'utf8');
    for (const [, path] of code.matchAll(/^(?:import|export) (?!type)[^;]*?from '(\.[^']+)';/gm))
      visit(join(dirname(file), (path as string).replace(/\.js$/, '.ts')));
  };
  visit(join(import.meta.dirname, '../../src/index.ts'));
  expect(seen.size).toBeGreaterThan(50);
  expect([...seen].filter((file) => file.includes('/testing/'))).toEqual([]);
});
