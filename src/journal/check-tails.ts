// The chain of commits through all tails, frame by frame, in memory that does not grow with them. It comes to the same
// conclusions as recovery (recover.ts has the rules), which holds the whole history to do so.
//
// T1. Tails are read from the lowest number up. Each counts up to where a later one begins; what it holds beyond that is a
//     copy, up to what later ones took over, and void beyond.
// T2. Commits that are missing are noted, and judged at the end: by then it is known what was durable.
// T3. At the end of the newest tail somebody may be writing: what cannot be read there is looked at again.

import type { Disk } from '../disk/disk.js';
import { isCode } from '../disk/faults.js';
import { withFileSteps } from '../disk/files.js';
import type { Shelved } from '../projection/shelf.js';
import { refuseVersion } from './file-header.js';
import type { Finding, Pause } from './findings.js';
import { FrameStream } from './frame-stream.js';
import { FILE_HEADER_BYTES, KIND_COMMIT, KIND_END, KIND_MARK } from './layout.js';

interface Gap {
  file: string;
  from: number;
  to: number;
  /** Where they should have been, if something else is there. */
  spot: Spot | null;
}

/** Between two frames: bytes that are none. */
interface Spot {
  file: string;
  offset: number;
  length: number;
  /** Something sound came behind it. */
  isInside: boolean;
  /** A gap tells of it. */
  isTold: boolean;
}

const PAUSE_BYTES = 4 * 1024 * 1024;
const RETRIES_MAX = 6;
const RETRY_DELAY_MS = 5;

export class TailCheck {
  readonly #disk: Disk;
  readonly #tails: readonly Shelved[];
  readonly #gaps: Gap[] = [];
  readonly #spots: Spot[] = [];
  /** Commits that are in a tail below the one that counts for them. */
  readonly #copies = new Map<number, number>();
  readonly #findings: Finding[] = [];
  /** Where the chain stands; null before the first tail. A checksum that is not known is not asked for. */
  #at: { seq: number; crc: number | null } | null = null;
  /** Since the last frame. */
  #spot: Spot | null = null;
  /** The checksums of the commits that somebody names. */
  readonly links = new Map<number, number>();
  /** Those of the names asked for that commits are about. */
  readonly named = new Set<string>();
  readonly #names: ReadonlySet<string>;
  durableSeq = 0;
  commits = 0;
  bytes = 0;

  /** `seqs`: commits whose checksums are wanted. `names`: documents that are looked for; without any, tables are not read. */
  constructor(disk: Disk, tails: readonly Shelved[], seqs: Iterable<number>, names: ReadonlySet<string>) {
    this.#disk = disk;
    this.#names = names;
    this.#tails = tails;
    for (const seq of seqs) this.links.set(seq, Number.NaN);
    for (const { header } of tails) this.durableSeq = Math.max(this.durableSeq, header.prevSeq, header.pinned);
  }

  /** The last commit that was found; 0 without one. */
  get lastSeq(): number {
    return this.#at?.seq ?? 0;
  }

  *run(): Generator<Pause> {
    for (const [index, tail] of this.#tails.entries()) {
      try {
        yield* this.#read(tail, this.#tails.slice(index + 1));
      } catch (error) {
        if (!isCode(error, 'ENOENT')) throw error;
        // A compaction deletes from the oldest on: history begins with what comes now.
        this.#at = null;
      }
    }
    // What the newest tail lost of the copies that it began with.
    while (this.#copies.has(this.lastSeq + 1)) this.#skipTo(this.lastSeq + 1, '');
  }

  /** `startSeq`: recovery begins there; `durableSeq`: up to there nothing may be missing. */
  conclude(startSeq: number | null, durableSeq: number): Finding[] {
    const findings = [...this.#findings];
    for (const { file, from, to, spot } of this.#gaps) {
      if (from > durableSeq) {
        findings.push({
          effect: 'harmless',
          file,
          what: `has a gap behind everything that was acknowledged: ${range(from, to)}`,
        });
        continue;
      }
      const isNeeded = startSeq === null || to > startSeq;
      const where = spot === null ? '' : `is damaged at byte ${spot.offset}: `;
      const what = `${where}${range(from, Math.min(to, durableSeq))} cannot be read`;
      findings.push({
        effect: isNeeded ? 'refused' : 'spare',
        file,
        what: spot === null ? `is incomplete: ${what}` : what,
      });
    }
    for (const { file, offset, length, isInside, isTold } of this.#spots) {
      if (isTold) continue;
      const where = `${length} bytes at byte ${offset}`;
      if (isInside) findings.push({ effect: 'spare', file, what: `is damaged: ${where} are no frame` });
      else findings.push({ effect: 'harmless', file, what: `has a torn end: ${where}` });
    }
    return findings;
  }

  *#read(tail: Shelved, later: readonly Shelved[]): Generator<Pause> {
    const { prevSeq, prevCrc } = tail.header;
    const ownEnd = Math.min(...later.map(({ header }) => header.prevSeq), Number.POSITIVE_INFINITY);
    const voidAfter = Math.min(...later.map(({ header }) => header.pinned), Number.POSITIVE_INFINITY);
    const isOwner = ownEnd > prevSeq;
    if (isOwner) this.#begin(tail, prevSeq, prevCrc);
    const isNewest = later.length === 0;
    yield* withFileSteps(this.#disk, tail.path, (handle) =>
      this.#frames(handle, tail, { isOwner, isNewest, ownEnd, voidAfter }),
    );
    if (isOwner && Number.isFinite(ownEnd)) this.#skipTo(ownEnd, tail.path);
    this.#spot = null;
  }

  /** Commits between two tails should have been in the one before. */
  #begin({ path }: Shelved, prevSeq: number, prevCrc: number): void {
    if (this.#at === null) this.#at = { seq: prevSeq, crc: prevCrc };
    else this.#skipTo(prevSeq, path);
    if (this.#at.seq === prevSeq) this.#at.crc ??= prevCrc;
    if (this.links.has(prevSeq) && Number.isNaN(this.links.get(prevSeq))) this.links.set(prevSeq, prevCrc);
  }

  *#frames(
    handle: number,
    { path }: Shelved,
    {
      isOwner,
      isNewest,
      ownEnd,
      voidAfter,
    }: { isOwner: boolean; isNewest: boolean; ownEnd: number; voidAfter: number },
  ): Generator<Pause> {
    const stream = new FrameStream(this.#disk, handle, FILE_HEADER_BYTES);
    const spots: Spot[] = [];
    let paused = 0;
    let retries = 0;
    for (let found = stream.step(); found !== 'end'; found = stream.step()) {
      if (stream.offset - paused >= PAUSE_BYTES) {
        yield { kind: 'read', bytes: stream.offset - paused };
        paused = stream.offset;
      }
      if (found === 'bad') {
        if (isNewest && retries++ < RETRIES_MAX) {
          yield { kind: 'wait', delayMs: RETRY_DELAY_MS };
          stream.retry();
          continue;
        }
        const { offset, length, rotten } = stream;
        // What lies beyond what later tails took over is void, whatever it is.
        const isVoid = rotten !== undefined && rotten.seq > voidAfter;
        if (!isVoid && rotten !== undefined) this.durableSeq = Math.max(this.durableSeq, rotten.durableSeq);
        this.#spot = { file: path, offset, length, isInside: false, isTold: false };
        if (!isVoid) spots.push(this.#spot);
        continue;
      }
      const { kind, seq, durableSeq } = stream;
      if (kind !== KIND_COMMIT && kind !== KIND_MARK && kind !== KIND_END)
        refuseVersion(path, `a frame of kind ${kind}`);
      if (seq > voidAfter) continue;
      if (durableSeq > this.durableSeq) this.durableSeq = durableSeq;
      for (const spot of spots) spot.isInside = true;
      if (kind !== KIND_COMMIT) continue;
      if (isOwner && seq <= ownEnd) this.#take(stream, seq, path);
      else this.#copy(seq, stream.crc, path);
      this.#spot = null;
    }
    yield { kind: 'read', bytes: stream.size - paused };
    this.#spots.push(...spots);
  }

  #take(stream: FrameStream, seq: number, path: string): void {
    const at = this.#at as { seq: number; crc: number | null };
    const { crc, prevCrc } = stream;
    if (this.#copies.size > 0 && this.#copies.has(seq)) this.#compare(seq, crc, path);
    if (seq <= at.seq) {
      if (seq === at.seq && crc !== at.crc && at.crc !== null) this.#differ(seq, path);
      return;
    }
    if (seq > at.seq + 1) this.#skipTo(seq - 1, path);
    if (at.crc !== null && at.crc !== prevCrc) this.#gaps.push({ file: path, from: seq, to: seq, spot: null });
    at.seq = seq;
    at.crc = crc;
    this.commits++;
    if (this.named.size < this.#names.size)
      for (const { name } of stream.documents) if (this.#names.has(name)) this.named.add(name);
    if (this.links.has(seq)) this.links.set(seq, crc);
  }

  #copy(seq: number, crc: number, path: string): void {
    if (this.#copies.has(seq)) this.#compare(seq, crc, path);
    this.#copies.set(seq, crc);
  }

  /** Copies of one commit are the same, byte for byte. */
  #compare(seq: number, crc: number, path: string): void {
    if (this.#copies.get(seq) !== crc) this.#differ(seq, path);
  }

  #differ(seq: number, path: string): void {
    this.#findings.push({ effect: 'refused', file: path, what: `has another commit ${seq} than the tail before it` });
  }

  /** What is missing up to here, but for what a tail below has a copy of. */
  #skipTo(seq: number, file: string): void {
    const at = this.#at as { seq: number; crc: number | null };
    while (at.seq < seq) {
      const copy = this.#copies.get(at.seq + 1);
      if (copy === undefined) this.#miss(at.seq + 1, file);
      at.seq++;
      at.crc = copy ?? null;
      if (copy !== undefined && this.links.has(at.seq)) this.links.set(at.seq, copy);
    }
  }

  #miss(seq: number, file: string): void {
    const last = this.#gaps.at(-1);
    if (last?.to === seq - 1 && last.file === file) last.to = seq;
    else this.#gaps.push({ file, from: seq, to: seq, spot: this.#spot });
    if (this.#spot !== null) this.#spot.isTold = true;
  }
}

function range(from: number, to: number): string {
  return from === to ? `commit ${from}` : `commits ${from} to ${to}`;
}
