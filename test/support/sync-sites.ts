// Every call in the source that syncs, to be held against the list of what each of them is there for.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const SOURCE = join(import.meta.dirname, '../../src');

/** `file syncData`, by file, for all files in a folder of the source but those that are left out. */
export function syncSites(folder: string, leftOut?: RegExp): string[] {
  const found: string[] = [];
  for (const file of readdirSync(join(SOURCE, folder), { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts') || leftOut?.test(file)) continue;
    for (const line of readFileSync(join(SOURCE, folder, file), 'utf8').split('\n')) {
      const call = /disk\.(sync|syncData|syncDirectory)\(/.exec(line);
      if (call !== null) found.push(`${file} ${call[1]}`);
    }
  }
  return found.sort();
}
