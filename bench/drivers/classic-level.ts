import type { Driver } from './contract.js';
import { Outgoing } from './outgoing.js';

interface Value {
  output?: string;
  current?: string | null;
  steps?: number;
}

const AT_ONCE = 10_000;
const HEAD = 'head';

async function database(directory: string) {
  const { ClassicLevel } = await import('classic-level');
  const db = new ClassicLevel<string, Value>(directory, { valueEncoding: 'json' });
  await db.open();
  return db;
}

export const classicLevel: Driver = {
  id: 'classic-level',
  name: 'classic-level',
  package: 'classic-level',
  awaited: 'durable',
  writes: 'changes',
  how: 'one entry per item, one for the rest: `db.batch(operations)`; awaited: with `{ sync: true }`',
  async begin(directory, { done, order, current, steps }) {
    const db = await database(directory);
    const put = (key: string, value: Value) => ({ type: 'put', key, value }) as const;
    for (let at = 0; at < order.length; at += AT_ONCE) {
      await db.batch(order.slice(at, at + AT_ONCE).map((id) => put(id, done[id] ?? {})));
    }
    let count = steps;
    await db.put(HEAD, { current, steps: count }, { sync: true });
    const write = (id: string, text: string, sync: boolean) =>
      db.batch([put(id, { output: text }), put(HEAD, { current: id, steps: ++count })], { sync });
    const outgoing = new Outgoing();
    return {
      update: (id, text) => outgoing.add(write(id, text, false)),
      step: (id, text) => write(id, text, true),
      settle: async () => {
        await outgoing.all();
        // Its log is one file: what is synced now syncs all that was written before.
        await db.put('settled', { steps: count }, { sync: true });
      },
      close: () => db.close(),
    };
  },
  async load(directory) {
    const db = await database(directory);
    const done: Record<string, Value> = {};
    for await (const [key, value] of db.iterator()) if (key !== HEAD && key !== 'settled') done[key] = value;
    return { items: Object.keys(done).length };
  },
};
