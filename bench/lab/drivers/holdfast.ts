import type { Driver } from '../contract.js';
import type { LabState } from '../state.js';

export const EMPTY: LabState = { n: 0, title: '', items: [] };

export const holdfastStore: Driver = {
  id: 'holdfast',
  name: 'holdfast',
  promised: 'durable',
  savesAtExit: true,
  detectsRot: true,
  how: 'one document; `doc.update`, then `await store.flush()`',
  async open(directory) {
    const { open } = await import('holdfast');
    const store = await open(directory);
    const doc = await store.doc<LabState>('state', { initial: EMPTY }).catch(async (error: unknown) => {
      await store.close();
      throw error;
    });
    const change = (state: LabState) => doc.update((draft) => follow(draft, state));
    return {
      load: async () => (doc.state.n === 0 ? null : (structuredClone(doc.state) as LabState)),
      save: async (state) => {
        change(state);
        await store.flush();
      },
      saveSoon: change,
      close: () => store.close(),
    };
  },
};

/** As a program changes its state: what is new, and nothing else. */
export function follow(draft: LabState, { n, title, items }: LabState): void {
  draft.n = n;
  draft.title = title;
  followItems(draft.items, items);
}

export function followItems(draft: LabState['items'], items: LabState['items']): void {
  for (const [at, item] of items.entries()) {
    const known = draft[at];
    if (known === undefined) draft.push({ ...item });
    else if (known.text !== item.text) known.text = item.text;
  }
  if (draft.length > items.length) draft.length = items.length;
}
