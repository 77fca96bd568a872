import type { Driver } from '../contract.js';
import type { LabState } from '../state.js';

interface Data {
  state?: LabState;
}

export const conf: Driver = {
  id: 'conf',
  name: 'conf',
  package: 'conf',
  promised: 'atomic',
  how: "`config.set('state', state)`; 'written to disk atomically', by atomically's writeFileSync: fsync and rename",
  async open(directory) {
    const { default: Conf } = await import('conf');
    const config = new Conf<Data>({ cwd: directory });
    const save = (state: LabState) => config.set('state', state);
    return {
      load: async () => config.get('state') ?? null,
      save: async (state) => save(state),
      saveSoon: save,
      close: async () => undefined,
    };
  },
};
