// One file, replaced: temp beside it, sync, read back, backups, rename, sync of the directory.
//
// R1. At every moment, and after a crash at any of them, the path means one complete version. Once there, it stays.
// R2. Nothing is left beside it when it fails.

import { dirname, join } from 'node:path';
import { readFrom } from '../disk/files.js';
import { HoldfastError } from '../errors.js';
import { addName, isBackedUp, rotate } from '../projection/backups.js';
import { parse, sha256Of } from '../projection/serialize.js';
import { fileAt } from '../projection/target.js';
import type { FileDisk } from './disk.js';
import { AS_IT_WAS, fileFault } from './faults.js';
import { keepFolder } from './folders.js';
import { stageFile } from './stage.js';
import { removeTemp, tempName } from './temps.js';

export interface Replacement {
  /** A real path. */
  target: string;
  bytes: Buffer;
  mode: number;
  backups: number;
  durable: boolean;
  /** It must parse; and what does not parse does not become a backup. */
  isJson: boolean;
}

const IN_PLACE = 'The new content is in place, but a power cut may take it back.';

export function replaceFile(disk: FileDisk, replacement: Replacement): void {
  const { target, bytes, mode, durable, isJson } = replacement;
  const directory = dirname(target);
  const temp = join(directory, tempName());
  let state = AS_IT_WAS;
  try {
    const existing = fileAt(disk, target);
    stageFile(disk, { temp, target, bytes, existing, mode, durable });
    if (isJson) assertParses(bytes, target);
    if (existing !== null) keepBackup(disk, replacement);
    // Before the old content is gone from there: a folder of a moment ago may have no name on the medium yet.
    if (durable) keepFolder(disk, directory);
    disk.rename(temp, target);
    state = IN_PLACE;
    // The rename is durable only once its directory is synced.
    if (durable) disk.syncDirectory(directory);
  } catch (error) {
    removeTemp(disk, temp);
    throw fileFault(error, 'Writing', target, state);
  }
}

/** What was staged was read back and is the same: so these bytes are what readers will get. */
function assertParses(bytes: Buffer, target: string): void {
  const parsed = parse(bytes);
  if (parsed.kind === 'value') return;
  const message = `${target} was not written: its text does not parse as JSON (${parsed.reason}). Use another \`space\`.`;
  throw new HoldfastError('HF_VALUE', message);
}

/** Links the file to `.bak1`, or copies it where there are no links; the others move up. */
function keepBackup(disk: FileDisk, { target, backups: count, isJson, durable }: Replacement): void {
  if (count === 0) return;
  const identity = fileAt(disk, target);
  // An empty file is what a crash of somebody else leaves: it must not push out a good backup.
  if (identity === null || identity.size === 0) return;
  if (isJson && parse(readFrom(disk, target)).kind === 'unparseable') return;
  const directory = dirname(target);
  const paths = { main: target, directory, backup: (n: number) => `${target}.bak${n}` };
  const copy = join(directory, tempName());
  try {
    const main = { path: target, identity, sha256: '' };
    if (!addName(disk, target, copy)) {
      const bytes = readFrom(disk, target);
      // An earlier attempt came as far as this. Again and again it would fill all places with one version.
      if (isBackedUp(disk, paths, { ...main, sha256: sha256Of(bytes) })) return;
      stageFile(disk, { temp: copy, target, bytes, existing: identity, mode: identity.mode, durable });
    }
    rotate(disk, paths, main, { count, spare: copy, copy });
  } finally {
    removeTemp(disk, copy);
  }
}
