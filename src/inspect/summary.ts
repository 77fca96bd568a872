// What there is, at a glance: the documents and their files, how far the history goes, and who has the store open.

import { basename } from 'node:path';
import { readFrom } from '../disk/files.js';
import { type Holder, holderOf } from '../disk/lock.js';
import { readingDisk } from '../disk/reading-disk.js';
import { HoldfastError } from '../errors.js';
import type { DamageReport } from '../journal/damage.js';
import { isLogKey, logNameOf } from '../journal/log-key.js';
import { commitTime } from '../journal/newest-first.js';
import type { Places } from '../journal/places.js';
import { StoreReader } from '../journal/reader.js';
import { survey } from '../journal/survey.js';
import { BACKUPS_MAX, documentPaths, linesPath } from '../projection/names.js';
import { type Edition, isOurs } from '../projection/record.js';
import { sha256Of } from '../projection/serialize.js';
import { editionsOf } from './editions.js';
import { placesOf } from './home.js';

/**
 * `behind`: ours, of an earlier version. `ahead`: ours, of a later version than can be read of a damaged store. `changed`: by
 * somebody else, or damaged.
 */
export type FileState = 'current' | 'behind' | 'ahead' | 'missing' | 'changed';

export interface DocumentSummary {
  name: string;
  version: number;
  path: string;
  file: FileState;
  /** Of the JSON file; 0 without one. */
  bytes: number;
  /** Newest first: `loop.json.bak1` and so on. */
  backups: { path: string; bytes: number; time: Date }[];
}

export interface Generation {
  file: string;
  kind: 'base' | 'tail';
  /** The commit whose state a base holds; the commit before the first one of a tail. */
  seq: number | null;
  bytes: number;
}

export interface Summary {
  directory: string;
  owner: Holder;
  /** `open` refuses a damaged one; its report says what can be saved. */
  health: { kind: 'sound' } | { kind: 'damaged'; report: DamageReport };
  documents: DocumentSummary[];
  logs: { name: string; entries: number; path: string }[];
  /** The newest commit; null where there is none, or where damage hides when it was. */
  last: { seq: number; time: Date } | null;
  /** Up to here a power cut takes nothing away. */
  durableSeq: number;
  /** Oldest first. A damaged header has no sequence. */
  generations: Generation[];
  /** Things that were cut off or replaced, and are kept. */
  quarantine: string[];
}

/** Builds the state as `open` does, but takes no lock and writes nothing. */
export async function inspect(path: string): Promise<Summary> {
  const places = placesOf(path);
  const reader = new StoreReader(places);
  const health = await readHealth(reader);
  const isSound = health.kind === 'sound';
  // Of a damaged store, what a salvage would keep.
  const kept = isSound
    ? [...reader.documents].map(([name, { version }]) => ({ name, version }))
    : health.report.documents.map(({ name, savedVersion: version }) => ({ name, version }));
  const documents = kept.filter(({ name }) => !isLogKey(name));
  const logs = isSound
    ? [...reader.logs].map(([name, { count }]) => ({ name, version: count }))
    : kept.filter(({ name }) => isLogKey(name));
  let editions = editionsOf(places);
  const lastSeq = isSound ? reader.lastSeq : health.report.soundSeq;
  const time = commitTime(readingDisk, places, lastSeq);
  return {
    directory: places.directory,
    owner: await holderOf(places.hidden),
    health,
    documents: documents
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map(({ name, version }) => {
        const found = documentSummary(places, name, version, editions.get(name), isSound);
        if (found.file !== 'changed') return found;
        // Published since the record was read, perhaps.
        editions = editionsOf(places);
        return documentSummary(places, name, version, editions.get(name), isSound);
      }),
    logs: logs.map(({ name: key, version: entries }) => ({
      name: logNameOf(key),
      entries,
      path: linesPath(places.directory, logNameOf(key)),
    })),
    last: time === null ? null : { seq: lastSeq, time: new Date(time) },
    durableSeq: isSound ? reader.durableSeq : lastSeq,
    generations: generationsOf(places),
    quarantine: readingDisk.entry(places.quarantine) === null ? [] : readingDisk.list(places.quarantine).sort(),
  };
}

async function readHealth(reader: StoreReader): Promise<Summary['health']> {
  try {
    await reader.read();
    return { kind: 'sound' };
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== 'HF_DAMAGED') throw error;
    return { kind: 'damaged', report: error.details as DamageReport };
  }
}

function documentSummary(
  places: Places,
  name: string,
  version: number,
  edition: Edition | undefined,
  isSound: boolean,
): DocumentSummary {
  const paths = documentPaths(places.directory, name);
  const backups: DocumentSummary['backups'] = [];
  for (let n = 1; n <= BACKUPS_MAX; n++) {
    const entry = readingDisk.entry(paths.backup(n));
    if (entry !== null) backups.push({ path: paths.backup(n), bytes: entry.size, time: new Date(entry.mtimeMs) });
  }
  const bytes = readingDisk.entry(paths.main)?.size ?? 0;
  return { name, version, path: paths.main, file: fileState(paths.main, version, edition, isSound), bytes, backups };
}

function fileState(path: string, version: number, edition: Edition | undefined, isSound: boolean): FileState {
  const entry = readingDisk.entry(path);
  if (entry === null) return 'missing';
  if (entry.kind === 'directory' || entry.kind === 'other') return 'changed';
  if (!isOurs(edition, sha256Of(readFrom(readingDisk, path)))) return 'changed';
  const published = edition?.version ?? 0;
  // A running writer is ahead of what was read of it a moment ago; that is nothing to speak of.
  if (published > version && !isSound) return 'ahead';
  return published < version ? 'behind' : 'current';
}

function generationsOf(places: Places): Generation[] {
  return survey(readingDisk, places).map(({ path, kind, header }) => ({
    file: basename(path),
    kind,
    seq: header?.prevSeq ?? null,
    bytes: readingDisk.entry(path)?.size ?? 0,
  }));
}
