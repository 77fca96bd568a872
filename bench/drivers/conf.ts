import { type AgentState, finish } from '../agent-state.js';
import type { Driver } from './contract.js';

async function config(directory: string) {
  const { default: Conf } = await import('conf');
  return new Conf<AgentState>({ cwd: directory });
}

export const conf: Driver = {
  id: 'conf',
  name: 'conf',
  package: 'conf',
  awaited: 'synced',
  writes: 'everything',
  how: '`config.store = state`, the cheapest of its ways here: one write, and one read of the file before',
  async begin(directory, initial) {
    const kept = await config(directory);
    kept.store = initial;
    const step = async (id: string, text: string) => {
      finish(initial, id, text);
      kept.store = initial;
    };
    return { update: step, step, settle: async () => undefined, close: async () => undefined };
  },
  async load(directory) {
    return { items: (await config(directory)).store.order.length };
  },
};
