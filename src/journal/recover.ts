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
import { withFile } from '../disk/files.js';
import { durableWitness } from '../projection/record.js';
import { type BaseContents, readBase } from './base.js';
import type { Link } from './chain.js';
import type { DamageReport } from './damage.js';
import { refuseVersion } from './file-header.js';
import type { Frame, FrameHeader } from './frame.js';
import { type HighWater, readHighWater } from './high-water.js';
import { FILE_HEADER_BYTES, KIND_COMMIT } from './layout.js';
import type { Places } from './places.js';
import { Replica } from './replica.js';
import { salvage } from './salvage.js';
import type { Run } from './salvaged-logs.js';
import { endsInZeros } from './scan.js';
import { soundSegments } from './segment.js';
import { isVoid, readTail, splitFenced, survey, type TailContents, type TruthFile } from './survey.js';

/** Where the last accepted frame of a tail ends and something else follows. */
export interface Cut {
  file: TruthFile;
  offset: number;
}

export interface Sound {
  kind: 'sound';
  storeId: Buffer;
  replica: Replica;
  /** Up to here everything is known to be durable. */
  durable: Link;
  /** Accepted frames beyond it. */
  beyond: Buffer[];
  /** The last accepted commit. */
  last: Link;
  /** The newest tail, and where its last accepted frame ends; null when no tail was needed. */
  end: Cut | null;
  cut: Cut | null;
  damagedBases: TruthFile[];
  /** Tails of a process that had lost the store. */
  fenced: TruthFile[];
  /** The highest owner number in any header: the next owner must be above it. */
  ownerMax: number;
  nextNumber: number;
}

export interface Damaged {
  kind: 'damaged';
  storeId: Buffer | null;
  report: DamageReport;
  salvaged: Replica;
  /** Entries of logs that have no file of their own yet. */
  runs: Run[];
  /** Above every sequence seen anywhere. */
  freshSeq: number;
  files: TruthFile[];
  ownerMax: number;
  nextNumber: number;
}

export type Recovery = { kind: 'new' } | Sound | Damaged;

export function recover(disk: Disk, places: Places): Recovery {
  // Witnesses before what they witness: beside a running writer, what is read later is never behind what was read before.
  const highWater = readHighWater(disk, places);
  const { files, fenced } = splitFenced(survey(disk, places));
  if (files.length === 0 && highWater === null) return { kind: 'new' };
  return new Reading(disk, places, files, fenced, highWater).conclude();
}

class Reading {
  readonly #disk: Disk;
  readonly #places: Places;
  readonly #files: TruthFile[];
  readonly #fenced: TruthFile[];
  readonly #highWater: HighWater | null;
  readonly #problems: string[] = [];
  readonly #damagedBases: TruthFile[] = [];
  readonly #baseProblems: string[] = [];
  readonly #tails: TailContents[] = [];
  readonly #commits = new Map<number, Frame>();
  #base: BaseContents | null = null;
  #storeId: Buffer | null = null;

  constructor(disk: Disk, places: Places, files: TruthFile[], fenced: TruthFile[], highWater: HighWater | null) {
    this.#disk = disk;
    this.#places = places;
    this.#files = files;
    this.#fenced = fenced;
    this.#highWater = highWater;
  }

  conclude(): Sound | Damaged {
    this.#checkStoreIds();
    const publishedSeq = this.#publishedSeq();
    this.#chooseBase();
    const start = this.#start();
    this.#readTails(start.seq);
    this.#collectCommits(start.seq);
    const { links, last } = this.#follow(start);
    const markSeq = this.#markSeq(Math.max(start.seq, publishedSeq));
    this.#checkTailNumbers();
    this.#checkHighWater(links);
    if (last.seq < markSeq) this.#problems.push(`commit ${last.seq + 1} is missing or damaged`);
    if (this.#problems.length > 0) return this.#damaged(last.seq, markSeq);
    const replica = this.#replay(start.seq, last.seq);
    if (replica === null) return this.#damaged(last.seq, markSeq);
    return this.#sound(replica, links, last, markSeq);
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
    const bases = this.#bases();
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
    const contents = orRefuse(file.name, () => readBase(this.#disk, this.#places, file.path));
    if (contents.problem !== null) this.#baseProblems.push(`${file.name}: ${contents.problem}`);
    return contents.problem === null ? contents : null;
  }

  #bases(): TruthFile[] {
    return this.#files.filter(({ kind }) => kind === 'base');
  }

  #start(): Link {
    const header = this.#base?.header;
    if (header) return { seq: header.prevSeq, crc: header.prevCrc };
    const isFromTheBeginning = this.#files.some(({ kind, header }) => kind === 'tail' && header?.prevSeq === 0);
    if (!isFromTheBeginning)
      this.#problems.push('no base can be read and the first tail is missing', ...this.#baseProblems);
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

  #collectCommits(startSeq: number): void {
    for (const { file, frames } of this.#tails) {
      for (const { frame } of frames) {
        const { kind, seq } = frame.header;
        if (kind !== KIND_COMMIT || seq <= startSeq || isVoid(this.#tails, seq, file.number)) continue;
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

  #markSeq(knownSeq: number): number {
    let mark = Math.max(knownSeq, this.#highWater?.seq ?? 0);
    // A base is written only once its last commit is durable: its header says so even when the rest of it has rotted.
    for (const { header } of this.#bases()) mark = Math.max(mark, header?.prevSeq ?? 0);
    mark = Math.max(mark, this.#movedSeq());
    for (const { file, frames, rotten } of this.#tails) {
      // Everything a tail takes over was synced in it before it got its name.
      mark = Math.max(mark, file.header?.prevSeq ?? 0, file.header?.pinned ?? 0);
      const witness = (header: FrameHeader) => {
        if (!isVoid(this.#tails, header.seq, file.number)) mark = Math.max(mark, header.durableSeq);
      };
      for (const { frame } of frames) witness(frame.header);
      rotten.forEach(witness);
    }
    return mark;
  }

  /** A file was published at this sequence, so it was durable. */
  #publishedSeq(): number {
    return this.#storeId === null ? 0 : durableWitness(this.#disk, this.#places, this.#storeId);
  }

  /** Only entries of durable commits get into a file of their own. If their commits could be cut, others would take their indices. */
  #movedSeq(): number {
    if (this.#storeId === null) return 0;
    const segments = soundSegments(this.#disk, this.#places, this.#storeId);
    return segments.reduce((seq, { header }) => Math.max(seq, header.prevSeq), 0);
  }

  #checkTailNumbers(): void {
    const newest = Math.max(0, ...this.#files.filter(({ kind }) => kind === 'tail').map(({ number }) => number));
    const known = Math.max(this.#highWater?.tail ?? 0, ...this.#bases().map(({ header }) => header?.pinned ?? 0));
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
        orRefuse(`commit ${seq}`, () => replica.applyCommit(frame));
      } catch (error) {
        if (!(error instanceof Misfit)) throw error;
        this.#problems.push(`commit ${seq} does not fit: ${error.message}`);
        return null;
      }
    }
    return replica;
  }

  #sound(replica: Replica, links: Map<number, number>, last: Link, markSeq: number): Sound {
    const beyond: Buffer[] = [];
    for (let seq = markSeq + 1; seq <= last.seq; seq++) beyond.push((this.#commits.get(seq) as Frame).bytes);
    const end = this.#end(last.seq);
    return {
      kind: 'sound',
      storeId: this.#storeId as Buffer,
      replica,
      durable: { seq: markSeq, crc: links.get(markSeq) as number },
      beyond,
      last,
      end,
      cut: end === null || this.#isClean(end) ? null : end,
      damagedBases: this.#damagedBases,
      fenced: this.#fenced,
      ownerMax: this.#ownerMax(),
      nextNumber: this.#nextNumber(),
    };
  }

  /** Only the newest tail can have a loose end: earlier ones were cut when it began. */
  #end(lastSeq: number): Cut | null {
    const newest = this.#tails.at(-1);
    if (newest === undefined) return null;
    let offset = FILE_HEADER_BYTES;
    for (const { frame, offset: at } of newest.frames)
      if (frame.header.seq <= lastSeq) offset = at + frame.bytes.length;
    return { file: newest.file, offset };
  }

  #isClean({ file, offset }: Cut): boolean {
    return withFile(this.#disk, file.path, (handle) => endsInZeros(this.#disk, handle, offset));
  }

  #damaged(soundSeq: number, markSeq: number): Damaged {
    const { replica, knownVersions, lastSeq, runs } = orRefuse('a frame', () =>
      salvage(this.#disk, this.#places, this.#files),
    );
    return {
      kind: 'damaged',
      storeId: this.#storeId,
      report: {
        directory: this.#places.directory,
        problems: this.#problems,
        lost: soundSeq < markSeq ? { from: soundSeq + 1, to: markSeq } : null,
        soundSeq,
        documents: [...knownVersions]
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([name, knownVersion]) => ({
            name,
            knownVersion,
            savedVersion: replica.versionOf(name),
          })),
      },
      salvaged: replica,
      runs,
      freshSeq: Math.max(markSeq, soundSeq, lastSeq) + 1,
      files: [...this.#files, ...this.#fenced],
      ownerMax: this.#ownerMax(),
      nextNumber: this.#nextNumber(),
    };
  }

  #ownerMax(): number {
    return Math.max(0, ...this.#files.map(({ header }) => header?.owner ?? 0));
  }

  #nextNumber(): number {
    const numbers = [...this.#files, ...this.#fenced].map(({ number }) => number);
    return Math.max(this.#highWater?.tail ?? 0, ...numbers) + 1;
  }
}

/** Something that only a later version can have written refuses the whole store. */
function orRefuse<R>(where: string, read: () => R): R {
  try {
    return read();
  } catch (error) {
    if (error instanceof UnknownOp) refuseVersion(where, error.message);
    throw error;
  }
}
