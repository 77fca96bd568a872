// The files that people see, against the record of what was published: JSON files and their backups by their SHA-256, JSON
// Lines by the CRC-32 of the part that was recorded. What the record does not vouch for is held against truth.
//
// A running store publishes while we look: what does not agree is looked at again, with a fresh record.

import { createHash } from 'node:crypto';
import type { Handle, PublicDisk } from '../disk/disk.js';
import { readAt, readFrom, withFileSteps } from '../disk/files.js';
import type { Finding, Pause } from '../journal/findings.js';
import { FrameStream } from '../journal/frame-stream.js';
import { crc32 } from '../journal/layout.js';
import { isLogKey, logNameOf } from '../journal/log-key.js';
import type { Places } from '../journal/places.js';
import type { ReplicaDocument } from '../journal/replica.js';
import { fromEdition } from './known-lines.js';
import { BACKUPS_MAX, documentPaths, linesPath } from './names.js';
import { type Edition, isOurs, readRecord, recordPath } from './record.js';
import { parse, serialize } from './serialize.js';
import { judge, targetOf } from './target.js';

export interface FilesStart {
  disk: PublicDisk;
  places: Places;
  storeId: Buffer;
  /** Documents of the truth that the record may not know, and that have a file. */
  named: ReadonlySet<string>;
  /** Whether there is any file that could be a document's. */
  hasFiles(): boolean;
  /** Documents as truth has them: costly, and asked for only where the record cannot tell. */
  truth(): ReadonlyMap<string, ReplicaDocument>;
}

export interface FilesVerdict {
  findings: Finding[];
  files: number;
}

const CHUNK_BYTES = 1024 * 1024;
const RETRIES_MAX = 4;
const RETRY_DELAY_MS = 25;

export function* checkFiles(start: FilesStart): Generator<Pause, FilesVerdict> {
  const { disk, places, storeId, truth } = start;
  const findings = yield* checkRecord(disk, places);
  const { editions } = readRecord(disk, places, storeId);
  const names = new Set([...editions.keys(), ...start.named]);
  // With entries lost, files may be there that it does not tell of.
  const isWhole = findings.length === 0 && disk.entry(recordPath(places)) !== null;
  if (!isWhole && start.hasFiles()) for (const name of truth().keys()) names.add(name);
  let files = 0;
  for (const name of [...names].sort()) {
    const finding = yield* checkName(start, name, editions.get(name));
    if (finding !== null) findings.push(finding);
    files++;
    if (isLogKey(name)) continue;
    const { backup } = documentPaths(places.directory, name);
    for (let n = 1; n <= BACKUPS_MAX; n++) {
      const path = targetOf(disk, backup(n));
      if (disk.entry(path)?.kind !== 'file') continue;
      files++;
      const problem = yield* checkBackup(start, path, name);
      if (problem !== null) findings.push(problem);
    }
  }
  return { findings, files };
}

/** The bytes of the files that there are to read, as far as the record tells of them. */
export function publishedBytes(disk: PublicDisk, places: Places, storeId: Buffer): number {
  let bytes = 0;
  for (const { name, size } of readRecord(disk, places, storeId).editions.values()) {
    bytes += size;
    if (isLogKey(name)) continue;
    const { backup } = documentPaths(places.directory, name);
    for (let n = 1; n <= BACKUPS_MAX; n++) bytes += disk.entry(backup(n))?.size ?? 0;
  }
  return bytes;
}

function* checkRecord(disk: PublicDisk, places: Places): Generator<Pause, Finding[]> {
  const file = recordPath(places);
  if (disk.entry(file) === null) return [];
  return yield* withFileSteps(disk, file, function* (handle): Generator<Pause, Finding[]> {
    const findings: Finding[] = [];
    const stream = new FrameStream(disk, handle, 0);
    for (let found = stream.step(); found !== 'end'; found = stream.step()) {
      if (found === 'bad') findings.push({ effect: 'harmless', file, what: `has a torn end at byte ${stream.offset}` });
      else {
        // Something sound follows: that was no crash.
        for (const finding of findings) {
          finding.effect = 'spare';
          finding.what = finding.what.replace('has a torn end', 'is damaged');
        }
      }
    }
    yield { kind: 'read', bytes: 0 };
    return findings;
  });
}

function* checkName(start: FilesStart, name: string, known: Edition | undefined): Generator<Pause, Finding | null> {
  const { disk, places, storeId } = start;
  let edition = known;
  for (let attempt = 0; ; attempt++) {
    const reading = isLogKey(name) ? isLines(start, name, edition) : isFile(start, name, edition);
    const isRight = yield* attempt === 0 ? reading : uncounted(reading);
    if (isRight) return null;
    if (attempt === RETRIES_MAX) break;
    yield { kind: 'wait', delayMs: RETRY_DELAY_MS };
    edition = readRecord(disk, places, storeId).editions.get(name);
  }
  if (!isLogKey(name)) return judgeFile(start, name, edition);
  const file = linesPath(places.directory, logNameOf(name));
  const what = disk.entry(file) === null ? 'is missing' : 'is not what was written';
  return { effect: 'file', file, what: `${what}: the next open writes it anew` };
}

/** What is read again is no progress. */
function* uncounted<R>(steps: Generator<Pause, R>): Generator<Pause, R> {
  for (;;) {
    const next = steps.next();
    if (next.done) return next.value;
    yield next.value.kind === 'read' ? { kind: 'read', bytes: 0 } : next.value;
  }
}

/** True for the version that was published last, or is about to be. */
function* isFile({ disk, places }: FilesStart, name: string, edition: Edition | undefined): Generator<Pause, boolean> {
  const path = targetOf(disk, documentPaths(places.directory, name).main);
  if (disk.entry(path)?.kind !== 'file') return false;
  return isOurs(edition, yield* sha256At(disk, path));
}

function* isLines({ disk, places }: FilesStart, name: string, edition: Edition | undefined): Generator<Pause, boolean> {
  const recorded = fromEdition(edition);
  // It is being removed, or was never published.
  if (recorded === undefined) return true;
  const path = targetOf(disk, linesPath(places.directory, logNameOf(name)));
  if (disk.entry(path)?.kind !== 'file') return false;
  let found = 0;
  let size = 0;
  yield* readThrough(disk, path, recorded.size, (bytes) => {
    found = crc32(bytes, found);
    size += bytes.length;
  });
  return size === recorded.size && found === recorded.crc;
}

/** What lies there instead, by truth. */
function judgeFile({ disk, places, truth }: FilesStart, name: string, edition: Edition | undefined): Finding | null {
  const document = truth().get(name);
  // Removed, and its file is about to be.
  if (document === undefined) return null;
  const file = targetOf(disk, documentPaths(places.directory, name).main);
  const entry = disk.entry(file);
  if (entry === null && edition === undefined) return null;
  if (entry === null) return { effect: 'file', file, what: 'is missing: the next open writes it anew' };
  if (entry.kind !== 'file') return { effect: 'choice', file, what: `is not a file but a ${entry.kind}: move it away` };
  const found = judge(disk, file, edition, () => serialize(document.state));
  switch (found.kind) {
    case 'same':
    case 'ours':
      return null;
    case 'reformatted':
      return { effect: 'harmless', file, what: 'holds the same data, written by somebody else' };
    case 'empty':
      return { effect: 'file', file, what: 'is empty: the next open writes it anew' };
    case 'unparseable':
      return { effect: 'file', file, what: `is no JSON (${found.reason}): the next open writes it anew` };
    case 'foreign':
      // The file that the state was taken from: it is about to be written anew, with what a schema added.
      if (found.sha256 === document.adopted) return null;
      return { effect: 'choice', file, what: 'holds other data than was saved: it was edited, or has rotted' };
    default:
      return found satisfies never;
  }
}

function* checkBackup(
  { disk, places, storeId }: FilesStart,
  file: string,
  name: string,
): Generator<Pause, Finding | null> {
  const sha256 = yield* sha256At(disk, file);
  const edition = readRecord(disk, places, storeId).editions.get(name);
  if (isOurs(edition, sha256) || edition?.older.includes(sha256)) return null;
  // Rotated away while we read.
  if (disk.entry(file) === null) return null;
  const parsed = parse(readFrom(disk, file));
  if (parsed.kind === 'unparseable') return { effect: 'file', file, what: `is no JSON (${parsed.reason})` };
  return { effect: 'harmless', file, what: 'is none of the versions that the record tells of' };
}

function* sha256At(disk: PublicDisk, path: string): Generator<Pause, string> {
  const hash = createHash('sha256');
  yield* readThrough(disk, path, Number.POSITIVE_INFINITY, (bytes) => void hash.update(bytes));
  return hash.digest('hex');
}

function* readThrough(
  disk: PublicDisk,
  path: string,
  bytesMax: number,
  take: (bytes: Buffer) => void,
): Generator<Pause, void> {
  yield* withFileSteps(disk, path, function* (handle: Handle): Generator<Pause, void> {
    for (let at = 0; at < bytesMax; ) {
      const bytes = readAt(disk, handle, at, Math.min(CHUNK_BYTES, bytesMax - at));
      if (bytes.length === 0) return;
      take(bytes);
      at += bytes.length;
      yield { kind: 'read', bytes: bytes.length };
    }
  });
}
