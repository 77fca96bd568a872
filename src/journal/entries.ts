// The entries of a log, read portion by portion: from its own files, and what is not there yet from the tails. Nothing is
// held between two portions but a place, so whoever stops reading leaves no open file behind, and files may come and go.
//
// E1. An index is given once, in order. What neither the files nor the tails can give is HF_DAMAGED, with the indices.
// E2. A file that vanished was replaced by one that holds as much (compaction), so everything is looked up again.

import { Misfit } from '../change/apply.js';
import type { Disk, Handle } from '../disk/disk.js';
import { isCode, withPath } from '../disk/faults.js';
import { readAt } from '../disk/files.js';
import { HoldfastError } from '../errors.js';
import { Shelf } from '../projection/shelf.js';
import { type CommitPlace, commitsAfter } from './commits.js';
import { readFileHeader } from './file-header.js';
import { decodeFrame } from './frame.js';
import { FILE_HEADER_BYTES, KIND_ENTRIES } from './layout.js';
import { entriesOfLines, linesOf, sliceLines } from './line-text.js';
import { logNameOf, type Range } from './log-key.js';
import type { Places } from './places.js';
import { entriesOf } from './replica.js';
import { scan } from './scan.js';
import { entriesFrameAt, namedSegments, peek, type SegmentName, soundSegments } from './segment.js';

/** Entries `from` up to `to`. None when nothing was found yet: ask again with `to`. */
export interface Portion extends Range {
  lines(): Buffer;
  entries(): unknown[];
}

/** A place in one of the log's own files: the frame at `offset` begins with entry `index`. */
interface FilePlace {
  path: string;
  offset: number;
  index: number;
}

/** In a file, entries up to `to` cannot be read. */
type FileFinding = Portion | { lostTo: number };

/** Read from the tails in one go: the main thread has other things to do. */
const PORTION_BYTES = 512 * 1024;
/** Files may be replaced while we read; when that happens every time, it is no replacement. */
const ATTEMPTS_MAX = 4;

export class EntrySource {
  readonly #disk: Disk;
  readonly #places: Places;
  readonly #storeId: Buffer;
  readonly #key: string;
  readonly #shelf: Shelf;
  #inFile: FilePlace | null = null;
  /** Entry `index` is in no commit before this place. */
  #inTails: { index: number; place: CommitPlace } | null = null;
  /** How often the tails were read from their beginning since an entry was found. */
  #starts = 0;

  constructor(disk: Disk, places: Places, storeId: Buffer, key: string) {
    this.#disk = disk;
    this.#places = places;
    this.#storeId = storeId;
    this.#key = key;
    this.#shelf = new Shelf(disk, places, storeId);
  }

  /** Some entries from `since` on, none at or beyond `count`: up to there all of them have been written. */
  next(since: number, count: number, lost: readonly Range[] = []): Portion {
    const given = lost.find(({ from, to }) => from <= since && since < to);
    if (given !== undefined) return nothing(Math.min(given.to, count));
    let lostTo = since + 1;
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      try {
        if (this.#inTails?.index === since) {
          const found = this.#fromTails(since, count);
          if (found !== null) return found;
        }
        const inFile = this.#fromFiles(since, count);
        if (inFile !== null && 'from' in inFile) return inFile;
        if (inFile !== null) lostTo = Math.max(lostTo, inFile.lostTo);
        // To the end of the tails and back to their beginning: it is not there.
        if (++this.#starts > ATTEMPTS_MAX) break;
        this.#inTails = this.#startOfTails(since);
        const found = this.#fromTails(since, count);
        if (found !== null) return found;
      } catch (error) {
        if (!isCode(error, 'ENOENT') && !(error instanceof Misfit)) throw error;
      }
      this.#inFile = null;
      this.#inTails = null;
    }
    throw damagedEntries(this.#key, since, Math.min(lostTo, count), this.#places.directory);
  }

  #fromFiles(since: number, count: number): FileFinding | null {
    if (this.#inFile !== null && this.#inFile.index <= since) {
      const found = this.#fromFile(this.#inFile, since, count);
      if (found !== null && 'from' in found) return found;
    }
    let lostTo = 0;
    const segments = namedSegments(this.#disk, this.#places, this.#key).filter(
      ({ from, to }) => from <= since && since < to,
    );
    for (const segment of segments.reverse()) {
      const start = { path: segment.path, offset: FILE_HEADER_BYTES, index: segment.from };
      const found = this.#fromFile(start, since, count, segment);
      if (found !== null && 'from' in found) return found;
      if (found !== null) lostTo = Math.max(lostTo, found.lostTo);
    }
    return lostTo === 0 ? null : { lostTo };
  }

  /** Null when this file does not go as far as `since`. */
  #fromFile(start: FilePlace, since: number, count: number, segment?: SegmentName): FileFinding | null {
    const handle = this.#disk.open(start.path, 'read');
    try {
      if (segment !== undefined) {
        const header = readFileHeader(this.#disk, handle, start.path);
        if (header === null) return { lostTo: segment.to };
        if (!header.storeId.equals(this.#storeId)) return null;
      }
      let { offset } = start;
      for (;;) {
        const here = peek(this.#disk, handle, offset);
        if (here.kind === 'bad') return { lostTo: this.#nextIndex(handle, offset + 1, segment) };
        if (here.isEnd) return null;
        if (here.index > since) return { lostTo: here.index };
        const next = peek(this.#disk, handle, offset + here.length);
        if (next.kind === 'frame' && next.index <= since) {
          offset += here.length;
          continue;
        }
        return this.#take(handle, { path: start.path, offset, index: here.index }, since, count, segment);
      }
    } catch (error) {
      throw withPath(error, start.path);
    } finally {
      this.#disk.close(handle);
    }
  }

  #take(
    handle: Handle,
    place: FilePlace,
    since: number,
    count: number,
    segment: SegmentName | undefined,
  ): FileFinding | null {
    const here = peek(this.#disk, handle, place.offset);
    const length = here.kind === 'frame' ? here.length : 0;
    // A length that leads beyond the file asks for no memory.
    const isInside = place.offset + length <= this.#disk.size(handle);
    const decoded = isInside ? decodeFrame(readAt(this.#disk, handle, place.offset, length)) : null;
    const isSound = decoded?.kind === 'frame' && entriesFrameAt(decoded.frame, this.#key) === place.index;
    if (!isSound) return { lostTo: this.#nextIndex(handle, place.offset + 1, segment) };
    const { payload, header } = decoded.frame;
    const to = header.documents[0]?.version as number;
    // The frame behind it is unreadable, and what is looked for may be there.
    if (since >= to) return { lostTo: this.#nextIndex(handle, place.offset + length, segment) };
    this.#inFile = to < (segment?.to ?? to + 1) ? { ...place, offset: place.offset + length, index: to } : null;
    const lines = sliceLines(payload, since - place.index, count - since);
    const end = Math.min(to, count);
    return { from: since, to: end, lines: () => lines, entries: () => entriesOfLines(lines) };
  }

  /** The first entry that can be read again. */
  #nextIndex(handle: Handle, offset: number, segment: SegmentName | undefined): number {
    for (const found of scan(this.#disk, handle, offset, PORTION_BYTES)) {
      if (found.kind === 'frame' && found.frame.header.kind === KIND_ENTRIES) return found.frame.header.seq;
    }
    return segment?.to ?? 0;
  }

  #startOfTails(since: number): { index: number; place: CommitPlace } {
    this.#shelf.refresh();
    // A file that ends at or before this entry says at which commit the log was so long: the entry comes later.
    const before = soundSegments(this.#disk, this.#places, this.#storeId, this.#key).filter(({ to }) => to <= since);
    const moved = before.reduce((seq, { header }) => Math.max(seq, header.prevSeq), 0);
    const { beforeTails } = this.#shelf;
    const seq = Number.isFinite(beforeTails) ? Math.max(moved, beforeTails) : moved;
    return { index: since, place: { seq, crc: null, number: 0, offset: 0 } };
  }

  /** Null when they do not hold entry `since`. */
  #fromTails(since: number, count: number): Portion | null {
    const from = this.#inTails as { index: number; place: CommitPlace };
    let { place } = from;
    const entries: unknown[] = [];
    let bytes = 0;
    this.#shelf.refresh();
    for (const { frame, place: behind } of commitsAfter(this.#disk, this.#shelf, place)) {
      const index = since + entries.length;
      const found = entriesOf(frame, this.#key);
      if (found !== null && found.from > index) return null;
      if (found !== null) push(entries, found.entries.slice(index - found.from));
      place = behind;
      bytes += frame.bytes.length;
      if (bytes >= PORTION_BYTES || since + entries.length >= count) break;
    }
    if (bytes === 0) return null;
    const to = since + entries.length;
    if (entries.length > 0) this.#starts = 0;
    this.#inTails = { index: to, place };
    if (to > count) entries.length = count - since;
    return { from: since, to: Math.min(to, count), lines: () => linesOf(entries), entries: () => entries };
  }
}

/** A log may grow by more entries in one commit than a call takes arguments. */
function push(into: unknown[], more: readonly unknown[]): void {
  for (const entry of more) into.push(entry);
}

function nothing(at: number): Portion {
  return { from: at, to: at, lines: () => Buffer.alloc(0), entries: () => [] };
}

function damagedEntries(key: string, from: number, to: number, directory: string): HoldfastError {
  const name = logNameOf(key);
  const which = to - from === 1 ? `Entry ${from}` : `Entries ${from} to ${to - 1}`;
  return new HoldfastError(
    'HF_DAMAGED',
    `${which} of the log '${name}' in ${directory} cannot be read. Nothing was touched. Restore the files in .holdfast/logs from a backup, or go on with read({ since: ${to} }).`,
    { details: { log: name, from, to } },
  );
}
