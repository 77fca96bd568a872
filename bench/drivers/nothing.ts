// What the measuring loop itself costs: the change is made in memory, and nothing is saved.

import { finish } from '../agent-state.js';
import type { Driver } from './contract.js';

export const nothing: Driver = {
  id: 'nothing',
  name: 'nothing saved',
  awaited: null,
  writes: 'changes',
  how: 'the change is made in memory: what the measuring loop itself costs',
  async begin(_directory, initial) {
    const update = (id: string, text: string) => {
      finish(initial, id, text);
      return undefined;
    };
    const step = async (id: string, text: string) => finish(initial, id, text);
    return { update, step, settle: async () => undefined, close: async () => undefined };
  },
};
