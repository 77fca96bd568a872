import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Driver } from '../contract.js';
import type { LabState } from '../state.js';

interface Data {
  state: LabState | null;
}

export const lowdb: Driver = {
  id: 'lowdb',
  name: 'lowdb',
  package: 'lowdb',
  promised: 'atomic',
  how: "`await db.update(…)` with JSONFile; 'Safe atomic writes', by a rename without fsync",
  async open(directory) {
    const [{ Low }, { JSONFile }] = [await import('lowdb'), await import('lowdb/node')];
    await mkdir(directory, { recursive: true });
    // Not JSONFilePreset: with NODE_ENV=test that one writes no file.
    const db = new Low(new JSONFile<Data>(join(directory, 'db.json')), { state: null });
    await db.read();
    const save = (state: LabState) => db.update((data) => void (data.state = state));
    return {
      load: async () => db.data.state,
      save,
      saveSoon: (state) => {
        save(state).catch((error: Error) => process.emitWarning(error.message));
      },
      close: async () => undefined,
    };
  },
};
