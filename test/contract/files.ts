// The JSON files: what they show, what is taken over, and what becomes of those that somebody else changed.

import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Place } from './place.js';

const Loop = z.object({ done: z.record(z.string(), z.number()), current: z.string().nullable() });
const initial = { done: {}, current: null };
const text = (state: unknown) => `${JSON.stringify(state, null, 2)}\n`;

export function files(place: () => Place): void {
  describe('files', () => {
    it('show the state as plain JSON, with the versions before it', async () => {
      const here = place();
      const store = await here.open({ backups: 2 });
      const doc = await store.doc('deep/a', { initial: { n: 0 } });
      const projected: number[] = [];
      store.on('project', ({ version }) => projected.push(version));
      for (let n = 1; n <= 4; n++) {
        doc.update((s) => void (s.n = n));
        await store.flush({ projected: true });
      }
      expect(here.files()).toEqual(['deep/a.json', 'deep/a.json.bak1', 'deep/a.json.bak2']);
      expect(['', '.bak1', '.bak2'].map((end) => here.read(`deep/a.json${end}`))).toEqual(
        [4, 3, 2].map((n) => text({ n })),
      );
      expect(projected).toEqual([2, 3, 4, 5]);
      await store.close();
    });

    it('follow by themselves', async () => {
      const here = place();
      const store = await here.open();
      const projected = new Promise((resolve) => store.on('project', resolve));
      await store.doc('a', { initial: { n: 0 } });
      expect(await projected).toMatchObject({ document: 'a', version: 1 });
      expect(here.read('a.json')).toBe(text({ n: 0 }));
      await store.close();
    });

    it('that are already there are taken over, and become the first backup', async () => {
      const here = place();
      here.write('loop.json', '{"done":{"a":1},"current":null}');
      const store = await here.open();
      const told = new Promise((resolve) => store.on('recovered', resolve));
      const loop = await store.doc('loop', { schema: Loop, initial });
      expect(loop.state).toEqual({ done: { a: 1 }, current: null });
      expect(await told).toMatchObject({ projections: [{ document: 'loop', found: 'imported' }] });
      await store.close();
      expect(here.read('loop.json.bak1')).toBe('{"done":{"a":1},"current":null}');
      expect(here.read('loop.json')).toBe(text(loop.state));
    });

    it('that the schema refuses are never replaced by the initial state', async () => {
      const here = place();
      here.write('loop.json', '{"done":7}');
      const store = await here.open();
      await expect(store.doc('loop', { schema: Loop, initial })).rejects.toMatchObject({
        code: 'HF_SCHEMA',
        message: expect.stringMatching(/ refuses .*loop\.json at done: /),
      });
      await store.close();
      expect(here.read('loop.json')).toBe('{"done":7}');
    });

    it.each(['', '{"done":'])('cut to %j are HF_DAMAGED; a backup is taken by choice', async (content) => {
      const here = place();
      here.write('loop.json', content);
      const store = await here.open();
      await expect(store.doc('loop', { schema: Loop, initial })).rejects.toMatchObject({ code: 'HF_DAMAGED' });
      await store.close();
      here.write('loop.json.bak1', '{"broken');
      here.write('loop.json.bak2', '{"done":{"b":2},"current":"c"}');
      const healing = await here.open({ onDamage: 'backup' });
      expect((await healing.doc('loop', { schema: Loop, initial })).state.current).toBe('c');
      await healing.close();
    });

    it.each(['', '{"done":', null])('of ours that somebody made %j of are written anew', async (damage) => {
      const here = place();
      const store = await here.open();
      await store.doc('loop', { schema: Loop, initial });
      await store.close();
      if (damage === null) here.remove('loop.json');
      else here.write('loop.json', damage);
      const again = await here.open();
      const told = new Promise((resolve) => again.on('recovered', resolve));
      await again.doc('loop', { schema: Loop, initial });
      expect(await told).toMatchObject({ projections: [{ document: 'loop' }] });
      await again.close();
      expect(here.read('loop.json')).toBe(text(initial));
    });

    it('that somebody changed are drift: refused for that document only, adopted or restored by choice', async () => {
      const here = place();
      const store = await here.open();
      await store.doc('loop', { schema: Loop, initial });
      await store.doc('other', { initial: { n: 1 } });
      await store.close();
      here.write('loop.json', '{"done":{},"current":"by hand"}');
      const again = await here.open();
      await expect(again.doc('loop', { schema: Loop, initial })).rejects.toMatchObject({ code: 'HF_DRIFT' });
      expect((await again.doc('other', { initial: { n: 0 } })).state).toEqual({ n: 1 });
      const adopted = await again.doc('loop', { schema: Loop, initial, onDrift: 'adopt' });
      expect(adopted.state.current).toBe('by hand');
      await again.close();
      here.write('loop.json', '{"done":{},"current":"again"}');
      const restoring = await here.open({ onDrift: 'restore' });
      expect((await restoring.doc('loop', { schema: Loop, initial })).state.current).toBe('by hand');
      await restoring.close();
      expect(here.read('loop.json')).toBe(text({ done: {}, current: 'by hand' }));
      expect(here.kept()).toHaveLength(1);
    });

    it('that somebody changes while the store is open are not overwritten; resolve settles it', async () => {
      const here = place();
      const store = await here.open();
      const loop = await store.doc('loop', { schema: Loop, initial });
      await store.flush({ projected: true });
      here.write('loop.json', '{"done":{},"current":"theirs"}');
      const drift = new Promise((resolve) => store.on('drift', resolve));
      loop.update((s) => void (s.current = 'ours'));
      expect(await drift).toMatchObject({ document: 'loop' });
      expect(here.read('loop.json')).toBe('{"done":{},"current":"theirs"}');
      expect(store.documents()).toMatchObject([{ name: 'loop', status: 'drifted' }]);
      await loop.resolve('adopt');
      expect(loop.state.current).toBe('theirs');
      here.write('loop.json', '{"done":{},"current":"more"}');
      await loop.resolve('restore');
      expect(here.read('loop.json')).toBe(text({ done: {}, current: 'theirs' }));
      await store.close();
    });

    it('that are ours and lag behind are not taken for what somebody else wrote', async () => {
      const here = place();
      here.write('imported.json', '{"n":1}');
      const store = await here.open({ projectDelayMs: 60_000 });
      const doc = await store.doc('loop', { initial: { n: 0 } });
      const imported = await store.doc('imported', { initial: { n: 0 } });
      imported.update((s) => void (s.n = 2));
      await imported.resolve('adopt');
      expect(imported.state).toEqual({ n: 2 });
      await store.flush({ projected: true });
      doc.update((s) => void (s.n = 1));
      await doc.resolve('adopt');
      expect(doc.state).toEqual({ n: 1 });
      expect(here.read('loop.json')).toBe(text({ n: 1 }));
      await store.close();
    });

    it('are not resolved inside a transaction, which may yet be undone', async () => {
      const here = place();
      const store = await here.open();
      const doc = await store.doc('loop', { initial: { n: 0 } });
      await store.flush({ projected: true });
      here.write('loop.json', '{"n":7}');
      let resolving: Promise<void> | null = null;
      const undone = () =>
        store.transaction(() => {
          resolving = doc.resolve('adopt');
          throw new Error('no');
        });
      expect(undone).toThrow('no');
      await expect(resolving).rejects.toMatchObject({ code: 'HF_CLOSED' });
      expect(here.read('loop.json')).toBe('{"n":7}');
      await doc.resolve('adopt');
      expect(doc.state).toEqual({ n: 7 });
      await store.close();
    });

    it('that cannot be written are no success for whoever waits for them; a close does not wait', async () => {
      const here = place();
      const store = await here.open();
      store.on('fault', () => undefined);
      const stuck = await store.doc('stuck', { initial: { n: 0 } });
      const other = await store.doc('other', { initial: { n: 0 } });
      await store.flush({ projected: true });
      here.remove('stuck.json');
      here.write('stuck.json/in-the-way', '');
      for (const doc of [stuck, other]) doc.update((s) => void (s.n = 1));
      await store.flush();
      await expect(stuck.flush({ projected: true })).rejects.toMatchObject({ code: 'HF_IO' });
      expect(here.read('other.json')).toBe(text({ n: 1 }));
      await expect(stuck.resolve('restore')).rejects.toMatchObject({ code: 'HF_IO' });
      await other.resolve('restore');
      await store.close();
    });

    it('are all listed, with what is known of them', async () => {
      const here = place();
      here.write('deep/theirs.json', '{}');
      here.write('cut.json', '{"a":');
      here.write('notes.txt', 'no document');
      const store = await here.open();
      await store.doc('ours', { initial: {} });
      expect(store.documents().map(({ name, status, version }) => [name, status, version])).toEqual([
        ['cut', 'damaged', 0],
        ['deep/theirs', 'unmanaged', 0],
        ['ours', 'sound', 1],
      ]);
      await store.close();
    });

    it('of a document that was removed and made anew: its versions are its own', async () => {
      const here = place();
      const store = await here.open({ syncDelayMs: 60_000 });
      const doc = await store.doc('a', { initial: { n: 0 } });
      for (let n = 1; n <= 3; n++) doc.update((s) => void (s.n = n));
      await store.flush();
      doc.update((s) => void (s.n = 4));
      store.remove('a');
      const anew = await store.doc('a', { initial: { n: 0 } });
      expect(anew.durableVersion).toBe(0);
      await store.flush();
      expect([anew.version, anew.durableVersion]).toEqual([1, 1]);
      await store.close();
    });

    it('of a document that is removed go with it', async () => {
      const here = place();
      const store = await here.open();
      const doc = await store.doc('gone', { initial: { n: 0 } });
      await store.doc('stays', { initial: {} });
      doc.update((s) => void (s.n = 1));
      await store.flush({ projected: true });
      store.remove('gone');
      store.remove('never there');
      expect(() => doc.update((s) => void (s.n = 2))).toThrow(expect.objectContaining({ code: 'HF_CLOSED' }));
      await store.close();
      expect(here.files()).toEqual(['stays.json']);
      const again = await here.open();
      expect((await again.doc('gone', { initial: { n: 7 } })).state).toEqual({ n: 7 });
      await again.close();
    });
  });
}
