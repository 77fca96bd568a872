// The files of a document that is no more. Only what we wrote goes; what somebody else made of it stays and is named.

import type { PublicDisk } from '../disk/disk.js';
import { writeFault } from '../disk/faults.js';
import { readFrom } from '../disk/files.js';
import { keepBytes } from '../journal/quarantine.js';
import { BACKUPS_MAX, documentPaths } from './names.js';
import type { Press } from './press.js';
import { isOurs } from './record.js';
import { sha256Of } from './serialize.js';
import { type Identity, isSameFile, keptName, targetOf } from './target.js';

export interface RemovalPlan {
  name: string;
  /** Keep the main file in quarantine: for a removal that is concluded from what is missing, not asked for. */
  isKept: boolean;
  isNewest(): boolean;
}

export type Removal =
  /** `left`: files that are not ours. `kept`: where the main file was put. */
  { kind: 'removed'; left: string[]; kept: string | null } | { kind: 'superseded' };

interface Doomed {
  path: string;
  identity: Identity;
}

export function removeDocument(press: Press, plan: RemovalPlan): Removal {
  const { main } = documentPaths(press.places.directory, plan.name);
  try {
    return remove(press, plan);
  } catch (error) {
    throw writeFault(error, 'Removing', main);
  }
}

function remove(press: Press, { name, isKept, isNewest }: RemovalPlan): Removal {
  const { disk, places, record, known, critical } = press;
  const paths = documentPaths(places.directory, name);
  const edition = record.get(name);
  const left: string[] = [];
  const doomed: Doomed[] = [];
  const consider = (path: string, isKnown: (sha256: string) => boolean) => {
    const found = look(disk, path);
    if (found === null) return;
    if (found.sha256 === null || !isKnown(found.sha256)) {
      left.push(path);
      return;
    }
    doomed.push({ path, identity: found.identity });
    // Of a link only the link goes: what it points to is outside of the store.
    if (found.target !== path) left.push(found.target);
  };
  let kept: string | null = null;
  consider(paths.main, (sha256) => isOurs(edition, sha256));
  if (isKept && doomed.length > 0) kept = keepBytes(disk, places, keptName(name), readFrom(disk, paths.main));
  const olderOnes = new Set(edition === undefined ? [] : [edition.sha256, edition.over, ...edition.older]);
  for (let n = 1; n <= BACKUPS_MAX; n++) consider(paths.backup(n), (sha256) => olderOnes.has(sha256));
  if (!critical(() => unlinkAll(disk, doomed, left, isNewest))) return { kind: 'superseded' };
  // Before the record forgets them: a file that comes back with nobody knowing it would be imported as a new document.
  if (doomed.length > 0) disk.syncDirectory(paths.directory);
  record.forget(name, critical);
  known.delete(name);
  return { kind: 'removed', left, kept };
}

/** Null when nothing is there; no checksum for what is no file. */
function look(disk: PublicDisk, path: string): { identity: Identity; target: string; sha256: string | null } | null {
  const identity = disk.entry(path);
  if (identity === null) return null;
  if (identity.kind !== 'file' && identity.kind !== 'link') return { identity, target: path, sha256: null };
  const target = targetOf(disk, path);
  return { identity, target, sha256: sha256Of(readFrom(disk, target)) };
}

function unlinkAll(disk: PublicDisk, doomed: readonly Doomed[], left: string[], isNewest: () => boolean): boolean {
  // Created anew meanwhile, and published: those files are its own.
  if (!isNewest()) return false;
  for (const { path, identity } of doomed) {
    if (isSameFile(identity, disk.entry(path))) disk.unlink(path);
    else left.push(path);
  }
  return true;
}
