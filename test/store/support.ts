// Stores on the real disk with real threads. The main thread's code runs from source, the workers from the build.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach } from 'vitest';
import { open } from '../../src/opening.js';
import type { StoreOptions } from '../../src/options.js';
import type { Store } from '../../src/store.js';

export const workersUrl = pathToFileURL(join(import.meta.dirname, '../../dist/workers/'));

const folders: string[] = [];
const stores: Store[] = [];

export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-store-'));
  folders.push(path);
  return path;
}

export async function openStore(directory: string, options: StoreOptions = {}): Promise<Store> {
  const store = await open(directory, { workersUrl, projectDelayMs: 20, audit: true, ...options });
  store.on('fault', (error) => faults.push(`${error.code}: ${error.message}`));
  stores.push(store);
  return store;
}

/** What any store reported since the test began. */
export const faults: string[] = [];

export function json(directory: string, name: string): unknown {
  return JSON.parse(readFileSync(join(directory, `${name}.json`), 'utf8'));
}

afterEach(async () => {
  for (const store of stores.splice(0))
    if (store.health().phase !== 'closed') await store.close().catch(() => undefined);
  for (const path of folders.splice(0)) rmSync(path, { recursive: true, force: true });
  faults.length = 0;
});
