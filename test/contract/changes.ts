// Documents in memory: what an update does, and what is refused.

import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { append } from '../../src/change/tracked.js';
import type { Place } from './place.js';

const Loop = z.object({ done: z.record(z.string(), z.number()), current: z.string().nullable() });
const initial = { done: {}, current: null };

export function changes(place: () => Place): void {
  describe('changes', () => {
    it('an update changes the state at once and returns what its recipe returns', async () => {
      const store = await place().open();
      const loop = await store.doc('loop', { schema: Loop, initial });
      const returned = loop.update((s) => {
        s.done.a = 1;
        return s.done;
      });
      expect(returned).toEqual({ a: 1 });
      expect(loop.state).toEqual({ done: { a: 1 }, current: null });
      expect(loop.version).toBe(2);
      const copy = loop.snapshot();
      copy.done.b = 2;
      expect(loop.state.done).toEqual({ a: 1 });
      loop.replace({ done: { c: 3 }, current: 'd' });
      expect(loop.state).toEqual({ done: { c: 3 }, current: 'd' });
      await store.close();
    });

    it('what the schema refuses leaves everything as it was', async () => {
      const store = await place().open();
      const loop = await store.doc('loop', { schema: Loop, initial });
      const { lastSeq } = store.health();
      const wrong = () =>
        loop.update((s) => {
          s.current = 'x';
          s.done.a = 'one' as never;
        });
      expect(wrong).toThrow(expect.objectContaining({ code: 'HF_SCHEMA', path: ['done', 'a'] }));
      expect(() => loop.replace({ done: {} } as never)).toThrow(expect.objectContaining({ code: 'HF_SCHEMA' }));
      expect(loop.state).toEqual(initial);
      expect([loop.version, store.health().lastSeq]).toEqual([1, lastSeq]);
      await expect(store.doc('other', { schema: Loop, initial: { done: 7 } as never })).rejects.toMatchObject({
        code: 'HF_SCHEMA',
      });
      const transforming = z.object({ n: z.string().transform(Number) });
      await expect(store.doc('t', { schema: transforming, initial: { n: '1' } })).rejects.toThrow(/transform/);
      await store.close();
    });

    it.each([[Number.NaN], [new Date(0)], [new Map()], [10n], [() => 1], [[undefined]]])(
      'refuses what JSON cannot hold: %s',
      async (value) => {
        const store = await place().open();
        const doc = await store.doc<{ v: unknown }>('a', { initial: { v: 1 } });
        expect(() => doc.update((s) => void (s.v = value))).toThrow(expect.objectContaining({ code: 'HF_VALUE' }));
        expect(doc.state).toEqual({ v: 1 });
        await store.close();
      },
    );

    it('a throw undoes the update; a nested one is undone alone', async () => {
      const store = await place().open();
      const doc = await store.doc<{ list: number[] }>('a', { initial: { list: [] } });
      doc.update((s) => {
        s.list.push(1);
        expect(() =>
          doc.update((inner) => {
            inner.list.push(2);
            throw new Error('inner');
          }),
        ).toThrow('inner');
        doc.update((inner) => void inner.list.push(3));
      });
      expect(doc.state.list).toEqual([1, 3]);
      expect(() =>
        doc.update((s) => {
          s.list.length = 0;
          throw new Error('outer');
        }),
      ).toThrow('outer');
      expect(doc.state.list).toEqual([1, 3]);
      const later = (async () => undefined) as unknown as () => undefined;
      expect(() => doc.update(later)).toThrow(expect.objectContaining({ code: 'HF_ASYNC' }));
      await store.close();
    });

    it('a transaction is all documents or none, and one commit', async () => {
      const store = await place().open();
      const a = await store.doc('a', { initial: { n: 1 } });
      const b = await store.doc('deep/er/b', { initial: { n: 1 } });
      const before = store.health().lastSeq;
      const commits: number[] = [];
      store.on('commit', ({ seq }) => commits.push(seq));
      store.transaction(() => {
        a.update((s) => void (s.n = 2));
        b.update((s) => void (s.n = 2));
      });
      const failing = () =>
        store.transaction(() => {
          a.update((s) => void (s.n = 3));
          throw new Error('no');
        });
      expect(failing).toThrow('no');
      expect([a.state.n, b.state.n, commits]).toEqual([2, 2, [before + 1]]);
      await store.close();
    });

    it('a document made in a transaction that is undone can be made again', async () => {
      const here = place();
      const store = await here.open();
      const undone = () =>
        store.transaction(() => {
          void store.doc('Made', { initial: { n: 1 } });
          throw new Error('no');
        });
      expect(undone).toThrow('no');
      expect(undone).toThrow('no');
      const made = await store.doc('made', { initial: { n: 2 } });
      made.update((s) => void s.n++);
      await store.close();
      const again = await here.open();
      expect(again.documents().map(({ name }) => name)).toEqual(['made']);
      expect((await again.doc('made', { initial: { n: 0 } })).state).toEqual({ n: 3 });
      await again.close();
    });

    it('what is saved or lies there is not taken over inside a transaction, which may yet be undone', async () => {
      const here = place();
      here.write('imported.json', '{"n":7}');
      const store = await here.open();
      await store.doc('old', { initial: { n: 1 } });
      await store.doc('drifted', { initial: { n: 1 } });
      await store.close();
      here.write('drifted.json', '{"n":7}');
      const again = await here.open();
      const migrate = (old: unknown) => ({ m: (old as { n: number }).n });
      const opening: Promise<unknown>[] = [];
      again.transaction(() => {
        opening.push(again.doc('old', { initial: { m: 0 }, version: 2, migrate }));
        opening.push(again.doc('drifted', { initial: {}, onDrift: 'adopt' }));
        opening.push(again.doc('imported', { initial: {} }));
      });
      for (const refused of await Promise.allSettled(opening))
        expect(refused).toMatchObject({ status: 'rejected', reason: { code: 'HF_CLOSED' } });
      expect((await again.doc('old', { initial: { m: 0 }, version: 2, migrate })).state).toEqual({ m: 1 });
      expect((await again.doc('drifted', { initial: {}, onDrift: 'adopt' })).state).toEqual({ n: 7 });
      expect((await again.doc('imported', { initial: {} })).state).toEqual({ n: 7 });
      await again.close();
    });

    it('subscribers hear of each change once it cannot be undone any more', async () => {
      const store = await place().open();
      const doc = await store.doc('a', { initial: { list: [] as number[], text: '' } });
      const seen: unknown[] = [];
      const stop = doc.subscribe(({ version, paths }) => seen.push([version, paths]));
      doc.update((s) => {
        s.list.push(1);
        append(s, 'text', 'abc');
        expect(seen).toEqual([]);
      });
      stop();
      doc.update((s) => void s.list.push(2));
      expect(seen).toEqual([[2, [['text'], ['list', 0]]]]);
      await store.close();
    });

    it('a subscriber that throws or changes more keeps neither the change nor other subscribers from anything', async () => {
      const store = await place().open();
      const one = await store.doc('one', { initial: { n: 0 } });
      const two = await store.doc('two', { initial: { n: 0 } });
      await store.flush();
      const before = store.health().lastSeq;
      const uncaught: unknown[] = [];
      const handlers = process.listeners('uncaughtException');
      process.removeAllListeners('uncaughtException');
      process.on('uncaughtException', (error) => uncaught.push(error.message));
      try {
        const seen: unknown[] = [];
        one.subscribe(() => {
          throw new Error('not my day');
        });
        one.subscribe(({ version }) => {
          seen.push(['one', version]);
          if (two.state.n === 1) two.update((s) => void (s.n = 2));
        });
        two.subscribe(({ version }) => seen.push(['two', version]));
        store.transaction(() => {
          one.update((s) => void (s.n = 1));
          two.update((s) => void (s.n = 1));
        });
        expect([one.state.n, two.state.n, store.health().lastSeq]).toEqual([1, 2, before + 2]);
        expect(seen).toEqual([
          ['one', 2],
          ['two', 3],
          ['two', 2],
        ]);
        await vi.waitFor(() => expect(uncaught).toEqual(['not my day']));
      } finally {
        process.removeAllListeners('uncaughtException');
        for (const handler of handlers) process.on('uncaughtException', handler);
      }
      await store.close();
    });

    it('names that no file system could hold, or could not tell apart, are HF_NAME', async () => {
      const store = await place().open();
      for (const name of ['', '../x', 'a//b', '.holdfast/x', 'a\\b'])
        await expect(store.doc(name, { initial: {} })).rejects.toMatchObject({ code: 'HF_NAME' });
      await store.doc('Loop', { initial: {} });
      await expect(store.doc('loop', { initial: {} })).rejects.toMatchObject({ code: 'HF_NAME' });
      await store.close();
    });

    it('a guarded state refuses to be written to', async () => {
      const store = await place().open({ guard: true });
      const doc = await store.doc('a', { initial: { list: [1] } });
      expect(() => (doc.state.list as number[]).push(2)).toThrow(TypeError);
      await store.close();
    });

    it('a collection creates, gets, lists and removes', async () => {
      const here = place();
      const store = await here.open();
      const features = await store.collection('features/*/feature', { schema: z.object({ n: z.number() }) });
      await features.create('b', { n: 2 });
      await features.create('a', { n: 1 });
      await expect(features.create('a', { n: 3 })).rejects.toMatchObject({ code: 'HF_EXISTS' });
      expect((await features.get('a'))?.state).toEqual({ n: 1 });
      expect(await features.get('none')).toBeUndefined();
      here.write('features/theirs/feature.json', '{"n":"cut');
      const entries = await features.entries();
      expect(entries.map(({ name }) => name)).toEqual(['a', 'b', 'theirs'].map((key) => `features/${key}/feature`));
      expect(features.remove('b')).toBe(true);
      expect(features.remove('b')).toBe(false);
      await store.flush({ projected: true });
      expect(here.files()).toEqual(['features/a/feature.json', 'features/theirs/feature.json']);
      await store.close();
    });
  });
}
