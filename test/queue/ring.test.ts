import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { distance, Ring } from '../../src/queue/ring.js';

describe('the ring', () => {
  it.each([0, 2 ** 31 - 70, 2 ** 32 - 70])(
    'gives back every frame in order, from position %d on, around its end and around 2^32',
    (start) => {
      const sizes = fc.array(fc.integer({ min: 0, max: 64 }), { minLength: 1, maxLength: 40 });
      fc.assert(
        fc.property(sizes, fc.nat(10), (lengths, lag) => {
          const ring = new Ring(new SharedArrayBuffer(256));
          let head = start;
          let tail = start;
          const waiting: Buffer[] = [];
          const takeOne = () => {
            const { item, next } = ring.take(tail);
            expect(item).toEqual({ kind: 'inline', bytes: waiting.shift() });
            tail = next;
          };
          lengths.forEach((length, index) => {
            const frame = Buffer.alloc(length, index + 1);
            while (!ring.hasRoom(distance(tail, head), length) || waiting.length > lag) takeOne();
            head = ring.put(head, frame);
            waiting.push(frame);
            expect(distance(tail, head)).toBeLessThanOrEqual(256);
          });
          while (waiting.length > 0) takeOne();
          expect(tail).toBe(head);
        }),
        { seed: 3 },
      );
    },
  );

  it('holds only a note for a frame over a quarter of its size', () => {
    const ring = new Ring(new SharedArrayBuffer(256));
    expect(ring.isLarge(64)).toBe(false);
    expect(ring.isLarge(65)).toBe(true);
    expect(ring.costOf(1_000_000)).toBe(8);
    const behind = ring.putApart(2 ** 32 - 4, 7);
    expect(behind).toBe(4);
    expect(ring.take(2 ** 32 - 4)).toEqual({ item: { kind: 'apart', id: 7 }, next: 4 });
  });

  it('is a power of two', () => {
    expect(() => new Ring(new SharedArrayBuffer(100))).toThrow(RangeError);
    expect(() => new Ring(new SharedArrayBuffer(32))).toThrow(RangeError);
  });

  it('knows that a frame is in its own memory once taken', () => {
    const ring = new Ring(new SharedArrayBuffer(64));
    ring.put(0, Buffer.from('first'));
    const { item } = ring.take(0);
    ring.put(0, Buffer.from('other'));
    expect(item.kind === 'inline' && item.bytes.toString()).toBe('first');
  });
});
