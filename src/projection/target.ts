// Whose file is it? What lies where a document's file belongs, by its content: the same question at open and before
// every rename.

import type { Details, Disk, PublicDisk } from '../disk/disk.js';
import { isCode } from '../disk/faults.js';
import { readFrom } from '../disk/files.js';
import { HoldfastError } from '../errors.js';
import { type Edition, isOurs } from './record.js';
import { isWrittenAs, parse, sha256Of, sha256OfFile, type Text } from './serialize.js';

/** Equal for a file that nobody has touched. */
export type Identity = Pick<Details, 'ino' | 'size' | 'mtimeMs'>;

export function isSameFile(a: Identity | null, b: Identity | null): boolean {
  if (a === null || b === null) return a === b;
  return a.ino === b.ino && a.size === b.size && a.mtimeMs === b.mtimeMs;
}

/**
 * The file that a document's path means. A symbolic link stays one: what it points to is replaced. One that points to
 * nothing is refused: a file in its place would cut the connection that somebody made.
 */
export function targetOf(disk: PublicDisk, path: string): string {
  if (disk.entry(path)?.kind !== 'link') return path;
  try {
    return disk.realPath(path);
  } catch (error) {
    if (!isCode(error, 'ENOENT')) throw error;
    throw new HoldfastError(
      'HF_IO',
      `${path} is a symbolic link to a file that does not exist. Make that file or remove the link.`,
      { cause: error },
    );
  }
}

/** Null when nothing is there. A folder, a device or a pipe is never read, and never taken for an empty file. */
export function fileAt(disk: PublicDisk, path: string): Details | null {
  const entry = disk.entry(path);
  if (entry === null || entry.kind === 'file') return entry;
  const code = entry.kind === 'directory' ? 'EISDIR' : 'EINVAL';
  throw Object.assign(new Error(`${code}: not a file but a ${entry.kind}, read '${path}'`), { code, path });
}

export type Judgement =
  /** The last one we published, or the one we were about to. */
  | { kind: 'ours'; sha256: string }
  /** Not in the record, and byte for byte what it should be. */
  | { kind: 'same'; sha256: string }
  /** The same data, written by somebody else. */
  | { kind: 'reformatted'; sha256: string }
  | { kind: 'empty'; sha256: string; bytes: Buffer }
  | { kind: 'unparseable'; sha256: string; bytes: Buffer; reason: string }
  | { kind: 'foreign'; sha256: string; bytes: Buffer; value: unknown };

/** Mostly it is ours: then neither the file nor what it should be (`expected`) has to be in memory as a whole. */
export function judge(disk: Disk, path: string, edition: Edition | undefined, expected: () => Text): Judgement {
  const seen = sha256OfFile(disk, path);
  if (isOurs(edition, seen)) return { kind: 'ours', sha256: seen };
  // Somebody may be writing to it: what follows is about the bytes that are judged.
  const bytes = readFrom(disk, path);
  const sha256 = sha256Of(bytes);
  if (isOurs(edition, sha256)) return { kind: 'ours', sha256 };
  if (bytes.length === 0) return { kind: 'empty', sha256, bytes };
  const text = expected();
  if (sha256 === text.sha256) return { kind: 'same', sha256 };
  const parsed = parse(bytes);
  if (parsed.kind === 'unparseable') return { kind: 'unparseable', sha256, bytes, reason: parsed.reason };
  const { value } = parsed;
  return isWrittenAs(value, text) ? { kind: 'reformatted', sha256 } : { kind: 'foreign', sha256, bytes, value };
}

/** Each takes a publication of this document between two reads. */
const LOOKS_MAX = 5;

/**
 * As `judge`, while the snapshot thread may publish: what it publishes between the looks at the record and at the file
 * would pass for somebody else's. `edition` is asked again then, and reads the record anew.
 */
export function judgeLive(
  disk: Disk,
  path: string,
  edition: (isAgain: boolean) => Edition | undefined,
  expected: () => Text,
): Judgement {
  let known = edition(false);
  for (let look = 1; ; look++) {
    const found = judge(disk, path, known, expected);
    if (found.kind !== 'foreign') return found;
    const { sha256 } = found;
    const fresh = edition(true);
    if (fresh?.seq === known?.seq && fresh?.sha256 === known?.sha256) return found;
    // We only publish over a file of ours: where that goes on and on nobody else was at it.
    if (look === LOOKS_MAX) return { kind: 'ours', sha256 };
    known = fresh;
  }
}

const KEPT_NAME_MAX = 48;

/** A name in quarantine for the file of a document, however long and deep the document's own name is. */
export function keptName(name: string): string {
  const last = name.slice(name.lastIndexOf('/') + 1);
  return `${[...last].slice(0, KEPT_NAME_MAX).join('')}.json`;
}
