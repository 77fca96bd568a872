// The JSON Lines of a log: one entry per line, appended in place, so that `tail -f` follows it. What the file should hold
// is a function of the entries alone; so whatever is found can be compared with truth, and two that write (one that lost
// the store, and its successor) write the same bytes to the same places.
//
// L1. Lines of durable entries only. Appended, synced, and then recorded: how many, how many bytes, their checksum.
// L2. What is recorded and still there is not read again. What lies behind it is compared with truth: our own lines stay,
//     a torn end is cut, anything else is kept in quarantine first.
// L3. A file that is gone, shorter or different is written anew from truth, whole, under another name, and renamed. What
//     was there is kept in quarantine.

import { dirname } from 'node:path';
import type { Details, Handle } from '../disk/disk.js';
import { writeFault } from '../disk/faults.js';
import { readAt, writeFully } from '../disk/files.js';
import { HoldfastError } from '../errors.js';
import { EntrySource } from '../journal/entries.js';
import { crc32 } from '../journal/layout.js';
import { countLines } from '../journal/line-text.js';
import { type LogExtent, logNameOf } from '../journal/log-key.js';
import { keepBytes, keepCopy } from '../journal/quarantine.js';
import { endsInZeros } from '../journal/scan.js';
import { makeDirectories } from './directories.js';
import { checksum, fromEdition, isTorn, type KnownLines, keptLines, NOTHING, wholeLines } from './known-lines.js';
import { linesPath } from './names.js';
import type { Outcome, Press } from './press.js';
import { Stage } from './stage.js';
import { fileAt, type Identity, isSameFile, targetOf } from './target.js';

export interface LinesPlan {
  key: string;
  extent: LogExtent;
  /** The commit at which the log is so long. Durable. */
  seq: number;
  /** False once somebody else has written a later state. Asked with nobody else publishing. */
  isNewest(): boolean;
  /** For the end of the process: not beyond this moment. */
  deadlineMs?: number;
}

/** Larger files are not read whole at every open: nobody has touched them, as far as the file system knows. */
const REREAD_BYTES_MAX = 16 * 1024 * 1024;
const CHUNK_BYTES = 1024 * 1024;
/** A longer end than this is not copied: the file is kept whole. */
const KEPT_BYTES_MAX = 16 * 1024 * 1024;
const NEW_MODE = 0o644;
/** More is somebody at work there. */
const ATTEMPTS_MAX = 5;

export function projectLines(press: Press, storeId: Buffer, plan: LinesPlan): Outcome {
  const path = linesPath(press.places.directory, logNameOf(plan.key));
  const stage = new Stage(press.disk, press.places);
  try {
    return new Lines(press, storeId, plan, path, stage).run();
  } catch (error) {
    throw writeFault(error, 'Writing', path);
  } finally {
    stage.sweep();
  }
}

class Lines {
  readonly #press: Press;
  readonly #plan: LinesPlan;
  readonly #path: string;
  readonly #target: string;
  readonly #stage: Stage;
  readonly #source: EntrySource;
  #written = 0;
  #kept: string | null = null;
  #found: string | null = null;

  constructor(press: Press, storeId: Buffer, plan: LinesPlan, path: string, stage: Stage) {
    this.#press = press;
    this.#plan = plan;
    this.#path = path;
    this.#target = targetOf(press.disk, path);
    this.#stage = stage;
    const { key } = plan;
    const source = press.sources.get(key) ?? new EntrySource(press.disk, press.places, storeId, key);
    press.sources.set(key, source);
    this.#source = source;
  }

  run(): Outcome {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const entry = fileAt(this.#press.disk, this.#target);
      const known = this.#examine(entry);
      const done = known === null ? this.#writeAnew(entry) : this.#append(known);
      if (done === 'superseded') return { kind: 'superseded' };
      if (done === 'changed') continue;
      const bytes = this.#written;
      const sha256 = checksum(done.crc);
      if (bytes === 0 && this.#found === null) return { kind: 'unchanged', sha256 };
      return { kind: 'published', bytes, sha256, kept: this.#kept, ...(this.#found && { found: this.#found }) };
    }
    throw new HoldfastError('HF_IO', `${this.#target} is being changed by somebody else.`);
  }

  /** What of the file is right; null when it has to be written anew. */
  #examine(entry: Details | null): KnownLines | null {
    const { lines, record } = this.#press;
    const { key, extent } = this.#plan;
    const last = lines.get(key);
    if (last !== undefined && entry !== null && isSameFile(last.identity, entry)) return last;
    const recorded = last ?? fromEdition(record.get(key));
    if (entry === null) {
      if (recorded !== undefined) this.#found = 'missing';
      return null;
    }
    const start = recorded ?? NOTHING;
    const handle = this.#press.disk.open(this.#target, 'read');
    try {
      const isRight = start.count <= extent.count && this.#isRight(handle, start, entry);
      if (!isRight) {
        this.#found = entry.size === 0 ? 'empty' : 'damaged';
        return null;
      }
      return this.#compareRest(handle, { ...start, identity: entry }, entry.size);
    } finally {
      this.#press.disk.close(handle);
    }
  }

  /** Whether the part that was recorded is still what it was. */
  #isRight(handle: Handle, { size, crc, identity }: KnownLines, entry: Details): boolean {
    if (entry.size < size) return false;
    if (size > REREAD_BYTES_MAX && isSameFile(identity, entry)) return true;
    let found = 0;
    for (let at = 0; at < size; ) {
      const bytes = readAt(this.#press.disk, handle, at, Math.min(CHUNK_BYTES, size - at));
      if (bytes.length === 0) return false;
      found = crc32(bytes, found);
      at += bytes.length;
    }
    return found === crc;
  }

  /** Lines behind the recorded ones that are ours too: a kill came between writing and recording. */
  #compareRest(handle: Handle, start: KnownLines, fileSize: number): KnownLines | null {
    const { disk, places } = this.#press;
    const { key, extent } = this.#plan;
    let { count, size, crc } = start;
    while (size < fileSize && count < extent.count) {
      const portion = this.#source.next(count, extent.count, extent.lost);
      const lines = portion.lines();
      const found = readAt(disk, handle, size, lines.length);
      const same = found.equals(lines) ? lines : wholeLines(lines, found);
      count = same === lines ? portion.to : count + countLines(same);
      size += same.length;
      crc = crc32(same, crc);
      if (same !== lines) {
        if (isTorn(lines.subarray(same.length), found.subarray(same.length)))
          return { count, size, crc, identity: start.identity };
        break;
      }
    }
    const known = { count, size, crc, identity: start.identity };
    if (size === fileSize || endsInZeros(disk, handle, size)) return known;
    this.#found = 'edited';
    if (fileSize - size > KEPT_BYTES_MAX) return null;
    this.#kept = keepBytes(disk, places, keptLines(key), readAt(disk, handle, size, fileSize - size));
    return known;
  }

  #append(start: KnownLines): KnownLines | 'changed' | 'superseded' {
    const { disk, critical } = this.#press;
    const { extent } = this.#plan;
    let known = start;
    const needsCut = (start.identity as Identity).size > start.size;
    if (known.count >= extent.count && !needsCut) return this.#remember(known);
    const handle = disk.open(this.#target, 'write');
    try {
      while (known.count < extent.count && !this.#isLate()) {
        const portion = this.#source.next(known.count, extent.count, extent.lost);
        const bytes = portion.lines();
        const step = critical(() => this.#write(handle, bytes, known));
        if (step !== 'done') return step;
        const { size, crc } = known;
        const identity = disk.entry(this.#target);
        known = { count: portion.to, size: size + bytes.length, crc: crc32(bytes, crc), identity };
        this.#written += bytes.length;
      }
      if ((disk.entry(this.#target)?.size ?? 0) > known.size) {
        disk.truncate(handle, known.size);
        known = { ...known, identity: disk.entry(this.#target) };
      }
      // Before it is recorded: else lines that a power cut took would look like damage.
      disk.syncData(handle);
    } finally {
      disk.close(handle);
    }
    return this.#remember(known);
  }

  #write(handle: Handle, bytes: Buffer, known: KnownLines): 'done' | 'changed' | 'superseded' {
    const { disk } = this.#press;
    if (!this.#plan.isNewest()) return 'superseded';
    if (!isSameFile(known.identity, disk.entry(this.#target))) return 'changed';
    writeFully(disk, handle, bytes, known.size);
    return 'done';
  }

  #writeAnew(old: Details | null): KnownLines | 'changed' | 'superseded' {
    const { disk, places, folders, critical } = this.#press;
    const { extent, key } = this.#plan;
    makeDirectories(disk, places.directory, dirname(this.#path), folders);
    const temp = this.#stage.spare(this.#target);
    const handle = disk.open(temp, 'create', old?.mode ?? NEW_MODE);
    let { count, size, crc } = NOTHING;
    try {
      if (old !== null) disk.setMode(handle, old.mode);
      while (count < extent.count) {
        const portion = this.#source.next(count, extent.count, extent.lost);
        const bytes = portion.lines();
        writeFully(disk, handle, bytes, size);
        size += bytes.length;
        crc = crc32(bytes, crc);
        count = portion.to;
      }
      disk.sync(handle);
    } finally {
      disk.close(handle);
    }
    if (old !== null) this.#kept = keepCopy(disk, places, keptLines(key), this.#target);
    const step = critical(() => {
      if (!this.#plan.isNewest()) return 'superseded';
      if (!isSameFile(old, disk.entry(this.#target))) return 'changed';
      disk.rename(temp, this.#target);
      return 'done';
    });
    if (step !== 'done') return step;
    this.#stage.placed(temp);
    disk.syncDirectory(dirname(this.#target));
    this.#written = size;
    return this.#remember({ count, size, crc, identity: disk.entry(this.#target) });
  }

  #remember(known: KnownLines): KnownLines {
    const { lines, record, critical } = this.#press;
    const { key, seq } = this.#plan;
    lines.set(key, known);
    const last = fromEdition(record.get(key));
    if (last?.count === known.count && last.size === known.size && isSameFile(last.identity, known.identity))
      return known;
    const { count, size, crc, identity } = known;
    const { ino, mtimeMs } = identity as Identity;
    const older = [String(ino), String(mtimeMs)];
    const edition = { name: key, version: count, seq, durableSeq: seq, sha256: checksum(crc), size, over: null, older };
    record.append(edition, critical);
    return known;
  }

  #isLate(): boolean {
    return performance.now() > (this.#plan.deadlineMs ?? Number.POSITIVE_INFINITY);
  }
}
