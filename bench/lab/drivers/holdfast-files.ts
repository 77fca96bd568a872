import { mkdir, open as openFile } from 'node:fs/promises';
import { join as pathOf } from 'node:path';
import type { Driver } from '../contract.js';
import type { LabState } from '../state.js';
import { join, type Parts, split } from './parts.js';

/** What is joined from a missing head is no version. */
const NO_HEAD: Parts['head'] = { n: -1, title: '' };

export const holdfastFiles: Driver = {
  id: 'holdfast-files',
  name: 'holdfast/file writeFiles',
  promised: 'durable',
  how: 'three files in two directories, all or none by one `await writeFiles`; `recover` of both first',
  async open(directory) {
    const file = await import('holdfast/file');
    const [heads, lists] = [pathOf(directory, 'heads'), pathOf(directory, 'lists')];
    const paths = {
      head: pathOf(heads, 'head.json'),
      even: pathOf(lists, 'even.json'),
      odd: pathOf(lists, 'odd.json'),
    };
    for (const one of [heads, lists]) await mkdir(one, { recursive: true });
    // Whoever makes a directory makes it durable: `writeFiles` answers for what is in it.
    await syncDirectory(directory);
    for (const one of [heads, lists]) await file.recover(one);
    const read = async <K extends keyof Parts>(part: K): Promise<Parts[K] | null> => {
      try {
        return (await file.readJson(paths[part])) as Parts[K];
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
        return null;
      }
    };
    const save = (state: LabState) => {
      const { head, even, odd } = split(state);
      return file.writeFiles([
        { path: paths.head, data: JSON.stringify(head) },
        { path: paths.even, data: JSON.stringify(even) },
        { path: paths.odd, data: JSON.stringify(odd) },
      ]);
    };
    return {
      load: async () => {
        const [head, even, odd] = [await read('head'), await read('even'), await read('odd')];
        if (head === null && even === null && odd === null) return null;
        return join({ head: head ?? NO_HEAD, even: even ?? { items: [] }, odd: odd ?? { items: [] } });
      },
      save,
      saveSoon: (state) => {
        save(state).catch((error: Error) => process.emitWarning(error.message));
      },
      close: async () => undefined,
    };
  },
};

async function syncDirectory(path: string): Promise<void> {
  const handle = await openFile(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
