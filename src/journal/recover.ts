// From the files to one state, or to a report; nothing in between and nothing guessed. This file only reads.
//
// W is the high-water mark (witnesses.ts).
// I1. A commit at or below W that cannot be read is damage. Beyond W it is an ordinary crash, and is cut there even if
//     later frames verify: a power cut may keep page 3 of an unsynced batch and lose page 2.
// I2. From its first sequence on the highest-numbered tail wins. What lower ones hold beyond its pinned sequence is void.
// I3. Copies of one commit are byte-identical, or the store is damaged.
// I4. Every link is checked: sequence, and the checksum of the frame before.

import { Misfit } from '../change/apply.js';
import type { Disk } from '../disk/disk.js';
import { withFile } from '../disk/files.js';
import type { Link } from './chain.js';
import { basesIn, type ChosenBase, chooseBase } from './choose-base.js';
import type { Frame } from './frame.js';
import { type HighWater, readHighWater } from './high-water.js';
import { FILE_HEADER_BYTES, KIND_COMMIT } from './layout.js';
import type { Places } from './places.js';
import type { Cut, Damaged, Recovery, Sound } from './recovery.js';
import { orRefuse, Replica } from './replica.js';
import { salvage } from './salvage.js';
import { endsInZeros } from './scan.js';
import { isVoid, readTail, splitFenced, survey, type TailContents, type TruthFile } from './survey.js';
import { markSeqOf, movedSeq, publishedSeq } from './witnesses.js';

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
  readonly #tails: TailContents[] = [];
  readonly #commits = new Map<number, Frame>();
  #bases: ChosenBase = { base: null, damaged: [], problems: [] };
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
    const published = publishedSeq(this.#disk, this.#places, this.#storeId);
    this.#bases = chooseBase(this.#disk, this.#places, this.#files);
    const start = this.#start();
    this.#readTails(start.seq);
    this.#collectCommits(start.seq);
    const { links, last } = this.#follow(start);
    const markSeq = markSeqOf({
      highWater: this.#highWater,
      knownSeq: Math.max(start.seq, published),
      movedSeq: movedSeq(this.#disk, this.#places, this.#storeId),
      files: this.#files,
      tails: this.#tails,
    });
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

  #start(): Link {
    const header = this.#bases.base?.header;
    if (header) return { seq: header.prevSeq, crc: header.prevCrc };
    const isFromTheBeginning = this.#files.some(({ kind, header }) => kind === 'tail' && header?.prevSeq === 0);
    if (!isFromTheBeginning)
      this.#problems.push('no base can be read and the first tail is missing', ...this.#bases.problems);
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

  #checkTailNumbers(): void {
    const newest = Math.max(0, ...this.#files.filter(({ kind }) => kind === 'tail').map(({ number }) => number));
    const known = Math.max(
      this.#highWater?.tail ?? 0,
      ...basesIn(this.#files).map(({ header }) => header?.pinned ?? 0),
    );
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
    const replica = this.#bases.base?.replica ?? new Replica();
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
      damagedBases: this.#bases.damaged,
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
