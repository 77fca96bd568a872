// From one opening to the next: closed, killed, of another version, damaged.

import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Place } from './place.js';

export function lives(place: () => Place): void {
  describe('lives', () => {
    it('what was closed comes back', async () => {
      const here = place();
      for (let n = 0; n < 12; n++) {
        const store = await here.open();
        const doc = await store.doc<{ list: number[] }>('a', { initial: { list: [] } });
        expect(doc.state.list).toHaveLength(n);
        doc.update((s) => void s.list.push(n));
        await store.close();
      }
      expect(JSON.parse(here.read('a.json'))).toEqual({ list: Array.from({ length: 12 }, (_, n) => n) });
    });

    it('what was flushed survives a kill, and its file follows', async () => {
      const here = place();
      await here.kill(async (store) => {
        const a = await store.doc('a', { initial: { n: 0 } });
        const b = await store.doc('b', { initial: { n: 0 } });
        store.transaction(() => {
          a.update((s) => void (s.n = 1));
          b.update((s) => void (s.n = 1));
        });
        await store.flush();
      });
      const store = await here.open();
      const states = await Promise.all(['a', 'b'].map(async (name) => (await store.doc(name, { initial: {} })).state));
      expect(states).toEqual([{ n: 1 }, { n: 1 }]);
      await store.close();
      expect(here.files()).toEqual(['a.json', 'b.json']);
    });

    it('a transaction that was not at its end leaves nothing after a kill', async () => {
      const here = place();
      await here.kill(async (store, die) => {
        const a = await store.doc('a', { initial: { n: 0 } });
        const b = await store.doc('b', { initial: { n: 0 } });
        await store.flush();
        store.transaction(() => {
          a.update((s) => void (s.n = 1));
          die();
          b.update((s) => void (s.n = 1));
        });
      });
      const store = await here.open();
      for (const name of ['a', 'b']) expect((await store.doc(name, { initial: { n: 7 } })).state).toEqual({ n: 0 });
      await store.close();
    });

    it('killed again and again, what was acknowledged is there', async () => {
      const here = place();
      for (let n = 0; n < 3; n++) {
        await here.kill(async (store) => {
          const doc = await store.doc<{ list: number[] }>('a', { initial: { list: [] } });
          doc.update((s) => void s.list.push(s.list.length));
          await store.flush({ projected: doc.state.list.length % 2 === 1 });
        });
      }
      const store = await here.open();
      expect((await store.doc<{ list: number[] }>('a', { initial: { list: [] } })).state.list).toEqual([0, 1, 2]);
      await store.close();
    });

    it('a state of an earlier schema is migrated, and kept', async () => {
      const V2 = z.object({ items: z.array(z.string()), note: z.string().default('none') });
      const here = place();
      const store = await here.open();
      await store.doc('loop', { initial: { list: 'a,b' } });
      await store.close();
      const newer = await here.open();
      const options = { schema: V2, initial: { items: [] }, version: 2 };
      await expect(newer.doc('loop', options)).rejects.toMatchObject({ code: 'HF_SCHEMA' });
      const migrate = (old: unknown) => ({ items: (old as { list: string }).list.split(',') });
      const loop = await newer.doc('loop', { ...options, migrate });
      expect(loop.state).toEqual({ items: ['a', 'b'], note: 'none' });
      await newer.close();
      expect(here.kept().some((name) => name.includes('version-1'))).toBe(true);
      const older = await here.open();
      await expect(older.doc('loop', { initial: {} })).rejects.toMatchObject({ code: 'HF_VERSION' });
      await older.close();
    });

    it('a migration that is refused leaves nothing behind, however often it is tried', async () => {
      const here = place();
      const store = await here.open();
      await store.doc('loop', { initial: { n: 1 } });
      await store.close();
      const again = await here.open();
      const options = { schema: z.object({ m: z.number() }), initial: { m: 0 }, version: 2 };
      for (const wrong of [{}, { m: 'x' }, { m: new Date(0) }, Promise.resolve({ m: 1 }), undefined]) {
        const tried = again.doc('loop', { ...options, migrate: () => wrong as never });
        await expect(tried).rejects.toMatchObject({ code: expect.stringMatching(/HF_SCHEMA|HF_VALUE/) });
      }
      expect(here.kept()).toEqual([]);
      const migrate = (old: unknown) => ({ m: (old as { n: number }).n });
      expect((await again.doc('loop', { ...options, migrate })).state).toEqual({ m: 1 });
      expect(here.kept()).toHaveLength(1);
      await again.close();
    });

    it('a damaged store is refused, and salvaged by choice', async () => {
      const here = place();
      const store = await here.open();
      const doc = await store.doc('a', { initial: { n: 0 } });
      doc.update((s) => void (s.n = 1));
      await store.close();
      const tail = '.holdfast/0000000001.tail';
      const bytes = here.bytes(tail);
      here.write(tail, bytes.fill(0, 90, 200));
      await expect(here.open()).rejects.toMatchObject({ code: 'HF_DAMAGED' });
      const salvaged = await here.open({ onDamage: 'salvage', onDrift: 'adopt' });
      expect((await salvaged.doc('a', { initial: { n: 7 } })).state).toEqual({ n: 1 });
      await salvaged.close();
    });
  });
}
