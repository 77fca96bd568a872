// A disk that is full, and then is not.

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { folder, json, openStore } from '../store/support.js';
import { because, whyNoMounts } from '../support/process-means.js';
import { type Mounted, mountSmall } from '../support/process-mounts.js';

const why = whyNoMounts();

interface State {
  n: number;
  text: string;
}

const initial: State = { n: 0, text: '' };

describe.skipIf(why !== null)(because('a full disk', why), () => {
  let disk: Mounted;
  const disks: Mounted[] = [];

  beforeEach(() => {
    disk = mountSmall(4096);
    disks.push(disk);
  });

  // Not after each: the stores are closed only then.
  afterAll(async () => {
    for (const one of disks) await one.unmount();
  });

  /** More than fits into the room that a tail has set aside. */
  const LARGE = 'x'.repeat(400_000);

  function fill(): void {
    try {
      writeFileSync(join(disk.path, 'filler'), Buffer.alloc(8 * 1024 * 1024));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }

  const empty = () => rmSync(join(disk.path, 'filler'));

  it('flush rejects with HF_DISK_FULL, memory goes on, and with room again everything is saved', async () => {
    const directory = join(disk.path, 'store');
    const store = await openStore(directory);
    const doc = await store.doc('a', { initial });
    await store.flush({ projected: true });
    const phases: boolean[] = [];
    const faults: string[] = [];
    store.on('degraded', ({ isDegraded }) => phases.push(isDegraded));
    store.on('fault', ({ message }) => faults.push(message));
    fill();
    for (let n = 1; n <= 20; n++) {
      doc.update((s) => {
        s.n = n;
        s.text = `${n}${LARGE}`;
      });
      if (n % 5 === 0) await expect(store.flush()).rejects.toMatchObject({ code: 'HF_DISK_FULL' });
    }
    expect(() => store.flushSync()).toThrow(expect.objectContaining({ code: 'HF_DISK_FULL' }));
    expect(store.health()).toMatchObject({ phase: 'degraded', lastFault: { code: 'HF_DISK_FULL' } });
    expect(doc.state.n).toBe(20);
    expect(doc.durableVersion).toBeLessThan(doc.version);
    empty();
    await store.flush({ projected: true });
    expect(doc.durableVersion).toBe(doc.version);
    expect(store.health()).toMatchObject({ phase: 'open', pendingBytes: 0 });
    expect(phases, faults.join('\n')).toEqual([true, false]);
    expect(json(directory, 'a')).toEqual(doc.state);
    const expected = structuredClone(doc.state);
    await store.close();
    const again = await openStore(directory);
    expect((await again.doc('a', { initial })).state).toEqual(expected);
    await again.close();
  });

  it('catches up by itself when nobody asks', async () => {
    const store = await openStore(join(disk.path, 'store'));
    const doc = await store.doc('a', { initial });
    await store.flush({ projected: true });
    fill();
    doc.update((s) => {
      s.text = LARGE;
    });
    await expect(store.flush()).rejects.toMatchObject({ code: 'HF_DISK_FULL' });
    empty();
    await expect.poll(() => store.health().phase, { timeout: 10_000 }).toBe('open');
    await expect.poll(() => doc.durableVersion, { timeout: 10_000 }).toBe(doc.version);
    await expect.poll(() => json(store.directory, 'a'), { timeout: 20_000 }).toEqual(doc.state);
    await store.close();
  });

  it('does not hold up another store on a healthy disk', async () => {
    const [full, healthy] = [await openStore(join(disk.path, 'store')), await openStore(folder())];
    const [one, two] = [await full.doc('a', { initial }), await healthy.doc('a', { initial })];
    await Promise.all([full.flush({ projected: true }), healthy.flush({ projected: true })]);
    fill();
    const times: number[] = [];
    for (let n = 1; n <= 4; n++) {
      one.update((s) => {
        s.text = `${n}${LARGE}`;
      });
      const refused = expect(full.flush()).rejects.toMatchObject({ code: 'HF_DISK_FULL' });
      two.update((s) => {
        s.n = n;
      });
      const before = performance.now();
      await healthy.flush({ projected: n % 2 === 0 });
      times.push(performance.now() - before);
      await refused;
    }
    console.info(`flushes of the healthy store: at most ${Math.max(...times).toFixed(1)} ms`);
    expect(Math.max(...times)).toBeLessThan(2000);
    expect(healthy.health()).toMatchObject({ phase: 'open', lastFault: null });
    empty();
    await Promise.all([full.close(), healthy.close()]);
  });

  it('a store cannot be opened on it, is told so, and can when there is room', async () => {
    const directory = join(disk.path, 'store');
    const store = await openStore(directory);
    const doc = await store.doc('a', { initial });
    doc.update((s) => {
      s.n = 7;
    });
    await store.close();
    fill();
    await expect(openStore(directory)).rejects.toMatchObject({
      code: 'HF_DISK_FULL',
    });
    empty();
    const again = await openStore(directory);
    expect((await again.doc('a', { initial })).state.n).toBe(7);
    await again.close();
  });
});
