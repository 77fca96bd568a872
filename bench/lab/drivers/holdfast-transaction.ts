import type { Driver } from '../contract.js';
import type { LabState } from '../state.js';
import { followItems } from './holdfast.js';
import { join, type Parts, split } from './parts.js';

export const holdfastTransaction: Driver = {
  id: 'holdfast-transaction',
  name: 'holdfast transaction',
  promised: 'durable',
  savesAtExit: true,
  detectsRot: true,
  how: 'three documents changed in one `store.transaction`, then `await store.flush()`',
  async open(directory) {
    const { open } = await import('holdfast');
    const store = await open(directory);
    const head = await store.doc<Parts['head']>('head', { initial: { n: 0, title: '' } });
    const even = await store.doc<Parts['even']>('even', { initial: { items: [] } });
    const odd = await store.doc<Parts['odd']>('odd', { initial: { items: [] } });
    const change = (state: LabState) => {
      const parts = split(state);
      store.transaction(() => {
        head.update((draft) => void Object.assign(draft, parts.head));
        even.update((draft) => followItems(draft.items, parts.even.items));
        odd.update((draft) => followItems(draft.items, parts.odd.items));
      });
    };
    return {
      load: async () => {
        const joined = join(structuredClone({ head: head.state, even: even.state, odd: odd.state }) as Parts);
        return joined.n === 0 && joined.items.length === 0 ? null : joined;
      },
      save: async (state) => {
        change(state);
        await store.flush();
      },
      saveSoon: change,
      close: () => store.close(),
    };
  },
};
