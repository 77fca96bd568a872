// What there is to say of each document's file, for whoever looks at the store as a whole. Reads only, and whatever cannot
// be read has a status too: it hides nothing else.

import type { PublicDisk } from '../disk/disk.js';
import { codeOf } from '../disk/faults.js';
import { readFrom } from '../disk/files.js';
import type { Ground } from '../ground.js';
import { documentNameOf, jsonFiles } from './json-files.js';
import type { Edition } from './record.js';
import { parse, type Text } from './serialize.js';
import { fileAt, judgeLive, targetOf } from './target.js';

export type FileStatus = 'sound' | 'drifted' | 'damaged' | 'unmanaged';

export interface DocumentStatus {
  /** With a '*' at its end for a folder that cannot be listed. */
  name: string;
  /**
   * 'drifted': its file was changed by somebody else, as far as it was looked at: that is once after the store was opened, and
   * whenever it is about to be written. 'damaged': the file cannot be read, or is not JSON. 'unmanaged': a file that the
   * store does not know.
   */
  status: FileStatus;
  /** 0 for a file that the store does not know. */
  version: number;
  path: string;
}

export interface Expectation {
  /** From the record; `isAgain`: read anew. */
  edition: (isAgain: boolean) => Edition | undefined;
  expected: () => Text;
  /** SHA-256 of the file that the state was taken from. */
  adopted: string | undefined;
}

/** Of a document that is saved. A file that is missing, cut or behind is about to be written: that is no trouble. */
export function statusOf(disk: PublicDisk, path: string, { edition, expected, adopted }: Expectation): FileStatus {
  return readable(() => {
    const target = targetOf(disk, path);
    if (fileAt(disk, target) === null) return 'sound';
    const found = judgeLive(disk, target, edition, expected);
    return found.kind === 'foreign' && found.sha256 !== adopted ? 'drifted' : 'sound';
  });
}

export function* unmanagedFiles(ground: Ground, directory: string, known: ReadonlySet<string>) {
  for (const { path, kind } of jsonFiles(ground, directory)) {
    const name = documentNameOf(directory, path);
    if (known.has(name)) continue;
    const status = kind === 'folder' ? 'damaged' : readable(() => statusOfUnmanaged(ground.disk, path));
    yield { name, status, version: 0, path } satisfies DocumentStatus;
  }
}

function statusOfUnmanaged(disk: PublicDisk, path: string): FileStatus {
  const target = targetOf(disk, path);
  // A pipe behind a link would never end.
  if (fileAt(disk, target) === null) return 'damaged';
  return parse(readFrom(disk, target)).kind === 'value' ? 'unmanaged' : 'damaged';
}

/** What the file system says no to, or a link to nowhere, is damaged. */
function readable(look: () => FileStatus): FileStatus {
  try {
    return look();
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return 'damaged';
  }
}
