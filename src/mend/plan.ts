// What is wrong with a store and what `repair` would do about it. Decides only: nothing is written, nothing is locked.

import { isContainer } from '../change/plain.js';
import { holderOf } from '../disk/lock.js';
import { readingDisk } from '../disk/reading-disk.js';
import { type Found, look } from '../inspect/look.js';
import type { DamagedDocument, DamageReport } from '../journal/damage.js';
import { isLogKey, logNameOf } from '../journal/log-key.js';
import { Places } from '../journal/places.js';
import type { Replica, ReplicaDocument } from '../journal/replica.js';
import { inspect } from '../projection/inspect.js';
import { documentPaths, linesPath } from '../projection/names.js';
import { type Edition, readRecord } from '../projection/record.js';
import { serialize } from '../projection/serialize.js';
import { fileAt, targetOf } from '../projection/target.js';
import { homeOf } from './home.js';
import { type Unreadable, unreadableFiles } from './unreadable.js';

/** Of the journal: set aside at the next opening, by anybody, and nothing is lost by it. */
export type Leftover =
  /** What follows was never acknowledged: an ordinary crash. */
  { kind: 'cut'; file: string; offset: number } | { kind: 'base-damaged' | 'fenced'; file: string };

/** Of the JSON files, and the JSON Lines of logs. */
export type FileTrouble =
  /** Written anew from what is saved. `refused`: it holds something that no document can be. */
  | { kind: 'missing' | 'empty' | 'unparseable' | 'refused'; name: string; path: string }
  /** What was published last, and more than can be kept of the document: a person has to choose. */
  | { kind: 'ahead'; name: string; path: string; version: number }
  /** Somebody changed it, and may have meant it: a person has to choose. */
  | { kind: 'drifted'; name: string; path: string }
  | Unreadable;

export interface Kept {
  name: string;
  kind: 'document' | 'log';
  /** Of a log, so many entries. 0 when nothing can be kept. */
  version: number;
  knownVersion: number;
  /** Of a log: entries in between that no file has any more. */
  lostEntries: number;
}

export interface RepairPlan {
  directory: string;
  /** Null when everything that was saved is whole. */
  damage: DamageReport | null;
  /** With damage: everything that was ever seen, and how much of it would be kept. */
  keeps: Kept[];
  leftovers: Leftover[];
  files: FileTrouble[];
}

/** Reads only, also beside a running writer. */
export async function planRepair(path: string): Promise<RepairPlan> {
  const home = homeOf(path);
  const found = await look(home);
  const places = new Places(home);
  const replica = found.kind === 'sound' ? found.replica : found.salvaged;
  const isRunning = (await holderOf(places.hidden)).kind === 'held';
  return {
    directory: home,
    damage: found.kind === 'damaged' ? found.report : null,
    keeps: found.kind === 'damaged' ? found.report.documents.map((one) => keptOf(one, replica)) : [],
    leftovers: found.kind === 'sound' ? leftoversOf(found, isRunning) : [],
    files: [...fileTroubles(places, found, replica), ...unreadableFiles(places, new Set(replica.documents.keys()))],
  };
}

/** True when opening the store would find nothing to mend, and no file would have to be written anew. */
export function isWhole({ damage, leftovers, files }: RepairPlan): boolean {
  return damage === null && leftovers.length === 0 && files.length === 0;
}

function keptOf({ name: key, savedVersion, knownVersion }: DamagedDocument, { logs }: Replica): Kept {
  const lost = logs.get(key)?.lost ?? [];
  return {
    name: isLogKey(key) ? logNameOf(key) : key,
    kind: isLogKey(key) ? 'log' : 'document',
    version: savedVersion,
    knownVersion,
    lostEntries: lost.reduce((sum, { from, to }) => sum + to - from, 0),
  };
}

function leftoversOf({ cut, damagedBases, fenced }: Extract<Found, { kind: 'sound' }>, isRunning: boolean): Leftover[] {
  return [
    // At the end of a store that is being written to: a frame that was not whole yet when it was read.
    ...(cut === null || isRunning ? [] : [{ kind: 'cut' as const, file: cut.file.name, offset: cut.offset }]),
    ...damagedBases.map(({ name }) => ({ kind: 'base-damaged' as const, file: name })),
    ...fenced.map(({ name }) => ({ kind: 'fenced' as const, file: name })),
  ];
}

function* fileTroubles(places: Places, found: Found, { documents, logs }: Replica): Generator<FileTrouble> {
  const { editions } =
    found.storeId === null ? { editions: new Map<string, Edition>() } : readRecord(readingDisk, places, found.storeId);
  for (const [name, document] of documents) yield* documentTrouble(places, found, name, document, editions.get(name));
  for (const key of logs.keys()) {
    const path = linesPath(places.directory, logNameOf(key));
    const entry = fileAt(readingDisk, targetOf(readingDisk, path));
    if (entry === null || entry.size === 0)
      yield { kind: entry === null ? 'missing' : 'empty', name: logNameOf(key), path };
  }
}

function* documentTrouble(
  places: Places,
  { kind }: Found,
  name: string,
  { state, version, adopted }: ReplicaDocument,
  published: Edition | undefined,
): Generator<FileTrouble> {
  // A salvage puts the record aside: a file that is ahead of what can be kept must not be taken for an old one of ours.
  const edition = kind === 'damaged' ? undefined : published;
  const path = documentPaths(places.directory, name).main;
  const expected = () => serialize(state);
  const seen = inspect(readingDisk, places, { name, version, expected, edition, check: isContainer });
  if (seen.kind === 'sound' || seen.kind === 'stale') return;
  // The file that the state was taken from, before it could be written anew.
  if (seen.kind === 'drifted' && seen.sha256 === adopted) return;
  if (seen.kind === 'drifted' && seen.sha256 === published?.sha256)
    yield { kind: 'ahead', name, path, version: published.version };
  else yield { kind: seen.kind, name, path };
}
