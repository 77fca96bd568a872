// Loops on the real disk. The main thread's code runs from source, the workers from the build.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach } from 'vitest';
import { LoopState, type LoopStateOptions } from '../../src/loop/index.js';
import { folder, workersUrl } from '../store/support.js';

export { folder, workersUrl };

export const fast = { workersUrl, projectDelayMs: 20, retryDelayMs: 5 };

const opened: LoopState[] = [];

afterEach(async () => {
  for (const state of opened.splice(0)) await state.close();
});

export function statePath(): string {
  return join(folder(), 'state.json');
}

export async function create(path: string, options: LoopStateOptions = {}): Promise<LoopState> {
  const state = await LoopState.create(path, { workersUrl, projectDelayMs: 20, ...options });
  opened.push(state);
  return state;
}

export function read(path: string): Record<string, unknown> {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
}

/** As the project that the file comes from writes it. */
export function asOriginal(state: object): string {
  return `${JSON.stringify(state, null, 2)}\n`;
}

export async function collect<T>(items: AsyncIterable<T> | Iterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
