// Holdfast where more happens than one commit after another: tails rotate and are compacted, schemas are raised.

import type { Driver } from '../contract.js';
import type { LabState } from '../state.js';
import { EMPTY, follow } from './holdfast.js';

interface Bulk {
  n: number;
  text: string;
}

/** A tail is rotated at 8 MiB, and tails are compacted from 4 MiB on: every few saves, and nearly every opening. */
const BULK_CHARACTERS = 3_000_000;

export const holdfastCompacting: Driver = {
  id: 'holdfast-compacting',
  name: 'holdfast, compacting',
  promised: 'durable',
  savesAtExit: true,
  detectsRot: true,
  how: 'each save also replaces a document of 3 MB, in one `store.transaction`; then `await store.flush()`',
  async open(directory) {
    const { open } = await import('holdfast');
    // Without a limit the JSON files are written as often as they can be: more to be cut off from.
    const store = await open(directory, { projectDelayMs: 20, projectBytesPerSecMax: 1024 ** 3 });
    const doc = await store.doc<LabState>('state', { initial: EMPTY });
    const bulk = await store.doc<Bulk>('bulk', { initial: bulkOf(0) });
    const change = (state: LabState) =>
      store.transaction(() => {
        doc.update((draft) => follow(draft, state));
        bulk.update((draft) => void Object.assign(draft, bulkOf(state.n)));
      });
    return {
      load: async () => {
        const { n, text } = bulk.state;
        const isWhole = n === doc.state.n && text === bulkOf(n).text;
        if (!isWhole) return { ...EMPTY, n: doc.state.n, title: `beside ${n} in bulk` };
        return n === 0 ? null : (structuredClone(doc.state) as LabState);
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

function bulkOf(n: number): Bulk {
  return { n, text: n === 0 ? '' : `${n} `.padEnd(BULK_CHARACTERS, `${n}/`) };
}

interface Versioned {
  schema: number;
  state: LabState;
}

export const holdfastMigrating: Driver = {
  id: 'holdfast-migrating',
  name: 'holdfast, migrating',
  promised: 'durable',
  savesAtExit: true,
  detectsRot: true,
  how: 'every opening raises `version` and migrates; `doc.update`, then `await store.flush()`',
  async open(directory) {
    const { open } = await import('holdfast');
    // Higher than at any opening before, and nothing has to be remembered for it.
    const version = Date.now();
    const store = await open(directory);
    const doc = await store.doc<Versioned>('state', {
      initial: { schema: version, state: EMPTY },
      version,
      migrate: (old) => ({ schema: version, state: (old as Versioned).state }),
    });
    const change = (state: LabState) => doc.update((draft) => follow(draft.state, state));
    return {
      load: async () => {
        const { schema, state } = structuredClone(doc.state) as Versioned;
        if (schema !== version) return { ...EMPTY, n: state.n, title: `of schema ${schema}, not ${version}` };
        return state.n === 0 ? null : state;
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
