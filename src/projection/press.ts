// What publishing into one store takes, is asked for, and comes to.

import type { PublicDisk } from '../disk/disk.js';
import type { EntrySource } from '../journal/entries.js';
import type { Places } from '../journal/places.js';
import type { KnownLines } from './known-lines.js';
import { documentPaths } from './names.js';
import { type Critical, RecordWriter } from './record-writer.js';
import type { Text } from './serialize.js';
import { type Identity, isSameFile, targetOf } from './target.js';

/** What publishing into one store takes. */
export interface Press {
  disk: PublicDisk;
  places: Places;
  record: RecordWriter;
  /** Files as we left them: whoever touches one changes its identity, and only then is it read. */
  known: Map<string, Known>;
  /** The JSON Lines of logs as we left them, and from where their entries are read on. */
  lines: Map<string, KnownLines>;
  sources: Map<string, EntrySource>;
  /** Folders whose names are known to be on the medium. */
  folders: Set<string>;
  /** This file system has no second names for a file: backups are copies. */
  hasNoLinks: boolean;
  critical: Critical;
}

/** With nothing known yet, and nobody else publishing. */
export function newPress(disk: PublicDisk, places: Places, storeId: Buffer): Press {
  return {
    disk,
    places,
    record: new RecordWriter(disk, places, storeId),
    known: new Map(),
    lines: new Map(),
    sources: new Map(),
    folders: new Set(),
    hasNoLinks: false,
    critical: (fn) => fn(),
  };
}

export interface Known {
  identity: Identity;
  sha256: string;
  /** The commit that last changed the document. */
  changedSeq: number;
}

export interface Plan {
  name: string;
  text: Text;
  version: number;
  seq: number;
  changedSeq: number;
  durableSeq: number;
  backups: number;
  /** Content that truth was taken from: a file with this SHA-256 may be replaced, and becomes a backup. */
  adopts?: string | undefined;
  /** 'replace': what is not ours goes to quarantine. @default 'refuse' */
  onDrift?: 'refuse' | 'replace' | undefined;
  /** False once somebody else has published a newer version of this document. Asked with nobody else publishing. */
  isNewest(): boolean;
}

export type Outcome =
  /** `kept`: where the file that had to give way was put. `found`: what was wrong with the lines of a log. */
  | { kind: 'published'; bytes: number; sha256: string; kept: string | null; found?: string }
  | { kind: 'unchanged'; sha256: string }
  | { kind: 'superseded' }
  | { kind: 'drift'; path: string; sha256: string | null };

/** True when the file still is as we left it and the document has not changed since: nothing needs to be serialized. */
export function isUpToDate({ disk, places, known }: Press, name: string, changedSeq: number): boolean {
  const last = known.get(name);
  if (last === undefined || last.changedSeq !== changedSeq) return false;
  return isSameFile(last.identity, disk.entry(targetOf(disk, documentPaths(places.directory, name).main)));
}
