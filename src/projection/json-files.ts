// The JSON files in the directory of a store, whoever wrote them.

import { join } from 'node:path';
import type { Ground } from '../ground.js';
import { isHiddenName } from '../journal/places.js';

export function* jsonFiles(ground: Pick<Ground, 'entries'>, directory: string): Generator<string> {
  for (const { name, kind } of ground.entries(directory)) {
    const path = join(directory, name);
    if (kind === 'directory') {
      if (!isHiddenName(name) && name !== 'node_modules') yield* jsonFiles(ground, path);
    } else if (kind === 'file' && name.endsWith('.json')) yield path;
  }
}
