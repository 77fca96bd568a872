// The store's state at a durable sequence, kept up by reading the journal's files, as recovery does. Nothing is handed
// over: what this sees is what the disk holds.
//
// F1. No commit beyond the sequence asked for is applied: it may not be durable.
// F2. Each commit is applied once, and only if it names the checksum of the one before.
// F3. A commit is read from the highest-numbered tail that begins at or before it. What lower ones hold from there on is
//     a copy, or void. A copy is read only when the other cannot be: recovery accepts it, so it must be found here too.
// F4. When the way on is gone (deleted behind us, or another history), everything is read again from a base. Not from one
//     that led nowhere: a power cut may bring back a deleted base and not the tails that went on from it.

import { Misfit, UnknownOp } from '../change/apply.js';
import type { Disk } from '../disk/disk.js';
import { isCode } from '../disk/faults.js';
import { withFile } from '../disk/files.js';
import { HoldfastError } from '../errors.js';
import { readBase } from '../journal/base.js';
import type { Link } from '../journal/chain.js';
import { refuseVersion } from '../journal/file-header.js';
import type { Frame } from '../journal/frame.js';
import { FILE_HEADER_BYTES, KIND_COMMIT, KIND_END, KIND_MARK } from '../journal/layout.js';
import type { LogExtent } from '../journal/log-key.js';
import type { Places } from '../journal/places.js';
import { Replica, type ReplicaDocument } from '../journal/replica.js';
import { scanInPlace } from '../journal/scan.js';
import { Shelf, type Shelved } from './shelf.js';

/** The way on is not there. Reading everything again may find another. */
class Lost extends Error {}

/** Files may rotate away while we read; one that does so every time is no rotation. */
const ATTEMPTS_MAX = 4;

export class Follower {
  readonly #disk: Disk;
  readonly #shelf: Shelf;
  readonly #past: { only?: string | undefined } | undefined;
  #replica: Replica;
  #at: Link = { seq: 0, crc: 0 };
  #cursor: { number: number; offset: number } | null = null;
  #changedSeq = new Map<string, number>();
  #isBuilt = false;
  /** The base that the replica was built from. */
  #builtFrom: string | null = null;
  #problem: string | null = null;

  /** `past` is for a look back: at nothing but the document `only`, and at no later state as long as an earlier one is kept. */
  constructor(disk: Disk, places: Places, storeId?: Buffer, past?: { only?: string | undefined }) {
    this.#disk = disk;
    this.#shelf = new Shelf(disk, places, storeId);
    this.#past = past;
    this.#replica = new Replica(past?.only);
  }

  /** The last commit applied. */
  get at(): Link {
    return this.#at;
  }

  get documents(): ReadonlyMap<string, ReplicaDocument> {
    return this.#replica.documents;
  }

  get logs(): ReadonlyMap<string, LogExtent> {
    return this.#replica.logs;
  }

  /** Why the last `catchUp` did not come as far as it was asked to; null when it did. */
  get problem(): string | null {
    return this.#problem;
  }

  /** A commit not before the one that last changed this document; the same as long as it does not change. */
  changedSeq(name: string): number {
    return this.#changedSeq.get(name) ?? 0;
  }

  /**
   * Applies commits up to `toSeq`, which must be durable, and returns how far it got: less when frames are not there yet,
   * more only when it was there already or the files begin later. Throws HF_DAMAGED when what is there does not fit.
   */
  catchUp(toSeq: number): number {
    const deadEnds = new Set<string>();
    for (let attempt = 1; ; attempt++) {
      this.#problem = null;
      try {
        if (!this.#isBuilt) this.#build(toSeq, deadEnds);
        this.#follow(toSeq);
        return this.#at.seq;
      } catch (error) {
        if (error instanceof UnknownOp) refuseVersion('a frame', error.message);
        const isFit = !(error instanceof Misfit || error instanceof Lost);
        if (isFit && !isCode(error, 'ENOENT')) throw error;
        // Of a commit that does not fit, a part may have been applied.
        if (!isFit) this.#isBuilt = false;
        if (error instanceof Lost && this.#builtFrom !== null) deadEnds.add(this.#builtFrom);
        if (attempt === ATTEMPTS_MAX) throw damaged(this.#shelf.places.directory, error as Error);
      }
    }
  }

  /** From the newest sound base at or before `toSeq`; else from a later one, since a base holds only what is durable. */
  #build(toSeq: number, deadEnds: ReadonlySet<string>): void {
    this.#replica = new Replica(this.#past?.only);
    this.#at = { seq: 0, crc: 0 };
    this.#cursor = null;
    this.#changedSeq = new Map();
    this.#builtFrom = null;
    this.#shelf.refresh();
    for (const { path, header } of this.#shelf.basesFor(toSeq)) {
      if (deadEnds.has(path)) continue;
      if (this.#past !== undefined && header.prevSeq > toSeq && this.#shelf.beforeTails === 0) break;
      const { problem, replica } = readBase(this.#disk, this.#shelf.places, path, this.#past?.only);
      if (problem !== null) continue;
      this.#replica = replica;
      this.#builtFrom = path;
      this.#at = { seq: header.prevSeq, crc: header.prevCrc };
      for (const name of replica.documents.keys()) this.#changedSeq.set(name, header.prevSeq);
      break;
    }
    this.#isBuilt = true;
  }

  #follow(toSeq: number): void {
    if (this.#at.seq >= toSeq) return;
    this.#shelf.refresh();
    while (this.#at.seq < toSeq) {
      const { seq } = this.#at;
      const owner = this.#shelf.ownerOf(seq + 1);
      if (owner === null) throw new Lost(`no tail holds commit ${seq + 1}`);
      const lastSeq = Math.min(toSeq, owner.lastSeq);
      this.#read(owner.tail, lastSeq);
      if (this.#at.seq < lastSeq) this.#mend(owner.tail, lastSeq);
      if (this.#at.seq < lastSeq) {
        this.#problem ??= `commit ${this.#at.seq + 1} is not in ${owner.tail.path} yet`;
        return;
      }
    }
  }

  /** What this tail does not hold any more, from copies; then on in it, behind the gap. */
  #mend(tail: Shelved, lastSeq: number): void {
    const { seq } = this.#at;
    for (const copy of this.#shelf.copiesBelow(tail.number)) {
      if (copy.lastSeq <= this.#at.seq) break;
      this.#readAcrossGaps(copy.tail, Math.min(copy.lastSeq, lastSeq));
    }
    if (this.#at.seq > seq) this.#readAcrossGaps(tail, lastSeq);
    if (this.#at.seq >= lastSeq) this.#problem = null;
  }

  #readAcrossGaps({ path, number }: Shelved, lastSeq: number): void {
    withFile(this.#disk, path, (handle) => {
      for (const found of scanInPlace(this.#disk, handle, FILE_HEADER_BYTES)) {
        if (this.#at.seq >= lastSeq) return;
        if (found.kind === 'bad') continue;
        if (found.frame.header.seq > this.#at.seq + 1) return;
        this.#take(found.frame, path);
        this.#cursor = { number, offset: found.offset + found.frame.bytes.length };
      }
    });
  }

  /** Applies what this tail holds up to `lastSeq`, from where we left it. */
  #read({ path, number }: Shelved, lastSeq: number): void {
    if (this.#cursor?.number !== number) this.#cursor = { number, offset: FILE_HEADER_BYTES };
    const cursor = this.#cursor;
    withFile(this.#disk, path, (handle) => {
      for (const found of scanInPlace(this.#disk, handle, cursor.offset)) {
        // A frame being written, or a gap before one that was not synced: nothing behind it is durable yet.
        if (found.kind === 'bad' || found.offset !== cursor.offset) {
          this.#problem = `${path} cannot be read at byte ${cursor.offset}`;
          return;
        }
        this.#take(found.frame, path);
        cursor.offset += found.frame.bytes.length;
        // What follows is for later, or void and perhaps torn: it is not ours to judge.
        if (this.#at.seq === lastSeq) return;
      }
    });
  }

  #take(frame: Frame, path: string): void {
    const { kind, seq, prevCrc, documents } = frame.header;
    if (kind === KIND_MARK || kind === KIND_END) return;
    if (kind !== KIND_COMMIT) refuseVersion(path, `a frame of kind ${kind}`);
    // A tail that took over from another begins with copies.
    if (seq < this.#at.seq) return;
    if (seq === this.#at.seq && frame.crc === this.#at.crc) return;
    if (seq !== this.#at.seq + 1 || prevCrc !== this.#at.crc)
      throw new Lost(`commit ${seq} in ${path} does not follow commit ${this.#at.seq}`);
    this.#replica.applyCommit(frame);
    this.#at = { seq, crc: frame.crc };
    for (const { name } of documents) this.#changedSeq.set(name, seq);
  }
}

function damaged(directory: string, cause: Error): HoldfastError {
  return new HoldfastError(
    'HF_DAMAGED',
    `The journal of ${directory} cannot be followed: ${cause.message}. Memory and later commits are not affected. ` +
      'Open the store again: recovery will tell what is damaged.',
    { cause },
  );
}
