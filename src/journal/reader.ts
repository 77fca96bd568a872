// A store read beside its writer: no lock, and not a byte written. What is read may be written on, rotated away or deleted
// at the same time.
//
// R1. A verdict counts only if nothing changed while it was reached: a file that vanished, or damage seen while the
//     writer was at work, is looked at again from a fresh listing. Bounded.
// R2. Commits are taken in their chain, as in recovery. A frame that cannot be read and that nothing says was durable is
//     not there yet.
// R3. Following reads only what the newest tail has gained. Whatever else happened (a new tail, another history, a frame
//     that does not fit) is left to a full reading.

import { join } from 'node:path';
import { Misfit, UnknownOp } from '../change/apply.js';
import type { Disk } from '../disk/disk.js';
import { isCode } from '../disk/faults.js';
import { withFile } from '../disk/files.js';
import { readingDisk } from '../disk/reading-disk.js';
import { HoldfastError } from '../errors.js';
import type { Link } from './chain.js';
import { damageError } from './damage.js';
import { readHighWater } from './high-water.js';
import { KIND_COMMIT } from './layout.js';
import { type Places, parseTruthName } from './places.js';
import { recover } from './recover.js';
import type { Sound } from './recovery.js';
import { Replica } from './replica.js';
import { scan } from './scan.js';

// Captured at import: a program's fake timers must not freeze it.
const { setTimeout } = globalThis;

/** Rotation and compaction are seconds apart; a store that never holds still is not a running one. */
const ATTEMPTS_MAX = 8;
const PAUSE_MS = 5;

export class StoreReader {
  readonly #places: Places;
  readonly #disk: Disk;
  #storeId: Buffer | null = null;
  #replica = new Replica();
  #last: Link = { seq: 0, crc: 0 };
  #durableSeq = 0;
  #end: Sound['end'] = null;
  /** A part of a commit was applied: nothing may be shown before everything has been read again. */
  #isSpoiled = false;

  constructor(places: Places, disk: Disk = readingDisk) {
    this.#places = places;
    this.#disk = disk;
  }

  get documents(): Replica['documents'] {
    return this.#whole().documents;
  }

  get logs(): Replica['logs'] {
    return this.#whole().logs;
  }

  #whole(): Replica {
    if (this.#isSpoiled)
      throw new HoldfastError(
        'HF_DAMAGED',
        `A commit in ${this.#places.directory} did not fit, and a part of it was applied. Refresh again.`,
      );
    return this.#replica;
  }

  /** The newest commit seen. It may not be durable yet. */
  get lastSeq(): number {
    return this.#last.seq;
  }

  /** Known to be durable, as far as has been seen. */
  get durableSeq(): number {
    return this.#durableSeq;
  }

  /** Everything, from the files. When it rejects, what was read before stays. */
  async read(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      if (this.#tryToRead(attempt === ATTEMPTS_MAX)) return;
      await new Promise<void>((resolve) => setTimeout(resolve, PAUSE_MS * attempt));
    }
  }

  /** What is new since the last reading; everything, where that is not simply more of the same tail. */
  async catchUp(): Promise<void> {
    if (!this.#tryToFollow()) await this.read();
  }

  /** Synchronous: nobody sees half of it. False when it has to be tried again. */
  #tryToRead(isLast: boolean): boolean {
    try {
      const before = this.#print();
      const found = recover(this.#disk, this.#places);
      if (found.kind === 'new') throw this.#missing('holds no store. Make one with open(), or check the path');
      if (found.kind === 'damaged') {
        if (!isLast && this.#print() !== before) return false;
        throw damageError(found.report);
      }
      this.#take(found);
      return true;
    } catch (error) {
      if (isLast || !isCode(error, 'ENOENT')) throw error;
      return false;
    }
  }

  #take({ storeId, replica, last, durable, end }: Sound): void {
    this.#storeId ??= storeId;
    if (!this.#storeId.equals(storeId)) throw this.#missing('holds another store than before. Open it again');
    this.#replica = replica;
    this.#isSpoiled = false;
    this.#last = last;
    this.#durableSeq = durable.seq;
    this.#end = end;
  }

  #missing(what: string): HoldfastError {
    return new HoldfastError('HF_MISSING', `${this.#places.directory} ${what}. Nothing was created.`);
  }

  /** The same as long as nobody writes. */
  #print(): string {
    if (this.#disk.entry(this.#places.hidden) === null) return '';
    const names = this.#disk.list(this.#places.hidden).sort();
    return JSON.stringify(names.map((name) => [name, this.#disk.entry(join(this.#places.hidden, name))]));
  }

  /** False when a full reading has to tell. */
  #tryToFollow(): boolean {
    const end = this.#end;
    if (end === null || this.#isSpoiled) return false;
    try {
      // Before the tail, so that it is never ahead of what is read.
      const witness = readHighWater(this.#disk, this.#places);
      if (this.#newestTail() !== end.file.number) return false;
      const durableSeq = this.#takeFrames(end);
      this.#durableSeq = Math.max(this.#durableSeq, durableSeq, witness?.seq ?? 0);
      return this.#durableSeq <= this.#last.seq && this.#isStill(witness?.storeId);
    } catch (error) {
      if (error instanceof Misfit || error instanceof UnknownOp || isCode(error, 'ENOENT')) return false;
      throw error;
    }
  }

  #isStill(storeId: Buffer | undefined): boolean {
    return storeId === undefined || storeId.equals(this.#storeId as Buffer);
  }

  #newestTail(): number {
    let newest = 0;
    for (const name of this.#disk.list(this.#places.hidden)) {
      const parsed = parseTruthName(name);
      if (parsed?.kind === 'tail') newest = Math.max(newest, parsed.number);
    }
    return newest;
  }

  /** Returns the highest sequence that anything there says is durable. */
  #takeFrames(end: NonNullable<Sound['end']>): number {
    let durableSeq = 0;
    let isInLine = true;
    withFile(this.#disk, end.file.path, (handle) => {
      // The name may have gone to another file; ours only grows.
      if (this.#disk.size(handle) < end.offset) throw new Misfit('the tail became shorter');
      for (const found of scan(this.#disk, handle, end.offset)) {
        const header = found.kind === 'frame' ? found.frame.header : found.header;
        durableSeq = Math.max(durableSeq, header?.durableSeq ?? 0);
        isInLine &&= found.kind === 'frame' && found.offset === end.offset;
        if (!isInLine || found.kind !== 'frame') continue;
        const { frame } = found;
        if (frame.header.kind === KIND_COMMIT) {
          if (frame.header.seq !== this.#last.seq + 1 || frame.header.prevCrc !== this.#last.crc)
            throw new Misfit(`commit ${frame.header.seq} does not follow commit ${this.#last.seq}`);
          this.#isSpoiled = true;
          this.#replica.applyCommit(frame);
          this.#isSpoiled = false;
          this.#last = { seq: frame.header.seq, crc: frame.crc };
        }
        end.offset += frame.bytes.length;
      }
    });
    return durableSeq;
  }
}
