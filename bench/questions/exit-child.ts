// 6, in a process of its own: something is pending, and it ends.

import { writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { open, openReadOnly } from 'holdfast';
import { say } from '../../src/cli/say.js';

export const WAYS = ['bare', 'holdfast', 'write-file-atomic'] as const;
export type ExitWay = (typeof WAYS)[number];

export interface ExitOrder {
  directory: string;
  way: ExitWay;
  bytes: number;
}

interface State {
  text: string;
}

const fileIn = (directory: string) => join(directory, 'state.json');

export async function leave({ directory, way, bytes }: ExitOrder): Promise<never> {
  const change = await PREPARE[way](directory);
  // Flat: building it is not what is measured.
  const text = Buffer.alloc(bytes, 'pending ').toString('latin1');
  if (bytes > 0) change(text);
  say(`leaving ${performance.timeOrigin + performance.now()}`);
  process.exit(0);
}

const PREPARE: Record<ExitWay, (directory: string) => Promise<(text: string) => void>> = {
  bare: async () => () => undefined,
  holdfast: async (directory) => {
    const store = await open(directory);
    const doc = await store.doc<State>('state', { initial: { text: '' } });
    await store.flush({ projected: true });
    return (text) => doc.update((state) => void (state.text = text));
  },
  'write-file-atomic': async (directory) => {
    const { sync } = await import('write-file-atomic');
    const state: State = { text: '' };
    writeFileSync(fileIn(directory), JSON.stringify(state));
    let isDirty = false;
    process.on('exit', () => {
      if (isDirty) sync(fileIn(directory), JSON.stringify(state));
    });
    return (text) => {
      state.text = text;
      isDirty = true;
    };
  },
};

/** How long the text is that is found afterwards. */
export async function foundAfter({ directory, way }: ExitOrder): Promise<number> {
  switch (way) {
    case 'bare':
      return 0;
    case 'holdfast': {
      const reader = await openReadOnly(directory);
      return (await reader.doc<State>('state')).state.text.length;
    }
    case 'write-file-atomic':
      return (JSON.parse(await readFile(fileIn(directory), 'utf8')) as State).text.length;
    default:
      return way satisfies never;
  }
}
