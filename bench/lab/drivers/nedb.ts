import { join } from 'node:path';
import type { Driver } from '../contract.js';
import type { LabState } from '../state.js';

const COMPACT_EVERY = 20;

export const nedb: Driver = {
  id: 'nedb',
  name: '@seald-io/nedb',
  package: '@seald-io/nedb',
  promised: 'atomic',
  how: `\`await db.updateAsync(…, { upsert: true })\`, compacted every ${COMPACT_EVERY} saves; appends are not synced: 'the worst' is the loss of what came after the last sync`,
  async open(directory) {
    const { default: library } = await import('@seald-io/nedb');
    // Its types are those of an ES module; it is a CommonJS one.
    const Datastore = library as unknown as typeof library.default;
    const db = new Datastore<LabState>({ filename: join(directory, 'state.db') });
    await db.loadDatabaseAsync();
    const put = (state: LabState) => db.updateAsync({ _id: 'state' }, { _id: 'state', ...state }, { upsert: true });
    let saves = 0;
    return {
      load: async () => {
        const found = await db.findOneAsync<LabState>({ _id: 'state' });
        return found === null ? null : { n: found.n, title: found.title, items: found.items };
      },
      save: async (state) => {
        await put(state);
        if (++saves % COMPACT_EVERY === 0) await db.compactDatafileAsync();
      },
      saveSoon: (state) => {
        put(state).catch((error: Error) => process.emitWarning(error.message));
      },
      close: async () => undefined,
    };
  },
};
