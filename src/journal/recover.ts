// From the files to one state, or to a report; nothing in between and nothing guessed. This file only reads.
//
// W, the high-water mark, is the highest sequence that anything readable says was durable.
// I1. A commit at or below W that cannot be read is damage. Beyond W it is an ordinary crash, and is cut there even if
//     later frames verify: a power cut may keep page 3 of an unsynced batch and lose page 2.
// I2. From its first sequence on the highest-numbered tail wins. What lower ones hold beyond its pinned sequence is void.
// I3. Copies of one commit are byte-identical, or the store is damaged.
// I4. Every link is checked: sequence, and the checksum of the frame before.

import { Misfit, UnknownOp } from '../change/apply.js';
import type { Disk } from '../disk/disk.js';
import { type BaseContents, readBase } from './base.js';
import type { DamageReport } from './damage.js';
import { refuseVersion } from './file-header.js';
import type { Frame, FrameHeader } from './frame.js';
import { type HighWater, readHighWater } from './high-water.js';
import type { Link } from './journal.js';
import { FILE_HEADER_BYTES, KIND_COMMIT } from './layout.js';
import type { Places } from './places.js';
import { Replica } from './replica.js';
import { isZero } from './scan.js';
import { readTail, survey, type TailContents, type TruthFile } from './survey.js';

/** Bytes beyond the last accepted frame. */
export interface Cut {
  file: TruthFile;
  offset: number;
  bytes: Buffer;
}

export interface Sound {
  kind: 'sound';
  storeId: Buffer;
  replica: Replica;
  /** Up to here everything is known to be durable. */
  durable: Link;
  /** Accepted frames beyond it. */
  beyond: Buffer[];
  lastSeq: number;
  cut: Cut | null;
  damagedBases: TruthFile[];
  files: TruthFile[];
  nextNumber: number;
  highWaterCounter: number;
}

export interface Damaged {
  kind: 'damaged';
  storeId: Buffer | null;
  report: DamageReport;
  salvaged: Replica;
  /** Above every sequence seen anywhere. */
  freshSeq: number;
  files: TruthFile[];
  nextNumber: number;
  highWaterCounter: number;
}

export type Recovery = { kind: 'new' } | Sound | Damaged;

export function recover(disk: Disk, places: Places): Recovery {
  const files = survey(disk, places);
  const highWater = readHighWater(disk, places);
  if (files.length === 0 && highWater === null) return { kind: 'new' };
  return new Reading(disk, places, files, highWater).conclude();
}

class Reading {
  readonly #disk: Disk;
  readonly #places: Places;
  readonly #files: TruthFile[];
  readonly #highWater: HighWater | null;
  readonly #problems: string[] = [];
  readonly #damagedBases: TruthFile[] = [];
  readonly #tails: TailContents[] = [];
  readonly #commits = new Map<number, Frame>();
  #base: BaseContents | null = null;
  #storeId: Buffer | null = null;

  constructor(disk: Disk, places: Places, files: TruthFile[], highWater: HighWater | null) {
    this.#disk = disk;
    this.#places = places;
    this.#files = files;
    this.#highWater = highWater;
  }

  conclude(): Sound | Damaged {
    this.#checkStoreIds();
    this.#chooseBase();
    const start = this.#start();
    this.#readTails(start.seq);
    this.#collectCommits(start.seq);
    const { links, last } = this.#follow(start);
    const markSeq = this.#markSeq(start.seq);
    this.#checkTailNumbers();
    this.#checkHighWater(links);
    if (last.seq < markSeq) this.#problems.push(`commit ${last.seq + 1} is missing or damaged`);
    if (this.#problems.length > 0) return this.#damaged(last.seq, markSeq);
    const replica = this.#replay(start.seq, last.seq);
    if (replica === null) return this.#damaged(last.seq, markSeq);
    return this.#sound(replica, links, last.seq, markSeq);
  }

  #checkStoreIds(): void {
    for (const { name, header } of this.#files) {
      if (header === null) continue;
      this.#storeId ??= header.storeId;
      if (!this.#storeId.equals(header.storeId)) this.#problems.push(`${name} belongs to another store`);
    }
  }

  /** The newest base that verifies whole. Rank is the sequence inside, not the name. */
  #chooseBase(): void {
    const bases = this.#files.filter(({ kind }) => kind === 'base');
    bases.sort((a, b) => (b.header?.prevSeq ?? -1) - (a.header?.prevSeq ?? -1));
    for (const file of bases) {
      if (file.header === null) {
        this.#damagedBases.push(file);
        continue;
      }
      if (this.#base !== null) continue;
      const contents = this.#tryBase(file);
      if (contents === null) this.#damagedBases.push(file);
      else this.#base = contents;
    }
  }

  #tryBase(file: TruthFile): BaseContents | null {
    try {
      const contents = readBase(this.#disk, file.path);
      return contents.problem === null ? contents : null;
    } catch (error) {
      refuseUnknown(error, file.name);
      if (isUnreadable(error)) return null;
      throw error;
    }
  }

  #start(): Link {
    const header = this.#base?.header;
    if (header) return { seq: header.prevSeq, crc: header.prevCrc };
    const isFromTheBeginning = this.#files.some(({ kind, header }) => kind === 'tail' && header?.prevSeq === 0);
    if (!isFromTheBeginning) this.#problems.push('no base can be read and the first tail is missing');
    return { seq: 0, crc: 0 };
  }

  /** Tails that may hold something beyond `startSeq`. One that cannot be placed may be any of them. */
  #readTails(startSeq: number): void {
    const tails = this.#files.filter(({ kind }) => kind === 'tail');
    tails.forEach((file, index) => {
      const isBefore = tails.slice(index + 1).some(({ header }) => header !== null && header.pinned <= startSeq);
      if (isBefore) return;
      if (file.header === null) this.#problems.push(`the header of ${file.name} is damaged`);
      this.#tails.push(readTail(this.#disk, file));
    });
  }

  #isVoid(seq: number, number: number): boolean {
    return this.#tails.some(({ file }) => file.number > number && file.header !== null && file.header.pinned < seq);
  }

  #collectCommits(startSeq: number): void {
    for (const { file, frames } of this.#tails) {
      for (const { frame } of frames) {
        const { kind, seq } = frame.header;
        if (kind !== KIND_COMMIT || seq <= startSeq || this.#isVoid(seq, file.number)) continue;
        const known = this.#commits.get(seq);
        if (known !== undefined && !known.bytes.equals(frame.bytes)) {
          this.#problems.push(`two different commits ${seq} are on disk, one in ${file.name}`);
        }
        this.#commits.set(seq, frame);
      }
    }
  }

  #follow(start: Link): { links: Map<number, number>; last: Link } {
    const links = new Map([[start.seq, start.crc]]);
    let last = start;
    for (;;) {
      const next = this.#commits.get(last.seq + 1);
      if (next === undefined || next.header.prevCrc !== last.crc) return { links, last };
      last = { seq: last.seq + 1, crc: next.crc };
      links.set(last.seq, last.crc);
    }
  }

  #markSeq(startSeq: number): number {
    let mark = Math.max(startSeq, this.#highWater?.seq ?? 0);
    for (const { file, frames, rotten } of this.#tails) {
      // Everything a tail takes over was synced in it before it got its name.
      mark = Math.max(mark, file.header?.prevSeq ?? 0, file.header?.pinned ?? 0);
      const witness = (header: FrameHeader) => {
        if (!this.#isVoid(header.seq, file.number)) mark = Math.max(mark, header.durableSeq);
      };
      for (const { frame } of frames) witness(frame.header);
      rotten.forEach(witness);
    }
    return mark;
  }

  #checkTailNumbers(): void {
    const newest = Math.max(0, ...this.#files.filter(({ kind }) => kind === 'tail').map(({ number }) => number));
    const known = Math.max(this.#highWater?.tail ?? 0, this.#base?.header?.pinned ?? 0);
    if (newest < known) this.#problems.push(`the tail ${known} is missing`);
  }

  /** A store put back from an old copy may be sound in itself: then the chain does not lead to the witness. */
  #checkHighWater(links: Map<number, number>): void {
    if (this.#highWater === null) return;
    const { seq, crc, storeId } = this.#highWater;
    if (this.#storeId !== null && !this.#storeId.equals(storeId))
      this.#problems.push('high-water belongs to another store');
    const found = links.get(seq);
    if (found !== undefined && found !== crc) this.#problems.push(`commit ${seq} is not the one that was saved`);
  }

  #replay(fromSeq: number, toSeq: number): Replica | null {
    const replica = this.#base?.replica ?? new Replica();
    for (let seq = fromSeq + 1; seq <= toSeq; seq++) {
      const frame = this.#commits.get(seq) as Frame;
      try {
        replica.applyCommit(frame);
      } catch (error) {
        refuseUnknown(error, `commit ${seq}`);
        if (!isUnreadable(error)) throw error;
        this.#problems.push(`commit ${seq} does not fit: ${(error as Error).message}`);
        return null;
      }
    }
    return replica;
  }

  #sound(replica: Replica, links: Map<number, number>, lastSeq: number, markSeq: number): Sound {
    const beyond: Buffer[] = [];
    for (let seq = markSeq + 1; seq <= lastSeq; seq++) beyond.push((this.#commits.get(seq) as Frame).bytes);
    return {
      kind: 'sound',
      storeId: this.#storeId as Buffer,
      replica,
      durable: { seq: markSeq, crc: links.get(markSeq) as number },
      beyond,
      lastSeq,
      cut: this.#cut(lastSeq),
      damagedBases: this.#damagedBases,
      files: this.#files,
      nextNumber: this.#nextNumber(),
      highWaterCounter: this.#highWater?.counter ?? 0,
    };
  }

  /** Only the newest tail can have a loose end: earlier ones were cut when it began. */
  #cut(lastSeq: number): Cut | null {
    const newest = this.#tails.at(-1);
    if (newest === undefined) return null;
    let end = FILE_HEADER_BYTES;
    for (const { frame, offset } of newest.frames) if (frame.header.seq <= lastSeq) end = offset + frame.bytes.length;
    if (isZero(newest.bytes, end, newest.bytes.length)) return null;
    return { file: newest.file, offset: end, bytes: newest.bytes.subarray(end) };
  }

  #damaged(soundSeq: number, markSeq: number): Damaged {
    const salvaged = this.#salvage();
    const known = new Map<string, number>();
    let freshSeq = Math.max(markSeq, soundSeq);
    const note = ({ seq, documents }: FrameHeader) => {
      freshSeq = Math.max(freshSeq, seq);
      for (const { name, version } of documents) known.set(name, Math.max(known.get(name) ?? 0, version));
    };
    for (const { frames, rotten } of this.#tails) {
      for (const { frame } of frames) note(frame.header);
      rotten.forEach(note);
    }
    for (const [name, { version }] of salvaged.documents) known.set(name, Math.max(known.get(name) ?? 0, version));
    return {
      kind: 'damaged',
      storeId: this.#storeId,
      report: {
        directory: this.#places.directory,
        problems: this.#problems,
        lost: soundSeq < markSeq ? { from: soundSeq + 1, to: markSeq } : null,
        soundSeq,
        documents: [...known].map(([name, knownVersion]) => ({
          name,
          knownVersion,
          savedVersion: salvaged.documents.get(name)?.version ?? 0,
        })),
      },
      salvaged,
      freshSeq: freshSeq + 1,
      files: this.#files,
      nextNumber: this.#nextNumber(),
      highWaterCounter: this.#highWater?.counter ?? 0,
    };
  }

  /** Each document as far as its own history is whole: a commit lost for one does not hold back the others. */
  #salvage(): Replica {
    const file = this.#files.find(({ header }) => header !== null && header === this.#base?.header);
    const base =
      this.#files.find(({ kind, number }) => kind === 'base' && number === this.#base?.header?.number) ?? file;
    const replica = (base === undefined ? null : this.#tryBase(base))?.replica ?? new Replica();
    for (const seq of [...this.#commits.keys()].sort((a, b) => a - b)) {
      try {
        replica.applySalvageable(this.#commits.get(seq) as Frame);
      } catch (error) {
        if (!isUnreadable(error)) throw error;
      }
    }
    return replica;
  }

  #nextNumber(): number {
    return Math.max(this.#highWater?.tail ?? 0, ...this.#files.map(({ number }) => number)) + 1;
  }
}

/** What decoding and applying say about bytes that verify and still make no sense. */
function isUnreadable(error: unknown): boolean {
  return (
    error instanceof Misfit || error instanceof TypeError || error instanceof SyntaxError || error instanceof RangeError
  );
}

function refuseUnknown(error: unknown, where: string): void {
  if (error instanceof UnknownOp) refuseVersion(where, error.message);
}
