// The state in three parts. Parts of different versions do not fit together: what is joined from them is no version.

import type { LabState } from '../state.js';

export interface Parts {
  head: { n: number; title: string };
  even: { items: LabState['items'] };
  odd: { items: LabState['items'] };
}

export function split({ n, title, items }: LabState): Parts {
  return {
    head: { n, title },
    even: { items: items.filter(({ id }) => id % 2 === 0) },
    odd: { items: items.filter(({ id }) => id % 2 === 1) },
  };
}

export function join({ head, even, odd }: Parts): LabState {
  const items = [...even.items, ...odd.items].sort((a, b) => a.id - b.id);
  return { n: head.n, title: head.title, items };
}
