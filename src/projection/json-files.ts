// The JSON files in the directory of a store, whoever wrote them.

import { join, relative, sep } from 'node:path';
import type { Entry } from '../disk/disk.js';
import { codeOf } from '../disk/faults.js';
import type { Ground } from '../ground.js';
import { isHiddenName } from '../journal/places.js';

export interface JsonFile {
  path: string;
  /** 'folder': one that cannot be listed. Its path ends in `*.json`, and stands for all inside. */
  kind: 'file' | 'link' | 'folder';
}

export function* jsonFiles(ground: Pick<Ground, 'entries'>, directory: string): Generator<JsonFile> {
  for (const { name, kind } of entriesOf(ground, directory)) {
    const path = join(directory, name);
    if (kind === 'directory') {
      if (!isHiddenName(name) && name !== 'node_modules') yield* jsonFiles(ground, path);
    } else if (kind === 'unlisted') yield { path, kind: 'folder' };
    else if (kind !== 'other' && name.endsWith('.json')) yield { path, kind };
  }
}

/** The name of the document whose file this would be. */
export function documentNameOf(directory: string, path: string): string {
  return relative(directory, path).split(sep).join('/').slice(0, -'.json'.length);
}

/** One folder that is closed to us (`lost+found`) must not hide all others. */
function entriesOf(
  ground: Pick<Ground, 'entries'>,
  folder: string,
): { name: string; kind: Entry['kind'] | 'unlisted' }[] {
  try {
    return ground.entries(folder);
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return [{ name: '*.json', kind: 'unlisted' }];
  }
}
