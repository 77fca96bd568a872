// The writing end. Encoded frames get a fixed place in the newest tail, and stay in memory until they are
// durable, so that any of them can be written again: to the same place after a failed write, to a new tail after a
// failed sync.
//
// I1. An encoded frame never changes, and neither does its offset in a tail.
// I2. `durableSeq` moves only after fdatasync returned on the descriptor that took every byte of those frames.
// I3. A descriptor whose sync failed is never synced again: the kernel has forgotten the pages and would say yes.
// I4. Marks and end frames repeat the last sequence. They hang off the chain and are no link of it.
// I5. While another thread syncs (`beginSync`), frames are written on. What its answer makes durable is what was written
//     before it was asked, and the file stays open until it has answered.

import type { Disk, Handle } from '../disk/disk.js';
import { isCode, writeFault } from '../disk/faults.js';
import { readAt, writeFully } from '../disk/files.js';
import { publish } from '../disk/publish.js';
import { HoldfastError } from '../errors.js';
import type { Encoded, Link } from './chain.js';
import { encodeFileHeader } from './file-header.js';
import { encodeFrame, frameCrc } from './frame.js';
import { HighWaterWriter } from './high-water.js';
import { CODEC_NONE, FILE_HEADER_BYTES, FILE_TAIL, KIND_END, KIND_MARK } from './layout.js';
import { type Places, truthName } from './places.js';

export interface JournalStart {
  disk: Disk;
  places: Places;
  storeId: Buffer;
  owner: number;
  /** Where the chain is known to be durable; the new tail pins this. */
  base: Link;
  /** Frames beyond it that were accepted. */
  frames: Buffer[];
  /** File numbers are never used twice, whoever takes them. */
  takeNumber: () => number;
  highWaterCounter: number;
  now: () => number;
  /** Throws when another process has become the owner: nothing may be acknowledged any more. */
  assertOwner: () => void;
  /** `isPassing`: what was asked for is done all the same. */
  onFault: (error: HoldfastError, isPassing: boolean) => void;
}

interface Held extends Encoded {
  offset: number;
}

/** Zeros written ahead: then fdatasync has no new file size to store. */
const ROOM_BYTES = 256 * 1024;
const BATCH_BYTES = 1024 * 1024;
/** Frames that may share a page with what a failed sync lost. */
const REWRITE_BYTES = 4096;

export class Journal {
  readonly #start: JournalStart;
  readonly #highWater: HighWaterWriter;
  #tail: { number: number; handle: Handle; path: string } | null = null;
  #end = 0;
  #roomEnd = 0;
  /** The newest link of the chain, durable or not. */
  #last: Link;
  #durable: Link;
  /** The link before the oldest frame held. */
  #before: Link;
  /** Recent durable frames, then all that are not durable yet. */
  #held: Held[] = [];
  #written = 0;
  /** The last frame that the sync under way covers, and how many of those held it covers. */
  #syncing: { last: Link; count: number } | null = null;

  /** Starts a tail that holds every accepted frame beyond `base`. When this returns, all of them are durable. */
  constructor(start: JournalStart) {
    this.#start = start;
    this.#highWater = new HighWaterWriter(start.disk, start.places, start.storeId, start.highWaterCounter);
    this.#before = start.base;
    this.#last = start.base;
    this.#durable = start.base;
    for (const bytes of start.frames) this.append({ bytes, crc: frameCrc(bytes), seq: this.#last.seq + 1 });
    this.#beginTail();
  }

  /** The newest frame, durable or not. */
  get last(): Link {
    return this.#last;
  }

  get durable(): Link {
    return this.#durable;
  }

  get tailNumber(): number {
    return this.#openTail().number;
  }

  /** Bytes in the newest tail. */
  get tailBytes(): number {
    return this.#end;
  }

  get hasUnwritten(): boolean {
    return this.#written < this.#held.length;
  }

  get hasPending(): boolean {
    return this.#durable.seq < this.#last.seq;
  }

  /** A sync is under way on another thread. Until it has ended, only `append` and `write` are for now. */
  get isSyncing(): boolean {
    return this.#syncing !== null;
  }

  /** Throws when nothing can be appended now: before anything was taken out of its document. */
  assertReady(): void {
    this.#openTail();
  }

  /** Gives the next frame of the chain its place. It survives nothing until `write` or `sync`. */
  append({ seq, crc, bytes }: Encoded): void {
    this.#held.push({ seq, crc, bytes, offset: this.#end });
    this.#end += bytes.length;
    this.#last = { seq, crc };
  }

  /** After this, frames survive the end of the process. */
  write(): void {
    const tail = this.#openTail();
    try {
      while (this.#written < this.#held.length) this.#writeSome(tail.handle);
    } catch (error) {
      throw writeFault(error, 'Writing to', tail.path);
    }
  }

  /** Frames that wait are neighbours in the file: one call for many of them. */
  #writeSome(handle: Handle): void {
    const first = this.#held[this.#written] as Held;
    const batch: Buffer[] = [];
    let end = first.offset;
    for (let at = this.#written; at < this.#held.length && end - first.offset < BATCH_BYTES; at++) {
      const { bytes } = this.#held[at] as Held;
      batch.push(bytes);
      end += bytes.length;
    }
    this.#makeRoom(handle, end);
    const bytes = batch.length === 1 ? first.bytes : Buffer.concat(batch);
    writeFully(this.#start.disk, handle, bytes, first.offset);
    this.#written += batch.length;
  }

  /**
   * Writes what is appended, and hands out the file for another thread to sync. The caller comes back with the answer.
   * Null when everything is durable already.
   */
  beginSync(): Handle | null {
    this.#assertNotSyncing();
    if (this.hasPending) this.write();
    if (!this.hasPending) return null;
    const { handle } = this.#openTail();
    this.#syncing = { last: this.#last, count: this.#held.length };
    return handle;
  }

  /** The sync has ended; `error` is why it failed. */
  endSync(error: unknown): void {
    const syncing = this.#syncing;
    if (syncing === null) throw new Error('No sync is under way');
    this.#syncing = null;
    // What was written meanwhile went to the same file: a new tail takes all of it.
    if (error !== null) this.#replaceTail(error, this.#openTail().path);
    else this.#acknowledge(syncing.last, syncing.count);
  }

  #assertNotSyncing(): void {
    if (this.#syncing !== null) throw new Error('A sync is under way');
  }

  /** After this, frames survive a power cut. */
  sync(): void {
    this.#assertNotSyncing();
    if (!this.hasPending) return;
    this.write();
    const tail = this.#openTail();
    try {
      this.#start.disk.syncData(tail.handle);
    } catch (error) {
      this.#replaceTail(error, tail.path);
      return;
    }
    this.#acknowledge(this.#last, this.#held.length);
  }

  /** Makes what is durable known on disk: damage to it can then be told from a crash. */
  mark(): void {
    this.sync();
    this.#writeAside(KIND_MARK);
    this.#witness();
  }

  /** Ends this tail and goes on in a new one. */
  rotate(): void {
    this.sync();
    this.#writeAside(KIND_END);
    this.#giveBackRoom();
    this.#closeTail();
    this.#before = this.#durable;
    this.#held = [];
    // Should the new tail fail: what is appended before the next attempt is in no file yet.
    this.#written = 0;
    this.#beginTail();
  }

  close(): void {
    if (this.#tail === null) return;
    this.sync();
    this.#writeAside(KIND_END);
    this.#witness();
    this.#giveBackRoom();
    this.#closeTail();
  }

  /** Lets go of the tail without writing anything more. */
  abandon(): void {
    if (this.#tail !== null) this.#closeTail();
  }

  #writeAside(kind: number): void {
    const tail = this.#openTail();
    const { seq, crc: prevCrc } = this.#durable;
    const timeMs = this.#start.now();
    const header = { kind, codec: CODEC_NONE, seq, timeMs, prevCrc, durableSeq: seq, documents: [] };
    const bytes = encodeFrame(header, Buffer.alloc(0));
    try {
      writeFully(this.#start.disk, tail.handle, bytes, this.#end);
      this.#start.disk.syncData(tail.handle);
    } catch (error) {
      // The frames before it are durable already; go on in a new tail, since this descriptor cannot be trusted.
      this.#end += bytes.length;
      this.#replaceTail(error, tail.path);
      return;
    }
    this.#end += bytes.length;
  }

  #makeRoom(handle: Handle, end: number): void {
    if (end <= this.#roomEnd) return;
    const from = Math.max(this.#roomEnd, end);
    try {
      writeFully(this.#start.disk, handle, Buffer.alloc(ROOM_BYTES), from);
      this.#roomEnd = from + ROOM_BYTES;
    } catch (error) {
      // Room is for speed only. Whether the frame itself fits, its own write will say.
      if (!isCode(error, 'ENOSPC', 'EDQUOT', 'EFBIG')) throw error;
      this.#roomEnd = end;
    }
  }

  /** Only zeros are cut off: whether this survives a crash does not matter. */
  #giveBackRoom(): void {
    const { handle, path } = this.#openTail();
    try {
      this.#start.disk.truncate(handle, this.#end);
    } catch (error) {
      this.#start.onFault(writeFault(error, 'Shortening', path), true);
    }
  }

  /** Of the frames held, the first `count`, up to `last`, are durable. */
  #acknowledge(last: Link, count: number): void {
    this.#start.assertOwner();
    this.#durable = last;
    // Keep what may share a page with the next write: if its sync fails, that page may be lost as a whole.
    let keep = count;
    let bytes = 0;
    while (keep > 0 && bytes < REWRITE_BYTES) bytes += this.#held[--keep]?.bytes.length ?? 0;
    const dropped = this.#held.splice(0, keep);
    const before = dropped.at(-1);
    if (before !== undefined) this.#before = { seq: before.seq, crc: before.crc };
    this.#written -= dropped.length;
  }

  #replaceTail(error: unknown, path: string): void {
    const fault = writeFault(error, 'Syncing', path);
    this.#start.onFault(fault, false);
    this.#closeTail();
    this.#beginTail();
  }

  /** A new tail with everything held. Used at open, at rotation and after a failed sync alike. */
  #beginTail(): void {
    const { disk, places, storeId, owner } = this.#start;
    const number = this.#start.takeNumber();
    const { seq: prevSeq, crc: prevCrc } = this.#before;
    const pinned = this.#last.seq;
    const header = encodeFileHeader({
      kind: FILE_TAIL,
      storeId,
      owner,
      number,
      firstSeq: prevSeq + 1,
      prevSeq,
      prevCrc,
      pinned,
    });
    const frames = this.#held.map(({ bytes }) => bytes);
    const whole = Buffer.concat([header, ...frames]);
    const path = places.truth(number, 'tail');
    const temp = places.temp(truthName(number, 'tail'));
    const verify = (file: Handle) => {
      if (!readAt(disk, file, 0, disk.size(file)).equals(whole))
        throw new HoldfastError('HF_IO', `${temp} does not read back as it was written.`);
    };
    const handle = publish(disk, { temp, path, directory: places.hidden, chunks: [whole], verify });
    this.#tail = { number, handle, path };
    this.#end = FILE_HEADER_BYTES;
    for (const frame of this.#held) {
      frame.offset = this.#end;
      this.#end += frame.bytes.length;
    }
    this.#roomEnd = this.#end;
    this.#written = this.#held.length;
    this.#acknowledge(this.#last, this.#held.length);
    this.#witness();
  }

  /** What is durable is durable without it; only damage to it would be harder to tell from a crash. So: report, go on. */
  #witness(): void {
    const { places, onFault } = this.#start;
    try {
      this.#highWater.write(this.#openTail().number, this.#durable.seq, this.#durable.crc);
    } catch (error) {
      onFault(writeFault(error, 'Writing', places.highWater), true);
    }
  }

  #openTail(): { number: number; handle: Handle; path: string } {
    // The last attempt to begin a tail failed; everything is still held.
    if (this.#tail === null) this.#beginTail();
    return this.#tail as { number: number; handle: Handle; path: string };
  }

  #closeTail(): void {
    // The number of a closed file is given to the next one: the other thread would sync, and hear of, the wrong file.
    this.#assertNotSyncing();
    if (this.#tail === null) return;
    this.#start.disk.close(this.#tail.handle);
    this.#tail = null;
  }
}
