// Whether the journal thread looks out for the next change before it rests.

import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { Bell } from '../../src/threads/bell.js';
import { Lookout } from '../../src/threads/lookout.js';

const SHORT_MS = 0.1;

/** How many rests go by before it would look again. */
function pauseOf(lookout: Lookout): number {
  for (let rests = 0; rests < 100_000; rests++) if (lookout.isWorthIt(SHORT_MS, 2)) return rests;
  throw new Error('It never looks again');
}

describe('the journal thread looks out for the next change', () => {
  it('after a short rest and a change or two, and with a processor to spare', () => {
    expect(new Lookout(2).isWorthIt(SHORT_MS, 2)).toBe(true);
    expect(new Lookout(2).isWorthIt(5, 2)).toBe(false);
    expect(new Lookout(2).isWorthIt(Number.POSITIVE_INFINITY, 2)).toBe(false);
    expect(new Lookout(2).isWorthIt(SHORT_MS, 64)).toBe(false);
    expect(new Lookout(1).isWorthIt(SHORT_MS, 2)).toBe(false);
  });

  it('hears it from another thread', async () => {
    const bell = new Bell();
    const { count } = bell;
    const ring = 'setTimeout(() => Atomics.add(new Int32Array(require("node:worker_threads").workerData), 0, 1), 20)';
    const other = new Worker(ring, { eval: true, workerData: bell.memory });
    const lookout = new Lookout(2);
    const start = performance.now();
    while (!lookout.watch(bell, count, 1)) expect(performance.now() - start).toBeLessThan(30_000);
    await other.terminate();
  });

  it('hears what rang before it began', () => {
    const bell = new Bell();
    const { count } = bell;
    bell.ring();
    expect(new Lookout(2).watch(bell, count, 1)).toBe(true);
  });

  it('gives up when nothing comes, and then lets many rests go by', () => {
    const bell = new Bell();
    const lookout = new Lookout(2);
    expect(lookout.watch(bell, bell.count, 1)).toBe(false);
    expect(pauseOf(lookout)).toBeGreaterThanOrEqual(8);
  });

  it('is done less and less where it is in vain, and at some point hardly at all', () => {
    const lookout = new Lookout(2);
    const pauses = Array.from({ length: 16 }, () => {
      lookout.note(false);
      return pauseOf(lookout);
    });
    expect(pauses).toEqual([...pauses].sort((a, b) => a - b));
    expect(pauses.at(-1)).toBe(4096);
  });

  it('is done all the time again where it succeeds again', () => {
    const lookout = new Lookout(2);
    for (let n = 0; n < 16; n++) lookout.note(false);
    for (let n = 0; n < 16; n++) {
      pauseOf(lookout);
      lookout.note(true);
    }
    lookout.note(false);
    expect(pauseOf(lookout)).toBe(8);
  });
});
