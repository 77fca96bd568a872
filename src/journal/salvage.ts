// What can still be read, document by document. A commit lost for one document does not hold back the others, and a
// base with a rotten spot still holds every document that the spot does not touch.
//
// S1. A document is taken from a base only when all of its frames are there, in their chain.
// S2. A commit is applied to a document only at the version it builds on, or when it brings the document whole.
// S3. Of a log every entry is taken that any readable frame or file holds; the gaps between them are lost for good.
// S4. What a schema accepted it may have accepted before something that is lost: every document is checked anew.
// S5. Void frames stay void: what was cut in an ordinary crash does not come back.

import { Misfit } from '../change/apply.js';
import type { Disk } from '../disk/disk.js';
import { type BaseContents, readBase } from './base.js';
import type { Frame, FrameHeader } from './frame.js';
import { KIND_COMMIT } from './layout.js';
import type { Places } from './places.js';
import { Replica } from './replica.js';
import { type Run, SalvagedLogs } from './salvaged-logs.js';
import { isVoid, readTail, type TailContents, type TruthFile } from './survey.js';

export interface Salvage {
  replica: Replica;
  /** The highest version of each document that any readable header names. */
  knownVersions: Map<string, number>;
  /** The highest sequence seen anywhere. */
  lastSeq: number;
  /** Entries that are in no file of their own yet. */
  runs: Run[];
}

export function salvage(disk: Disk, places: Places, files: readonly TruthFile[]): Salvage {
  const tails = files.filter(({ kind }) => kind === 'tail').map((file) => readTail(disk, file));
  const found: Salvage = { replica: new Replica(), knownVersions: new Map(), lastSeq: 0, runs: [] };
  const logs = new SalvagedLogs();
  for (const { frames, rotten } of tails) {
    for (const { frame } of frames) note(found, frame.header);
    for (const header of rotten) note(found, header);
  }
  const commits = commitsOf(tails);
  const bases = files.filter(({ kind }) => kind === 'base').map(({ path }) => readBase(disk, places, path));
  bases.sort((a, b) => a.seq - b.seq);
  let from = 0;
  for (const base of bases) {
    found.lastSeq = Math.max(found.lastSeq, base.seq);
    from = applyCommits(found.replica, logs, commits, from, base.seq);
    takeBase(found.replica, base);
    logs.takeBase(base.replica.logs);
  }
  applyCommits(found.replica, logs, commits, from, Number.POSITIVE_INFINITY);
  const storeId = files.find(({ header }) => header !== null)?.header?.storeId;
  found.runs = logs.conclude(disk, places, storeId, found.replica.logs);
  for (const [name, document] of found.replica.documents) {
    noteVersion(found, name, document.version);
    // S4.
    document.checkedBy = '';
  }
  for (const [key, { count }] of found.replica.logs) noteVersion(found, key, count);
  return found;
}

function note(found: Salvage, { seq, documents }: FrameHeader): void {
  found.lastSeq = Math.max(found.lastSeq, seq);
  for (const { name, version } of documents) noteVersion(found, name, version);
}

function noteVersion({ knownVersions }: Salvage, name: string, version: number): void {
  knownVersions.set(name, Math.max(knownVersions.get(name) ?? 0, version));
}

/** In order of sequence; of two with the same one, that of the newest tail. */
function commitsOf(tails: readonly TailContents[]): Frame[] {
  const bySeq = new Map<number, Frame>();
  for (const { file, frames } of tails) {
    for (const { frame } of frames) {
      const { kind, seq } = frame.header;
      if (kind === KIND_COMMIT && !isVoid(tails, seq, file.number)) bySeq.set(seq, frame);
    }
  }
  return [...bySeq.values()].sort((a, b) => a.header.seq - b.header.seq);
}

/** Applies commits from index `from` up to sequence `toSeq`; returns the index of the first one beyond. */
function applyCommits(
  replica: Replica,
  logs: SalvagedLogs,
  commits: readonly Frame[],
  from: number,
  toSeq: number,
): number {
  let at = from;
  for (let frame = commits[at]; frame !== undefined && frame.header.seq <= toSeq; frame = commits[++at]) {
    try {
      replica.applySalvageable(frame, (key, first, entries) => logs.take(key, first, entries));
    } catch (error) {
      // It does not fit: nothing of it can be saved, and what builds on it will not find its version.
      if (!(error instanceof Misfit)) throw error;
    }
  }
  return at;
}

function takeBase(replica: Replica, { replica: found, problem }: BaseContents): void {
  for (const [name, document] of found.documents) {
    if (document.version >= (replica.documents.get(name)?.version ?? 0)) replica.documents.set(name, document);
  }
  if (problem !== null) return;
  // A sound base is complete: what it does not hold was removed.
  for (const name of replica.documents.keys()) if (!found.documents.has(name)) replica.documents.delete(name);
}
