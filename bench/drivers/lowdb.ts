import { join } from 'node:path';
import { type AgentState, agentState, finish } from '../agent-state.js';
import type { Driver } from './contract.js';

async function database(directory: string, initial: AgentState) {
  const [{ Low }, { JSONFile }] = [await import('lowdb'), await import('lowdb/node')];
  return new Low(new JSONFile<AgentState>(join(directory, 'db.json')), initial);
}

export const lowdb: Driver = {
  id: 'lowdb',
  name: 'lowdb',
  package: 'lowdb',
  awaited: 'written',
  writes: 'everything',
  how: '`await db.update(…)` with JSONFile; a rename without fsync',
  async begin(directory, initial) {
    const db = await database(directory, initial);
    await db.write();
    const step = (id: string, text: string) => db.update((state) => finish(state, id, text));
    return { update: step, step, settle: async () => undefined, close: async () => undefined };
  },
  async load(directory) {
    const db = await database(directory, agentState(0, 0));
    await db.read();
    return { items: db.data.order.length };
  },
};
