// Stores with a known past, closed, and the ways in which DESIGN's table says that they are found.

import {
  closeSync,
  cpSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { Truth } from '../../src/truth.js';
import { folder, openStore } from '../store/support.js';

export interface Loop {
  current: string | null;
  done: Record<string, { output: string }>;
}

export const ITEMS = 12;

/** Documents `loop` (one commit per item) and `features/upload`, and the log `events`; every file written out. */
export async function makeStore(directory = join(folder(), '.agent')): Promise<string> {
  const store = await openStore(directory);
  const loop = await store.doc<Loop>('loop', { initial: { current: null, done: {} } });
  const upload = await store.doc('features/upload', { initial: { n: 0 } });
  const events = await store.log<{ item: number }>('events');
  for (let item = 1; item <= ITEMS; item++) {
    store.transaction(() => {
      loop.update((draft) => {
        draft.done[`item-${item}`] = { output: `found ${item}` };
      });
      events.append({ item });
    });
    if (item === 3) {
      upload.update((draft) => {
        draft.n = 1;
      });
    }
    await store.flush({ projected: item === 3 });
  }
  await store.close();
  return directory;
}

/** A copy that may be damaged. */
export function copyOf(directory: string): string {
  const copy = join(folder(), '.agent');
  cpSync(directory, copy, { recursive: true });
  return copy;
}

export function hidden(directory: string, name = ''): string {
  return join(directory, '.holdfast', name);
}

export function filesLike(directory: string, ending: string): string[] {
  return readdirSync(hidden(directory))
    .filter((name) => name.endsWith(ending))
    .sort()
    .map((name) => hidden(directory, name));
}

export function quarantined(directory: string): string[] {
  return readdirSync(hidden(directory, 'quarantine')).sort();
}

/** Everything that was saved of `loop` after about two thirds of the commits is unreadable. */
export function rotten(directory: string): string {
  const [tail = ''] = filesLike(directory, '.tail');
  flip(tail, Math.floor((readFileSync(tail).length * 2) / 3));
  return directory;
}

/** What a kill leaves while a frame is being written. */
export function torn(directory: string): string {
  const path = filesLike(directory, '.tail').at(-1) as string;
  writeFileSync(path, Buffer.concat([readFileSync(path), Buffer.from('half a frame')]));
  return directory;
}

/** Two bases, of which the newer one has rotted. */
export function withRottenBase(directory: string): string {
  for (let n = 0; n < 2; n++) {
    const truth = new Truth(directory);
    truth.doc('features/upload', { initial: { n: 0 } }).update((draft) => {
      draft.n = 10 + n;
    });
    truth.compact();
    truth.close();
  }
  const newest = filesLike(directory, '.base').at(-1) as string;
  flip(newest, readFileSync(newest).length - 100);
  return directory;
}

export function flip(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at] = (bytes[at] as number) ^ 0x10;
  const handle = openSync(path, 'r+');
  writeSync(handle, bytes);
  closeSync(handle);
}

/** A store in which nothing was ever saved. */
export function emptyFolder(): string {
  const directory = join(folder(), 'empty');
  mkdirSync(directory);
  return directory;
}

export function removeAll(...paths: string[]): void {
  for (const path of paths) rmSync(path, { recursive: true });
}

/** Every file below, with its content: what must be the same when nothing was done. */
export function contents(directory: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (entry.isFile())
      found[join(entry.parentPath, entry.name)] = readFileSync(join(entry.parentPath, entry.name), 'latin1');
  }
  return found;
}
