// At open: each document's file against truth, and files that truth knows nothing of. Reads only; what to do about it is
// decided by the caller.

import type { PublicDisk } from '../disk/disk.js';
import { readFrom } from '../disk/files.js';
import type { Places } from '../journal/places.js';
import { BACKUPS_MAX, documentPaths } from './names.js';
import { type Edition, isOurs } from './record.js';
import { parse, sha256Of, type Text } from './serialize.js';
import { fileAt, judge, targetOf } from './target.js';

/** True for a value that this document may have: its schema, and an object or array at its root. */
export type Check = (value: unknown) => boolean;

export type Inspection =
  /** What truth says: byte for byte, or by the record of what was published at this version. */
  | { kind: 'sound' }
  | { kind: 'missing' }
  /** Ours, and behind truth (or ahead of it, after a salvage); or the same data in other clothes. */
  | { kind: 'stale'; path: string; sha256: string }
  | { kind: 'empty'; path: string; sha256: string }
  | { kind: 'unparseable'; path: string; sha256: string; reason: string }
  /** Somebody else's, and nothing that this document may be. */
  | { kind: 'refused'; path: string; sha256: string }
  /** Somebody else's, and it could be meant. */
  | { kind: 'drifted'; path: string; sha256: string; value: unknown };

export interface Inspected {
  name: string;
  /** The version that truth is at. */
  version: number;
  /** Truth, as it would be written. Asked only for a file that is not in the record. */
  expected: () => Text;
  /** What the record says we published last. */
  edition: Edition | undefined;
  check: Check;
}

export function inspect(disk: PublicDisk, places: Places, inspected: Inspected): Inspection {
  const { name, version, expected, edition, check } = inspected;
  const path = targetOf(disk, documentPaths(places.directory, name).main);
  if (fileAt(disk, path) === null) return { kind: 'missing' };
  const found = judge(disk, path, edition, expected);
  const { sha256 } = found;
  switch (found.kind) {
    case 'same':
      return { kind: 'sound' };
    case 'ours':
      // No more than a hint: a document that was removed and made again counts from 1 again. After every opening each
      // file is compared with truth itself, when its turn to be published comes.
      if (edition?.version === version && edition.sha256 === sha256) return { kind: 'sound' };
      return { kind: 'stale', path, sha256 };
    case 'reformatted':
      return { kind: 'stale', path, sha256 };
    case 'empty':
      return { kind: 'empty', path, sha256 };
    case 'unparseable':
      return { kind: 'unparseable', path, sha256, reason: found.reason };
    case 'foreign':
      if (!check(found.value)) return { kind: 'refused', path, sha256 };
      return { kind: 'drifted', path, sha256, value: found.value };
    default:
      return found satisfies never;
  }
}

export interface ImportedValue {
  path: string;
  sha256: string;
  value: unknown;
}

export type ImportCandidate =
  | { kind: 'absent' }
  /** The document was removed and we did not get to remove its file: not to be imported. */
  | { kind: 'leftover'; path: string }
  | ({ kind: 'value' } & ImportedValue)
  /** `backup`: the newest one that parses and passes. */
  | { kind: 'empty' | 'unparseable'; path: string; backup: ImportedValue | null };

/** For a document that truth does not know: what its file holds, if there is one. */
export function importCandidate(
  disk: PublicDisk,
  places: Places,
  { name, edition, check }: Pick<Inspected, 'name' | 'edition' | 'check'>,
): ImportCandidate {
  const paths = documentPaths(places.directory, name);
  const path = targetOf(disk, paths.main);
  if (fileAt(disk, path) === null) return { kind: 'absent' };
  const bytes = readFrom(disk, path);
  const sha256 = sha256Of(bytes);
  if (isOurs(edition, sha256)) return { kind: 'leftover', path };
  const parsed = parse(bytes);
  if (parsed.kind === 'value') return { kind: 'value', path, sha256, value: parsed.value };
  const backup = newestBackup(disk, paths.backup, check);
  return { kind: bytes.length === 0 ? 'empty' : 'unparseable', path, backup };
}

function newestBackup(disk: PublicDisk, pathOf: (n: number) => string, check: Check): ImportedValue | null {
  for (let n = 1; n <= BACKUPS_MAX; n++) {
    const path = pathOf(n);
    if (disk.entry(path)?.kind !== 'file') continue;
    const bytes = readFrom(disk, path);
    const parsed = parse(bytes);
    if (parsed.kind === 'value' && check(parsed.value)) return { path, sha256: sha256Of(bytes), value: parsed.value };
  }
  return null;
}
