import { describe, expect, it, vi } from 'vitest';
import { HoldfastError } from '../../src/errors.js';
import { open } from '../../src/opening.js';
import { memory } from '../../src/testing/index.js';
import { randomFrom } from '../support/random.js';

const closed = expect.objectContaining({ code: 'HF_CLOSED' });

async function counter(disk: ReturnType<typeof memory>, options = {}) {
  const store = await open(disk, options);
  const doc = await store.doc('a', { initial: { n: 0 } });
  return { store, doc, set: (n: number) => doc.update((s) => void (s.n = n)) };
}

describe('crash', () => {
  it('by a kill loses nothing that was handed over', async () => {
    const disk = memory();
    const { set } = await counter(disk);
    set(1);
    disk.crash();
    expect((await counter(disk)).doc.state).toEqual({ n: 1 });
  });

  it('by a kill loses nothing of a burst that is larger than the ring', async () => {
    const disk = memory();
    const { doc, store } = await counter(disk, { syncDelayMs: 86_400_000 });
    const text = 'x'.repeat(1000);
    for (let n = 1; n <= 3000; n++) doc.update((s) => void Object.assign(s, { n, text: `${n}${text}` }));
    expect(store.health().lastSeq).toBe(3001);
    disk.crash();
    expect((await counter(disk)).doc.state.n).toBe(3000);
  });

  it('by a kill loses what coalesceMs still held back', async () => {
    const disk = memory();
    const { store, set } = await counter(disk, { coalesceMs: 60_000 });
    set(1);
    await store.flush();
    set(2);
    disk.crash('kill');
    expect((await counter(disk)).doc.state).toEqual({ n: 1 });
  });

  it('by a power cut loses exactly what was not flushed', async () => {
    const disk = memory();
    const { store, set } = await counter(disk);
    set(1);
    await store.flush();
    set(2);
    disk.crash('power');
    expect((await counter(disk)).doc.state).toEqual({ n: 1 });
  });

  it('by a power cut before the first flush leaves a store without the document', async () => {
    const disk = memory();
    const { set } = await counter(disk);
    set(1);
    disk.crash('power');
    const { doc } = await counter(disk);
    expect([doc.state, doc.version]).toEqual([{ n: 0 }, 1]);
  });

  it('by a power cut after a kill takes what only the machine still knew; an opening in between has saved it', async () => {
    const disk = memory();
    const { store, set } = await counter(disk);
    await store.flush();
    set(1);
    disk.crash('kill');
    disk.crash('power');
    const again = await counter(disk);
    expect(again.doc.state).toEqual({ n: 0 });
    again.set(2);
    disk.crash('kill');
    await open(disk);
    disk.crash('power');
    expect((await counter(disk)).doc.state).toEqual({ n: 2 });
  });

  it('by a power cut keeps files whole: each is a version that was flushed', async () => {
    const disk = memory();
    const { store, set } = await counter(disk);
    set(1);
    await store.flush({ projected: true });
    set(2);
    await store.flush({ projected: true });
    set(3);
    disk.crash('power');
    expect(disk.files()).toEqual(['a.json', 'a.json.bak1']);
    expect(JSON.parse(disk.readFile('a.json'))).toEqual({ n: 2 });
    expect(JSON.parse(disk.readFile('a.json.bak1'))).toEqual({ n: 1 });
  });

  it('syncs by itself after syncDelayMs, as the real one', async () => {
    const disk = memory();
    const { doc, set } = await counter(disk, { syncDelayMs: 10 });
    set(1);
    await vi.waitFor(() => expect(doc.durableVersion).toBe(2));
    disk.crash('power');
    expect((await counter(disk)).doc.state).toEqual({ n: 1 });
  });

  it('refuses a way to crash that it does not know', () => {
    expect(() => memory().crash('gently' as never)).toThrow(/Expected 'kill' or 'power', got "gently"/);
  });
});

describe('after a crash, the old store', () => {
  it('says HF_CLOSED to every call, still shows its state, and closes quietly', async () => {
    const disk = memory();
    const { store, doc, set } = await counter(disk);
    await store.flush();
    disk.crash();
    expect(() => set(1)).toThrow(closed);
    expect(() => store.transaction(() => 1)).toThrow(closed);
    expect(() => store.flushSync()).toThrow(closed);
    expect(() => store.documents()).toThrow(closed);
    await expect(store.flush()).rejects.toEqual(closed);
    await expect(doc.flush({ projected: true })).rejects.toEqual(closed);
    await expect(doc.resolve('adopt')).rejects.toEqual(closed);
    await expect(store.doc('b', { initial: {} })).rejects.toEqual(closed);
    expect(doc.state).toEqual({ n: 0 });
    expect(store.health().phase).toBe('closed');
    await store.close();
    const again = await open(disk);
    expect(again).not.toBe(store);
  });

  it('changes nothing any more: not by a transaction that was open, nor by what it had begun', async () => {
    const disk = memory();
    const { store, doc, set } = await counter(disk, { coalesceMs: 5, projectDelayMs: 5 });
    await store.flush();
    const faults: unknown[] = [];
    store.on('fault', (error) => faults.push(error));
    let flushed: Promise<void> | undefined;
    store.transaction(() => {
      set(1);
      flushed = store.flush();
      disk.crash();
      expect(() => set(2)).toThrow(closed);
    });
    expect(doc.state).toEqual({ n: 1 });
    await expect(flushed).rejects.toEqual(closed);
    const before = disk.files('.holdfast').map((path) => disk.readBytes(path));
    await new Promise((resolve) => setTimeout(resolve, 40));
    expect(disk.files('.holdfast').map((path) => disk.readBytes(path))).toEqual(before);
    expect([faults, disk.files()]).toEqual([[], []]);
    expect((await counter(disk)).doc.state).toEqual({ n: 0 });
  });

  it('that was being closed or opened says so', async () => {
    const disk = memory();
    const { store } = await counter(disk);
    const closing = store.close();
    disk.crash();
    await expect(closing).rejects.toEqual(closed);
    const opening = open(disk);
    disk.crash();
    const outcome = await opening.then(
      (late) => late.flush(),
      (error: unknown) => error,
    );
    expect(outcome).toBeInstanceOf(HoldfastError);
    expect(outcome).toEqual(closed);
    expect((await counter(disk)).doc.state).toEqual({ n: 0 });
  });

  it('stays dead while the disk lives on', async () => {
    const disk = memory();
    const old = await counter(disk);
    disk.crash();
    const next = await counter(disk);
    next.set(7);
    await next.store.flush();
    expect(() => old.set(1)).toThrow(closed);
    await old.store.close();
    await next.store.flush({ projected: true });
    expect(JSON.parse(disk.readFile('a.json'))).toEqual({ n: 7 });
    await next.store.close();
  });
});

describe('any program of updates, flushes, closes and crashes', () => {
  it.each(Array.from({ length: 60 }, (_, seed) => seed + 1))('comes back as promised (%i)', async (seed) => {
    const draw = randomFrom(seed);
    const disk = memory();
    // Nothing is synced that nobody asked for: what a power cut leaves is then known.
    const options = { syncDelayMs: 86_400_000, projectDelayMs: 86_400_000, audit: true };
    let { store, doc, set } = await counter(disk, options);
    let [now, synced] = [0, null as number | null];
    for (let step = 0; step < 60; step++) {
      const choice = draw();
      if (choice < 0.55) set((now = step + 1));
      else if (choice < 0.75) {
        await store.flush({ projected: draw() < 0.3 });
        synced = now;
      } else {
        if (choice < 0.82) {
          await store.close();
          synced = now;
        }
        const how = choice < 0.82 || choice < 0.91 ? 'kill' : 'power';
        disk.crash(how);
        if (how === 'power') now = synced ?? 0;
        ({ store, doc, set } = await counter(disk, options));
        // What an opening found is durable; a document that it had to make is not yet.
        if (synced !== null || how === 'kill') synced = now;
        expect(doc.state, `seed ${seed}, step ${step}`).toEqual({ n: now });
      }
    }
    await store.close();
  });
});
