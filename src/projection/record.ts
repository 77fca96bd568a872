// What we published, so that our own file is told from somebody else's. One frame per entry (docs/format.md).
//
// R1. An entry is durable before the file it describes gets its name. So whatever a crash leaves, what lies there is in
//     the newest entry: as `sha256` (the rename was kept) or as `over` (it was not).
// R2. An entry that forgets an alternative is written only after the directory that decides between them was synced.
// R3. A writer only appends to a file that it made itself: its first entry rewrites the record under a new file. A
//     thread that is given up on may still write to its own, and spoils nothing.
//
// Losing entries loses no data. It makes us stricter: a file of ours that is behind truth is then taken for somebody
// else's, and a person has to choose. It makes us looser in one way only: when the newest entry is lost and an older one
// is not, that older version, put back by hand, is taken for ours and replaced, and becomes the first backup.

import { join } from 'node:path';
import type { Disk } from '../disk/disk.js';
import { withFile } from '../disk/files.js';
import { refuseVersion } from '../journal/file-header.js';
import { encodeFrame, type Frame } from '../journal/frame.js';
import { CODEC_JSON } from '../journal/layout.js';
import type { Places } from '../journal/places.js';
import { scan } from '../journal/scan.js';
import { parse } from './serialize.js';

/** On disk. Never renumber. */
const KIND_EDITION = 5;

/** One version of a document's file. */
export interface Edition {
  name: string;
  version: number;
  /** The commit whose state it holds. */
  seq: number;
  /** Up to here everything was durable. */
  durableSeq: number;
  sha256: string;
  size: number;
  /** What it replaces, as long as it is not certain that it did. */
  over: string | null;
  /** What the backups may hold, newest first. */
  older: readonly string[];
}

export interface PublishedRecord {
  editions: Map<string, Edition>;
  /** The highest durable sequence that any entry names. */
  durableSeq: number;
}

export function recordPath(places: Places): string {
  return join(places.hidden, 'projections');
}

export function isOurs(edition: Edition | undefined, sha256: string): boolean {
  return edition !== undefined && (edition.sha256 === sha256 || edition.over === sha256);
}

/** The newest edition of each document. Entries of another store, and what cannot be read, are passed over. */
export function readRecord(disk: Disk, places: Places, storeId: Buffer): PublishedRecord {
  const record: PublishedRecord = { editions: new Map(), durableSeq: 0 };
  const id = storeId.toString('hex');
  for (const { frame, entry } of entries(disk, places)) {
    if (entry.id !== id) continue;
    record.durableSeq = Math.max(record.durableSeq, frame.header.durableSeq);
    for (const { name, version } of frame.header.documents) {
      const { seq, durableSeq } = frame.header;
      const { sha256, size, over, older } = entry;
      if (sha256 === null) record.editions.delete(name);
      else record.editions.set(name, { name, version, seq, durableSeq, sha256, size, over, older });
    }
  }
  return record;
}

/**
 * Something was published at this sequence, so it was durable: a witness for the high-water mark of recovery. With a
 * store id, a record that belongs to another store says nothing.
 */
export function durableWitness(disk: Disk, places: Places, storeId?: Buffer): number {
  const id = storeId?.toString('hex');
  let witness = 0;
  for (const { frame, entry } of entries(disk, places)) {
    if (id === undefined || entry.id === id) witness = Math.max(witness, frame.header.durableSeq);
  }
  return witness;
}

export function encodeEdition(storeId: Buffer, edition: Edition): Buffer {
  const { name, version, seq, durableSeq, sha256, size, over, older } = edition;
  return encodeEntry(seq, durableSeq, [{ name, from: 0, version }], [idOf(storeId), sha256, size, over, older]);
}

/** The document has no file any more. */
export function encodeRemoval(storeId: Buffer, name: string, durableSeq: number): Buffer {
  return encodeEntry(durableSeq, durableSeq, [{ name, from: 0, version: 0 }], [idOf(storeId), null, 0, null, []]);
}

/** Says nothing of any document: the witness must survive when entries are dropped. */
export function encodeWitness(storeId: Buffer, durableSeq: number): Buffer {
  return encodeEntry(durableSeq, durableSeq, [], [idOf(storeId), null, 0, null, []]);
}

function idOf(storeId: Buffer): string {
  return storeId.toString('hex');
}

function encodeEntry(seq: number, durableSeq: number, documents: Frame['header']['documents'], list: unknown[]) {
  const header = { kind: KIND_EDITION, codec: CODEC_JSON, seq, timeMs: 0, prevCrc: 0, durableSeq, documents };
  return encodeFrame(header, Buffer.from(JSON.stringify(list)));
}

interface Entry {
  id: string;
  sha256: string | null;
  size: number;
  over: string | null;
  older: readonly string[];
}

function entries(disk: Disk, places: Places): { frame: Frame; entry: Entry }[] {
  const path = recordPath(places);
  if (disk.entry(path) === null) return [];
  return withFile(disk, path, (handle) => {
    const found: { frame: Frame; entry: Entry }[] = [];
    for (const part of scan(disk, handle, 0)) {
      // A torn end or a rotten spot: what is lost by it is said at the top.
      if (part.kind === 'bad') continue;
      const { kind, codec } = part.frame.header;
      if (kind !== KIND_EDITION || codec !== CODEC_JSON) refuseVersion(path, `a frame of kind ${kind}, codec ${codec}`);
      found.push({ frame: part.frame, entry: decodeEntry(part.frame, path) });
    }
    return found;
  });
}

function decodeEntry({ payload }: Frame, path: string): Entry {
  // The checksum held, so what does not fit was written so: by a later version.
  const parsed = parse(payload);
  const list = parsed.kind === 'value' ? parsed.value : null;
  if (!Array.isArray(list) || list.length !== 5) refuseVersion(path, 'an entry of another shape');
  const [id, sha256, size, over, older] = list as [string, string | null, number, string | null, string[]];
  return { id, sha256, size, over, older };
}
