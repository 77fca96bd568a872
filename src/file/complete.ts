// Carries out what an intent says: the same code right after the decision and in whatever process comes next.
//
// C1. Everything staged stays under its own name until the intent is gone for good. So it can be done again from any point.
// C2. A file is replaced only while it is what it was when the new one was staged. What somebody else wrote since then is
//     kept, the staged one is put beside it, and both are reported.

import { join, resolve } from 'node:path';
import { isCode } from '../disk/faults.js';
import { readFrom } from '../disk/files.js';
import { sha256Of } from '../projection/serialize.js';
import { fileAt, type Identity, isSameFile } from '../projection/target.js';
import type { FileDisk } from './disk.js';
import { type Content, type IntendedFile, type Intent, intentPath, pointerPath, readPointer } from './intent.js';
import { removeTemp, tempName } from './temps.js';

export interface Conflict {
  /** The file that somebody else changed. */
  path: string;
  /** Where the content is that was to replace it; null when that is gone. */
  kept: string | null;
}

/** `seen`: the files as they were at staging, if this is the process that looked. Saves reading them again. */
export function complete(
  disk: FileDisk,
  home: string,
  intent: Intent,
  seen?: Map<string, Identity | null>,
): Conflict[] {
  const conflicts: Conflict[] = [];
  for (const [index, file] of intent.files.entries()) {
    const directory = resolve(home, file.directory);
    const conflict = place(disk, directory, file, seen?.get(join(directory, file.name)), `${intent.id}-${index}`);
    if (conflict !== null) conflicts.push(conflict);
  }
  // All of them, before the intent may go: without it nobody would finish what a power cut takes back.
  for (const directory of directoriesOf(home, intent)) disk.syncDirectory(directory);
  dropIntent(disk, home, intent.id);
  return conflicts;
}

function dropIntent(disk: FileDisk, home: string, id: string): void {
  disk.unlink(intentPath(home, id));
  // Before anything staged may go, and before the caller hears of it: an intent that comes back would find what it speaks of
  // gone, and its files changed by whatever was written since.
  disk.syncDirectory(home);
}

export function directoriesOf(home: string, { files }: Intent): string[] {
  return [...new Set(files.map(({ directory }) => resolve(home, directory)))];
}

function place(
  disk: FileDisk,
  directory: string,
  file: IntendedFile,
  seen: Identity | null | undefined,
  tag: string,
): Conflict | null {
  const target = join(directory, file.name);
  const staged = join(directory, file.staged);
  const now = disk.entry(target);
  const source = disk.entry(staged);
  if (source !== null && now?.ino === source.ino) return null;
  const isUntouched = seen !== undefined && isSameFile(seen, now);
  if (!isUntouched && holds(disk, target, file)) return null;
  if (source !== null && (isUntouched || holds(disk, target, file.before))) {
    replace(disk, staged, target, directory);
    return null;
  }
  return { path: target, kept: source === null ? null : keep(disk, staged, directory, file.name, tag) };
}

/** By a second name: the first one stays, because a power cut may keep the end of a rename and lose its beginning (C1). */
function replace(disk: FileDisk, staged: string, target: string, directory: string): void {
  const spare = join(directory, tempName());
  try {
    disk.link(staged, spare);
    disk.rename(spare, target);
  } catch (error) {
    removeTemp(disk, spare);
    throw error;
  }
}

function holds(disk: FileDisk, path: string, content: Content | null): boolean {
  const entry = disk.entry(path);
  if (entry === null || content === null) return entry === null && content === null;
  if (entry.kind !== 'file' || entry.size !== content.size) return false;
  return sha256Of(readFrom(disk, path)) === content.sha256;
}

const NAME_BYTES_MAX = 255;

function keep(disk: FileDisk, staged: string, directory: string, name: string, tag: string): string {
  const long = `${name}.conflict-${tag}`;
  const kept = join(directory, Buffer.byteLength(long) <= NAME_BYTES_MAX ? long : `conflict-${tag}`);
  try {
    disk.link(staged, kept);
  } catch (error) {
    // Recovery was interrupted after it had come this far.
    if (!isCode(error, 'EEXIST')) throw error;
  }
  return kept;
}

/** Content and identity of what is to be replaced, on the medium as it is now. */
export function examine(disk: FileDisk, target: string): { before: Content | null; seen: Identity | null } {
  const seen = fileAt(disk, target);
  if (seen === null) return { before: null, seen };
  const handle = disk.open(target, 'read');
  try {
    // Whoever wrote it may not have synced it. If a power cut took that back, it would look as if somebody had changed it.
    disk.sync(handle);
  } finally {
    disk.close(handle);
  }
  const bytes = readFrom(disk, target);
  return { before: { size: bytes.length, sha256: sha256Of(bytes) }, seen };
}

/** Gives the directory free. The pointer goes last, and only if all else went: what is staged has no other witness. */
export function clear(disk: FileDisk, directory: string, id: string): void {
  const pointer = readPointer(disk, directory);
  if (pointer?.id !== id) return;
  for (const { staged } of pointer.files) removeIfThere(disk, join(directory, staged));
  removeIfThere(disk, pointerPath(directory));
}

function removeIfThere(disk: FileDisk, path: string): void {
  try {
    disk.unlink(path);
  } catch (error) {
    if (!isCode(error, 'ENOENT')) throw error;
  }
}
