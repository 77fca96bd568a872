// The versions before: `.bak1` is the newest of them.
//
// B1. The main file is never moved: its backup is a second name for it (or a copy), made before the new one comes.
// B2. Only a file that we published, or that was checked and adopted, becomes a backup.
// B3. At every moment, and after a crash at any of them, the backups are in order: none is newer than one before it.

import type { PublicDisk } from '../disk/disk.js';
import { hasNoLinks } from '../disk/faults.js';
import { readFrom } from '../disk/files.js';
import type { DocumentPaths } from './names.js';
import { sha256Of } from './serialize.js';
import { type Identity, isSameFile } from './target.js';

export interface Main {
  path: string;
  identity: Identity;
  sha256: string;
}

export interface Rotation {
  count: number;
  /** A name in the folder of the backups that nobody uses. */
  spare: string;
  /** A whole copy of the main file, for file systems without second names. */
  copy: string | null;
}

/**
 * Makes the main file the first backup; the others move up as far as the first gap. False when this file system has no
 * second names: then it takes a copy.
 */
export function rotate(disk: PublicDisk, paths: DocumentPaths, main: Main, { count, spare, copy }: Rotation): boolean {
  // An earlier attempt came as far as this. Again and again it would fill all places with one version.
  if (isSameFile(main.identity, disk.entry(paths.backup(1)))) return true;
  const present = Array.from({ length: count }, (_, index) => disk.entry(paths.backup(index + 1)) !== null);
  for (const n of planShift(present)) disk.rename(paths.backup(n), paths.backup(n + 1));
  if (copy !== null) {
    disk.rename(copy, paths.backup(1));
    return true;
  }
  if (!addName(disk, main.path, spare)) return false;
  // Not linked to its place at once: with only one place it is still taken, and no moment should be without it.
  disk.rename(spare, paths.backup(1));
  return true;
}

/** Which places move up by one, in order. Decides only. `present[0]` is the first place. */
export function planShift(present: readonly boolean[]): number[] {
  const gap = present.indexOf(false);
  const end = gap === -1 ? present.length : gap + 1;
  const moves: number[] = [];
  for (let n = end - 1; n >= 1; n--) moves.push(n);
  return moves;
}

/** False when this file system has no second names. */
export function addName(disk: PublicDisk, existing: string, path: string): boolean {
  try {
    disk.link(existing, path);
    return true;
  } catch (error) {
    if (!hasNoLinks(error)) throw error;
    return false;
  }
}

/** True when the first backup has the content of the main file, under whatever inode. */
export function isBackedUp(disk: PublicDisk, paths: DocumentPaths, { identity, sha256 }: Main): boolean {
  const first = disk.entry(paths.backup(1));
  if (first?.kind !== 'file' || first.size !== identity.size) return false;
  return sha256Of(readFrom(disk, paths.backup(1))) === sha256;
}
