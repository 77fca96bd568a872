import { join } from 'node:path';
import type { Driver } from './contract.js';
import { Outgoing } from './outgoing.js';

const AT_ONCE = 10_000;

interface Row {
  _id: string;
  output?: string;
  current?: string | null;
  steps?: number;
}

async function datastore(directory: string) {
  const { default: library } = await import('@seald-io/nedb');
  // Its types are those of an ES module; it is a CommonJS one.
  const Datastore = library as unknown as typeof library.default;
  const db = new Datastore<Row>({ filename: join(directory, 'state.db') });
  await db.loadDatabaseAsync();
  return db;
}

export const nedb: Driver = {
  id: 'nedb',
  name: '@seald-io/nedb',
  package: '@seald-io/nedb',
  awaited: 'written',
  writes: 'changes',
  how: 'one document per item, one for the rest: `await db.updateAsync({ _id }, { $set })`; appended, not synced',
  async begin(directory, { done, order, current, steps }) {
    const db = await datastore(directory);
    for (let at = 0; at < order.length; at += AT_ONCE) {
      const ids = order.slice(at, at + AT_ONCE);
      await db.insertAsync(ids.map((id) => ({ _id: id, output: done[id]?.output ?? '' })));
    }
    let count = steps;
    await db.insertAsync({ _id: 'head', current, steps: count });
    const write = async (id: string, text: string) => {
      // Queued in this order: it executes one operation after the other.
      const item = db.updateAsync({ _id: id }, { $set: { output: text } }, {});
      const head = db.updateAsync({ _id: 'head' }, { $set: { current: id, steps: ++count } }, {});
      await Promise.all([item, head]);
    };
    const outgoing = new Outgoing();
    return {
      update: (id, text) => outgoing.add(write(id, text)),
      step: write,
      settle: () => outgoing.all(),
      close: () => outgoing.all(),
    };
  },
  async load(directory) {
    return { items: (await datastore(directory)).getAllData().length - 1 };
  },
};
