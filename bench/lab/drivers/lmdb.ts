import type { Driver } from '../contract.js';
import type { LabState } from '../state.js';

export const lmdb: Driver = {
  id: 'lmdb',
  name: 'lmdb',
  package: 'lmdb',
  promised: 'durable',
  how: "`await db.put('state', state)`, then `await db.flushed`: 'fully flushed to disk and is durable'; `safeRestore`",
  async open(directory) {
    const { open } = await import('lmdb');
    // It tells a power cut from a kill by the machine's boot id. Here the disk loses its power and the machine does not, so it
    // has to be told.
    const options = { path: directory, safeRestore: true };
    const db = open<LabState, string>(options);
    return {
      load: async () => db.get('state') ?? null,
      save: async (state) => {
        await db.put('state', state);
        await db.flushed;
      },
      saveSoon: (state) => {
        db.put('state', state).catch((error: Error) => process.emitWarning(error.message));
      },
      close: () => db.close(),
    };
  },
};
