import type { Document, Store, StoreOptions } from 'holdfast';
import { type AgentState, agentState, finish, schema } from '../agent-state.js';
import type { Driver } from './contract.js';

interface Use {
  id: string;
  name: string;
  how: string;
  hasSchema?: boolean;
  options?: StoreOptions;
}

function holdfastDriver({ id, name, how, hasSchema = false, options = {} }: Use): Driver {
  const docIn = (store: Store, initial: AgentState): Promise<Document<AgentState>> =>
    hasSchema ? store.doc('loop', { schema, initial }) : store.doc<AgentState>('loop', { initial });
  return {
    id,
    name,
    awaited: 'durable',
    writes: 'changes',
    resumes: true,
    how,
    async begin(directory, initial) {
      const { HoldfastError, open } = await import('holdfast');
      const store = await open(directory, options);
      const doc = await docIn(store, initial);
      await store.flush({ projected: true });
      const change = (item: string, text: string) => doc.update((state) => finish(state, item, text));
      return {
        update: (item, text) => {
          try {
            change(item, text);
            return undefined;
          } catch (error) {
            if (!(error instanceof HoldfastError && error.code === 'HF_BACKPRESSURE')) throw error;
            return store.drained().then(() => change(item, text));
          }
        },
        step: (item, text) => {
          change(item, text);
          return doc.flush();
        },
        settle: () => store.flush(),
        rest: () => store.flush({ projected: true }),
        close: () => store.close(),
      };
    },
    async load(directory) {
      const { open } = await import('holdfast');
      const start = performance.now();
      const store = await open(directory, options);
      const openMs = performance.now() - start;
      const doc = await docIn(store, agentState(0, 0));
      return { items: doc.state.order.length, openMs };
    },
  };
}

export const holdfast = holdfastDriver({
  id: 'holdfast',
  name: 'holdfast',
  how: '`doc.update`; awaited: `await doc.flush()`',
});

export const holdfastZod = holdfastDriver({
  id: 'holdfast-zod',
  name: 'holdfast, zod schema',
  how: 'the same with a schema, checked at every update',
  hasSchema: true,
});

/** Only where delays are looked at: files are written all the time, which is worse than what anybody has. */
export const holdfastBusy = holdfastDriver({
  id: 'holdfast-busy',
  name: 'holdfast, files all the time',
  how: '`projectDelayMs: 100` and no limit on bytes: JSON files are written as often as they can be',
  hasSchema: true,
  options: { projectDelayMs: 100, projectBytesPerSecMax: 1e9 },
});

/** Only where bytes are counted, or a debounce is compared with another one: updates are held back. */
export const holdfastCoalescing = holdfastDriver({
  id: 'holdfast-coalescing',
  name: 'holdfast, coalesceMs 100',
  how: '`coalesceMs: 100`: updates within this time become one commit, a kill loses as much',
  options: { coalesceMs: 100 },
});
