import { mkdir } from 'node:fs/promises';
import type { Driver } from '../contract.js';
import type { LabState } from '../state.js';

type Head = Pick<LabState, 'n' | 'title'>;
type Value = Head | LabState['items'][number];

const HEAD = 'head';
const ITEMS = { gte: 'item/', lt: 'item0' };
const itemKey = (id: number) => `item/${String(id).padStart(6, '0')}`;

export const classicLevel: Driver = {
  id: 'classic-level',
  name: 'classic-level',
  package: 'classic-level',
  promised: 'durable',
  how: "one entry per item; `await db.batch(operations, { sync: true })`: not complete 'until the data is actually on disk'",
  async open(directory) {
    const { ClassicLevel } = await import('classic-level');
    await mkdir(directory, { recursive: true });
    const db = new ClassicLevel<string, Value>(directory, { valueEncoding: 'json' });
    await db.open();
    let known = (await db.keys(ITEMS).all()).length;
    const save = async ({ n, title, items }: LabState) => {
      const gone = Array.from({ length: Math.max(0, known - items.length) }, (_, at) => itemKey(items.length + at));
      known = items.length;
      const put = (key: string, value: Value) => ({ type: 'put', key, value }) as const;
      const del = (key: string) => ({ type: 'del', key }) as const;
      const puts = items.map((item) => put(itemKey(item.id), item));
      await db.batch([put(HEAD, { n, title }), ...puts, ...gone.map(del)], { sync: true });
    };
    return {
      load: async () => {
        const head = (await db.get(HEAD)) as Head | undefined;
        const items = (await db.values(ITEMS).all()) as LabState['items'];
        if (head === undefined) return items.length === 0 ? null : { n: -1, title: '', items };
        return { ...head, items };
      },
      save,
      saveSoon: (state) => {
        save(state).catch((error: Error) => process.emitWarning(error.message));
      },
      close: () => db.close(),
    };
  },
};
