import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { Shared } from '../../src/queue/shared.js';

describe('shared words', () => {
  it('are seen through the same memory, positions and sequences beyond 2^31 too', () => {
    const here = new Shared();
    const there = new Shared(here.memory);
    here.head = 2 ** 32 - 1;
    here.written = 2 ** 31;
    here.nextNumber = 5;
    here.durable = { seq: 2 ** 52, crc: 2 ** 32 - 1, position: 2 ** 31 + 1 };
    expect([there.head, there.written, there.takeNumber(), there.takeNumber()]).toEqual([2 ** 32 - 1, 2 ** 31, 5, 6]);
    expect(there.durable).toEqual({ seq: 2 ** 52, crc: 2 ** 32 - 1, position: 2 ** 31 + 1 });
  });

  it('a wish is taken once', () => {
    const shared = new Shared();
    expect(shared.takeWish()).toBe(false);
    shared.want();
    expect(shared.takeWish()).toBe(true);
    expect(shared.takeWish()).toBe(false);
  });

  it('a fault wakes whoever waits and changes nothing that is durable', async () => {
    const shared = new Shared();
    shared.durable = { seq: 7, crc: 1, position: 2 };
    const waiting = shared.wait(shared.turn);
    shared.noteFault();
    await waiting;
    expect(shared.faults).toBe(1);
    expect(shared.durable.seq).toBe(7);
    expect(shared.wait(shared.turn - 1)).toBeNull();
    shared.waitSync(shared.turn, 1);
  });

  it('what is durable is read as it was written, never half of one and half of another', async () => {
    const shared = new Shared();
    const words = 17;
    expect(shared.memory.byteLength).toBe(words * 4);
    // The writer's side of `durable`, as the journal thread has it, as fast as it can.
    const code = `
      const { workerData } = require('node:worker_threads');
      const w = new Int32Array(workerData);
      for (let n = 1; n < 400000; n++) {
        const turn = (Atomics.load(w, 2) + 1) | 0, at = 8 + (turn & 1) * 4;
        Atomics.store(w, at, n); Atomics.store(w, at + 1, 0); Atomics.store(w, at + 2, n); Atomics.store(w, at + 3, n);
        Atomics.store(w, 2, turn);
      }`;
    const worker = new Worker(code, { eval: true, workerData: shared.memory });
    let isDone = false;
    worker.once('exit', () => {
      isDone = true;
    });
    let reads = 0;
    let last = 0;
    while (!isDone) {
      for (let n = 0; n < 1000; n++) {
        const { seq, crc, position } = shared.durable;
        if (seq !== crc || seq !== position || seq < last) throw new Error(`${seq} ${crc} ${position} after ${last}`);
        last = seq;
        reads++;
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(reads).toBeGreaterThan(1000);
  });
});
