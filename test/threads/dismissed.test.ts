// A snapshot thread holds a second copy of all state. A large one is not kept for work that may come.

import { expect, it, vi } from 'vitest';
import { SharedPool } from '../../src/threads/shared-pool.js';
import { folder, json, openStore, workersUrl } from '../store/support.js';

function snapshotThreads(): number {
  const pools = (globalThis as { [key: symbol]: unknown })[Symbol.for('holdfast.snapshot-pools')];
  return [...(pools as Map<string, SharedPool>).values()].reduce((sum, { pool }) => sum + pool.threads.length, 0);
}

const inTime = { timeout: 20_000, interval: 20 };
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

it('the snapshot thread goes when it holds much and has nothing to do, and the next file is whole again', async () => {
  const directory = folder();
  const store = await openStore(directory);
  const large = await store.doc('large', { initial: { text: 'x'.repeat(40_000_000), n: 0 } });
  const small = await store.doc('small', { initial: { n: 0 } });
  for (let n = 1; n <= 2; n++) {
    large.update((s) => void (s.n = n));
    small.update((s) => void (s.n = n));
    await store.flush({ projected: true });
    expect([json(directory, 'large'), json(directory, 'small')]).toEqual([{ ...large.state }, { n }]);
    await vi.waitFor(() => expect(snapshotThreads()).toBe(0), inTime);
  }
  expect(store.health()).toMatchObject({ phase: 'open', lastFault: null });
});

it('one that holds little stays', async () => {
  const store = await openStore(folder());
  await store.doc('small', { initial: { n: 0 } });
  await store.flush({ projected: true });
  await sleep(1500);
  expect(snapshotThreads()).toBe(1);
});

it('a task that comes before a pool is dismissed keeps its thread; after it there is a new one', async () => {
  const pool = new SharedPool(new URL('snapshot.cjs', workersUrl).href, 1);
  pool.users = 1;
  const ask = () => pool.run({ kind: 'forget', storeId: new Uint8Array(16) });
  await ask();
  const [first] = pool.pool.threads;
  pool.dismissAfter(30);
  const asked = ask();
  // While it runs nothing is dismissed either.
  pool.dismissAfter(1);
  await asked;
  await sleep(100);
  expect(pool.pool.threads).toEqual([first]);
  pool.dismissAfter(1);
  await vi.waitFor(() => expect(pool.pool.threads).toEqual([]), inTime);
  await ask();
  expect(pool.pool.threads).toHaveLength(1);
  await pool.destroy();
});
