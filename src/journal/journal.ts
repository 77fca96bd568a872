// The writing end. Frames are encoded once, get a fixed place in the newest tail, and stay in memory until they are
// durable, so that any of them can be written again: to the same place after a failed write, to a new tail after a
// failed sync.
//
// I1. An encoded frame never changes, and neither does its offset in a tail.
// I2. `durableSeq` moves only after fdatasync returned on the descriptor that took every byte of those frames.
// I3. A descriptor whose sync failed is never synced again: the kernel has forgotten the pages and would say yes.
// I4. Marks and end frames repeat the last sequence. They hang off the chain and are no link of it.

import type { Disk, Handle } from '../disk/disk.js';
import { isCode, writeFault } from '../disk/faults.js';
import { writeFully } from '../disk/files.js';
import { publish } from '../disk/publish.js';
import { HoldfastError } from '../errors.js';
import { encodeFileHeader } from './file-header.js';
import { encodeFrame, type FrameDocument, frameCrc } from './frame.js';
import { HighWaterWriter } from './high-water.js';
import { CODEC_NONE, FILE_HEADER_BYTES, FILE_TAIL, KIND_COMMIT, KIND_END, KIND_MARK } from './layout.js';
import type { Payload } from './payload.js';
import { type Places, truthName } from './places.js';

export interface Link {
  seq: number;
  crc: number;
}

export interface JournalStart {
  disk: Disk;
  places: Places;
  storeId: Buffer;
  owner: number;
  /** Where the chain is known to be durable; the new tail pins this. */
  base: Link;
  /** Frames beyond it that were accepted. */
  frames: Buffer[];
  nextNumber: number;
  highWaterCounter: number;
  now: () => number;
  onFault: (error: HoldfastError) => void;
}

interface Held extends Link {
  bytes: Buffer;
  offset: number;
}

/** Zeros written ahead: then fdatasync has no new file size to store. */
const ROOM_BYTES = 256 * 1024;
/** Frames that may share a page with what a failed sync lost. */
const REWRITE_BYTES = 4096;

export class Journal {
  readonly #start: JournalStart;
  readonly #highWater: HighWaterWriter;
  #nextNumber: number;
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

  /** Starts a tail that holds every accepted frame beyond `base`. When this returns, all of them are durable. */
  constructor(start: JournalStart) {
    this.#start = start;
    this.#nextNumber = start.nextNumber;
    this.#highWater = new HighWaterWriter(start.disk, start.places, start.storeId, start.highWaterCounter);
    this.#before = start.base;
    this.#last = start.base;
    this.#durable = start.base;
    for (const bytes of start.frames) this.#hold(bytes, this.#last.seq + 1);
    this.#beginTail();
  }

  get lastSeq(): number {
    return this.#last.seq;
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

  get hasPending(): boolean {
    return this.#durable.seq < this.#last.seq;
  }

  takeNumber(): number {
    return this.#nextNumber++;
  }

  /** Encodes a commit and gives it its place. It survives nothing until `write` or `sync`. */
  append(documents: FrameDocument[], payload: Payload): number {
    this.#openTail();
    const seq = this.#last.seq + 1;
    this.#hold(this.#encode(KIND_COMMIT, seq, payload, documents), seq);
    return seq;
  }

  /** After this, frames survive the end of the process. */
  write(): void {
    const tail = this.#openTail();
    try {
      for (let frame = this.#held[this.#written]; frame !== undefined; frame = this.#held[this.#written]) {
        this.#makeRoom(tail.handle, frame.offset + frame.bytes.length);
        writeFully(this.#start.disk, tail.handle, frame.bytes, frame.offset);
        this.#written++;
      }
    } catch (error) {
      throw writeFault(error, 'Writing to', tail.path);
    }
  }

  /** After this, frames survive a power cut. */
  sync(): void {
    if (!this.hasPending) return;
    this.write();
    const tail = this.#openTail();
    try {
      this.#start.disk.syncData(tail.handle);
    } catch (error) {
      this.#replaceTail(error, tail.path);
      return;
    }
    this.#acknowledge();
  }

  /** Makes what is durable known on disk: damage to it can then be told from a crash. */
  mark(): void {
    this.sync();
    this.#writeAside(KIND_MARK);
    this.#highWater.write(this.tailNumber, this.#durable.seq, this.#durable.crc);
  }

  /** Ends this tail and goes on in a new one. */
  rotate(): void {
    this.sync();
    this.#writeAside(KIND_END);
    this.#closeTail();
    this.#before = this.#durable;
    this.#held = [];
    this.#beginTail();
  }

  close(): void {
    if (this.#tail === null) return;
    this.sync();
    const { number, handle } = this.#tail;
    this.#writeAside(KIND_END);
    this.#highWater.write(number, this.#durable.seq, this.#durable.crc);
    // Only zeros are cut off: whether this survives a crash does not matter.
    this.#start.disk.truncate(handle, this.#end);
    this.#closeTail();
  }

  /** Lets go of the tail without writing anything more. */
  abandon(): void {
    if (this.#tail !== null) this.#closeTail();
  }

  #encode(kind: number, seq: number, payload: Payload, documents: FrameDocument[]): Buffer {
    const { now } = this.#start;
    const durableSeq = this.#durable.seq;
    const prevCrc = this.#last.crc;
    return encodeFrame(
      { kind, codec: payload.codec, seq, timeMs: now(), prevCrc, durableSeq, documents },
      payload.bytes,
    );
  }

  #hold(bytes: Buffer, seq: number): void {
    const crc = frameCrc(bytes);
    this.#held.push({ seq, crc, bytes, offset: this.#end });
    this.#end += bytes.length;
    this.#last = { seq, crc };
  }

  #writeAside(kind: number): void {
    const tail = this.#openTail();
    const bytes = this.#encode(kind, this.#durable.seq, { codec: CODEC_NONE, bytes: Buffer.alloc(0) }, []);
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

  #acknowledge(): void {
    this.#durable = this.#last;
    // Keep what may share a page with the next write: if its sync fails, that page may be lost as a whole.
    let keep = this.#held.length;
    let bytes = 0;
    while (keep > 0 && bytes < REWRITE_BYTES) bytes += this.#held[--keep]?.bytes.length ?? 0;
    const dropped = this.#held.splice(0, keep);
    const before = dropped.at(-1);
    if (before !== undefined) this.#before = { seq: before.seq, crc: before.crc };
    this.#written = this.#held.length;
  }

  #replaceTail(error: unknown, path: string): void {
    const fault = writeFault(error, 'Syncing', path);
    this.#start.onFault(fault);
    this.#closeTail();
    this.#beginTail();
  }

  /** A new tail with everything held. Used at open, at rotation and after a failed sync alike. */
  #beginTail(): void {
    const { disk, places, storeId, owner } = this.#start;
    const number = this.takeNumber();
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
    const verify = (bytes: Buffer) => {
      if (!bytes.equals(whole)) throw new HoldfastError('HF_IO', `${temp} does not read back as it was written.`);
    };
    const handle = publish(disk, { temp, path, directory: places.hidden, chunks: [whole], verify });
    this.#tail = { number, handle, path };
    this.#end = FILE_HEADER_BYTES;
    for (const frame of this.#held) {
      frame.offset = this.#end;
      this.#end += frame.bytes.length;
    }
    this.#roomEnd = this.#end;
    this.#acknowledge();
    this.#highWater.write(number, this.#durable.seq, this.#durable.crc);
  }

  #openTail(): { number: number; handle: Handle; path: string } {
    // The last attempt to begin a tail failed; everything is still held.
    if (this.#tail === null) this.#beginTail();
    return this.#tail as { number: number; handle: Handle; path: string };
  }

  #closeTail(): void {
    if (this.#tail === null) return;
    this.#start.disk.close(this.#tail.handle);
    this.#tail = null;
  }
}
