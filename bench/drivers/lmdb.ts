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
  const { open } = await import('lmdb');
  return open<Value, string>({ path: directory });
}

export const lmdb: Driver = {
  id: 'lmdb',
  name: 'lmdb',
  package: 'lmdb',
  awaited: 'durable',
  writes: 'changes',
  how: 'one entry per item, one for the rest: `db.batch(() => …put)`; awaited: `await db.flushed`',
  async begin(directory, { done, order, current, steps }) {
    const db = await database(directory);
    for (const [at, id] of order.entries()) {
      const put = db.put(id, done[id] ?? {});
      if (at % AT_ONCE === 0) await put;
    }
    let count = steps;
    await db.put(HEAD, { current, steps: count });
    await db.flushed;
    const write = (id: string, text: string) =>
      db.batch(() => {
        db.put(id, { output: text });
        db.put(HEAD, { current: id, steps: ++count });
      });
    const outgoing = new Outgoing();
    return {
      update: (id, text) => outgoing.add(write(id, text)),
      step: async (id, text) => {
        await write(id, text);
        await db.flushed;
      },
      settle: async () => {
        await outgoing.all();
        await db.flushed;
      },
      close: () => db.close(),
    };
  },
  async load(directory) {
    const db = await database(directory);
    const done: Record<string, Value> = {};
    for (const { key, value } of db.getRange()) if (key !== HEAD) done[key] = value;
    return { items: Object.keys(done).length };
  },
};
