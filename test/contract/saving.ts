// Flushing, waiting, telling, closing.

import { describe, expect, it, vi } from 'vitest';
import type { Place } from './place.js';

export function saving(place: () => Place): void {
  describe('saving', () => {
    it('a flush makes everything up to it durable', async () => {
      const store = await place().open();
      const doc = await store.doc('a', { initial: { n: 0 } });
      doc.update((s) => void (s.n = 1));
      await doc.flush();
      expect(doc.durableVersion).toBe(2);
      doc.update((s) => void (s.n = 2));
      store.flushSync();
      expect(doc.durableVersion).toBe(3);
      const { lastSeq, durableSeq, phase, pendingBytes, lagMs, lastFault } = store.health();
      expect(lastSeq).toBe(durableSeq);
      expect([phase, pendingBytes, lagMs, lastFault]).toEqual(['open', 0, 0, null]);
      await store.close();
    });

    it('what nobody flushes becomes durable by itself', async () => {
      const store = await place().open({ syncDelayMs: 20 });
      const doc = await store.doc('a', { initial: { n: 0 } });
      doc.update((s) => void (s.n = 1));
      await vi.waitFor(() => expect(doc.durableVersion).toBe(2));
      await store.close();
    });

    it('lagMs is the age of the oldest change that is not on disk, whether or not anybody asked before', async () => {
      const store = await place().open({ syncDelayMs: 60_000 });
      const doc = await store.doc('a', { initial: { n: 0 } });
      await store.flush();
      await new Promise((resolve) => setTimeout(resolve, 50));
      const before = performance.now();
      doc.update((s) => void (s.n = 1));
      const { lagMs } = store.health();
      expect(lagMs).toBeLessThanOrEqual(performance.now() - before);
      const later = performance.now();
      await new Promise((resolve) => setTimeout(resolve, 20));
      doc.update((s) => void (s.n = 2));
      const waitedMs = performance.now() - later;
      expect(store.health().lagMs).toBeGreaterThanOrEqual(waitedMs);
      await store.close();
    });

    it.each([0, 60_000])(
      'what is changed while it closes is saved, file too, or refused; coalesceMs %d',
      async (coalesceMs) => {
        const here = place();
        const store = await here.open({ coalesceMs, projectDelayMs: 60_000 });
        const doc = await store.doc('a', { initial: { n: 0 } });
        const closed = store.close();
        let accepted = 0;
        const change = async () => {
          for (;;) {
            doc.update((s) => void (s.n = accepted + 1));
            accepted++;
            await Promise.resolve();
            // Not only when the event loop comes round: a store in memory closes faster than that.
            if (accepted % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
          }
        };
        await expect(change()).rejects.toMatchObject({ code: 'HF_CLOSED' });
        await closed;
        expect(accepted).toBeGreaterThan(0);
        expect(JSON.parse(here.read('a.json'))).toEqual({ n: accepted });
        const again = await here.open();
        expect((await again.doc('a', { initial: { n: -1 } })).state.n).toBe(accepted);
        await again.close();
      },
    );

    it('a flush inside a transaction waits for its end; a blocking one is refused', async () => {
      const store = await place().open();
      const doc = await store.doc('a', { initial: { n: 0 } });
      let flushed: Promise<void> | undefined;
      store.transaction(() => {
        doc.update((s) => void (s.n = 1));
        flushed = store.flush();
        expect(() => store.flushSync()).toThrow(expect.objectContaining({ code: 'HF_CLOSED' }));
      });
      await flushed;
      expect(doc.durableVersion).toBe(2);
      await store.close();
    });

    it('a flush can be aborted; what was handed over is saved all the same', async () => {
      const store = await place().open();
      const doc = await store.doc('a', { initial: { n: 0 } });
      doc.update((s) => void (s.n = 1));
      await expect(doc.flush({ signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough');
      await doc.flush();
      expect(doc.durableVersion).toBe(2);
      await store.close();
    });

    it('coalesceMs holds updates back: many of them, one commit', async () => {
      const store = await place().open({ coalesceMs: 30 });
      const doc = await store.doc('a', { initial: { n: 0 } });
      await store.flush();
      const before = store.health().lastSeq;
      for (let n = 1; n <= 100; n++) doc.update((s) => void (s.n = n));
      expect(store.health().lastSeq).toBe(before);
      await vi.waitFor(() => expect(store.health().lastSeq).toBe(before + 1));
      await store.close();
    });

    it('throws HF_BACKPRESSURE at the entry of an update when too much waits, and takes more once drained', async () => {
      const store = await place().open({ pendingBytesMax: 1024 * 1024, syncDelayMs: 60_000 });
      const doc = await store.doc('a', { initial: { text: '', n: 0 } });
      const fill = () => {
        for (let n = 0; n < 20; n++) doc.update((s) => void (s.text = String(n).repeat(500_000)));
      };
      expect(fill).toThrow(expect.objectContaining({ code: 'HF_BACKPRESSURE' }));
      await store.drained();
      doc.update((s) => void (s.n = 1));
      expect(doc.state.n).toBe(1);
      await store.close();
    });

    it('counts what is held back towards its limit, by what would be written and not by how often it was changed', async () => {
      const store = await place().open({ pendingBytesMax: 1024 * 1024, coalesceMs: 60_000 });
      const doc = await store.doc<Record<string, string>>('a', { initial: {} });
      await store.flush();
      const text = 'x'.repeat(100_000);
      for (let n = 0; n < 100; n++) doc.update((s) => void (s.hot = `${n}${text}`));
      expect(store.health().pendingBytes).toBeGreaterThan(100_000);
      let kept = 0;
      const fill = () => {
        for (; kept < 100; kept++) doc.update((s) => void (s[`k${kept}`] = text));
      };
      expect(fill).toThrow(expect.objectContaining({ code: 'HF_BACKPRESSURE' }));
      // One update may go over it, and the hot one counts as well.
      expect(kept).toBeGreaterThanOrEqual(9);
      expect(kept).toBeLessThanOrEqual(10);
      await store.drained();
      expect(store.health().pendingBytes).toBe(0);
      doc.update((s) => void (s.more = text));
      expect(doc.state.k8).toBe(text);
      await store.close();
    });

    it('carries values larger than its ring, and many at once', async () => {
      const here = place();
      const store = await here.open();
      const doc = await store.doc<Record<string, string>>('big', { initial: {} });
      for (let n = 0; n < 4; n++) doc.update((s) => void (s[`k${n}`] = String(n).repeat(700_000)));
      for (let n = 0; n < 3000; n++) doc.update((s) => void (s.small = `${n}`));
      await store.close();
      const again = await here.open();
      expect((await again.doc('big', { initial: {} })).state).toEqual(doc.state);
      await again.close();
    });

    it('works while the timers are fake', async () => {
      const here = place();
      vi.useFakeTimers();
      try {
        const store = await here.open();
        const doc = await store.doc('a', { initial: { n: 0 } });
        doc.update((s) => void (s.n = 1));
        await store.flush();
        await store.flush({ projected: true });
        expect(here.read('a.json')).toBe('{\n  "n": 1\n}\n');
        await store.close();
        const again = await here.open();
        expect((await again.doc('a', { initial: { n: 0 } })).state).toEqual({ n: 1 });
        await again.close();
      } finally {
        vi.useRealTimers();
      }
    });

    it('is the same store when it is opened twice, and closes with its last holder', async () => {
      const here = place();
      const [one, two] = await Promise.all([here.open(), here.open()]);
      expect(two).toBe(one);
      const doc = await one.doc('a', { initial: { n: 0 } });
      await one.close();
      doc.update((s) => void (s.n = 1));
      await two.close();
      expect(two.health().phase).toBe('closed');
      const again = await here.open();
      expect(again).not.toBe(one);
      expect((await again.doc('a', { initial: { n: 0 } })).state).toEqual({ n: 1 });
      await again.close();
    });

    it('can be opened again while it is still closing', async () => {
      const here = place();
      const store = await here.open();
      const doc = await store.doc('a', { initial: { n: 0 } });
      doc.update((s) => void (s.n = 1));
      const closing = store.close();
      const again = await here.open();
      await closing;
      expect((await again.doc('a', { initial: { n: 0 } })).state).toEqual({ n: 1 });
      await again.close();
    });

    it('says HF_CLOSED to whoever uses it after its close', async () => {
      const store = await place().open();
      const doc = await store.doc('a', { initial: { n: 0 } });
      await store.close();
      await store.close();
      const closed = expect.objectContaining({ code: 'HF_CLOSED' });
      expect(() => doc.update((s) => void (s.n = 1))).toThrow(closed);
      expect(() => doc.replace({ n: 1 })).toThrow(closed);
      expect(() => store.transaction(() => 1)).toThrow(closed);
      expect(() => store.flushSync()).toThrow(closed);
      expect(() => store.remove('a')).toThrow(closed);
      expect(() => store.documents()).toThrow(closed);
      await expect(store.flush()).rejects.toEqual(closed);
      await expect(store.doc('b', { initial: {} })).rejects.toEqual(closed);
      expect(doc.state).toEqual({ n: 0 });
    });

    it('refuses wrong options as a TypeError', async () => {
      await expect(place().open({ syncDelayMs: -1 })).rejects.toThrow(TypeError);
      await expect(place().open({ nonsense: 1 } as never)).rejects.toThrow(/nonsense/);
    });
  });
}
