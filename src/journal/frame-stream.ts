// Every frame of a file, checked and looked at where it lies: one window that is used again and again, one checksum per
// frame, nothing decoded. For reading much more than fits in memory, as fast as the checksum goes.
//
// What the last checksum of a frame covers is everything above it, the first two included: it alone proves the frame.

import type { Disk, Handle } from '../disk/disk.js';
import { decodeFrame, endsRight, type Frame, type FrameDocument, type FrameHeader, tableOf } from './frame.js';
import { CRC_BYTES, crc32, FRAME_BYTES_MIN, FRAME_FIXED_BYTES, FRAME_MAGIC, readU64 } from './layout.js';
import { scan } from './scan.js';

const WINDOW_BYTES = 1024 * 1024;
/** For the search for the next frame behind something that is none. */
const SEARCH_BYTES = 256 * 1024;
const MAGIC = FRAME_MAGIC.readUInt32LE(0);

export class FrameStream {
  readonly #disk: Disk;
  readonly #handle: Handle;
  readonly size: number;
  readonly #windowBytes: number;
  #window: Buffer;
  /** The window holds the bytes of the file from `#from` up to before `#to`. */
  #from = 0;
  #to = 0;
  #next: number;
  /** Of what was found last. */
  offset = 0;
  length = 0;
  /** Of bytes that are no frame: what their fixed part says, where that verifies. */
  rotten: FrameHeader | undefined;

  constructor(disk: Disk, handle: Handle, start: number) {
    this.#disk = disk;
    this.#handle = handle;
    this.#next = start;
    // What is written later is for whoever reads later.
    this.size = disk.size(handle);
    this.#windowBytes = Math.min(WINDOW_BYTES, Math.max(this.size, FRAME_BYTES_MIN));
    this.#window = Buffer.allocUnsafeSlow(this.#windowBytes);
  }

  /** Zeros are passed over: they are room set aside. */
  step(): 'frame' | 'bad' | 'end' {
    while (this.#next < this.size) {
      this.offset = this.#next;
      if (this.#takeFrame()) {
        this.#next += this.length;
        return 'frame';
      }
      if (this.#search()) return 'bad';
    }
    return 'end';
  }

  /** Again from here: what was being written may be there by now. */
  retry(): void {
    this.#next = this.offset;
  }

  get kind(): number {
    return this.#window[this.#at + 12] as number;
  }

  get codec(): number {
    return this.#window[this.#at + 13] as number;
  }

  get seq(): number {
    return readU64(this.#window, this.#at + 16);
  }

  get prevCrc(): number {
    return this.#window.readUInt32LE(this.#at + 32);
  }

  get durableSeq(): number {
    return readU64(this.#window, this.#at + 36);
  }

  get crc(): number {
    return this.#window.readUInt32LE(this.#at + this.length - CRC_BYTES);
  }

  get documents(): FrameDocument[] {
    return tableOf(this.#window.subarray(this.#at, this.#at + this.length));
  }

  /** Decoded, in memory of its own. */
  frame(): Frame {
    const decoded = decodeFrame(Buffer.from(this.#window.subarray(this.#at, this.#at + this.length)));
    if (decoded.kind !== 'frame') throw new Error(`The frame at ${this.offset} was whole a moment ago`);
    return decoded.frame;
  }

  /** The payload as it lies in the window: valid until the next step. */
  get payload(): Buffer {
    const start = FRAME_FIXED_BYTES + CRC_BYTES + this.#window.readUInt32LE(this.#at + 8) + CRC_BYTES;
    return this.#window.subarray(this.#at + start, this.#at + this.length - CRC_BYTES);
  }

  get #at(): number {
    return this.offset - this.#from;
  }

  #takeFrame(): boolean {
    if (!this.#hold(FRAME_BYTES_MIN)) return false;
    const window = this.#window;
    if (window.readUInt32LE(this.#at) !== MAGIC) return false;
    const length = window.readUInt32LE(this.#at + 4);
    if (length < FRAME_BYTES_MIN || !this.#mayHold(length) || !this.#hold(length)) return false;
    const whole = this.#window.subarray(this.#at, this.#at + length);
    if (!endsRight(whole, crc32(whole.subarray(0, length - CRC_BYTES)))) return false;
    this.length = length;
    return true;
  }

  /** A length that nothing vouches for asks for no memory. */
  #mayHold(length: number): boolean {
    if (length <= this.#window.length) return true;
    const fixed = this.#window.subarray(this.#at, this.#at + FRAME_FIXED_BYTES);
    return crc32(fixed) === this.#window.readUInt32LE(this.#at + FRAME_FIXED_BYTES);
  }

  /** False where the file ends before. */
  #hold(length: number): boolean {
    const { offset } = this;
    if (offset >= this.#from && offset + length <= this.#to) return true;
    if (offset + length > this.size) return false;
    const kept = Math.max(0, this.#to - offset);
    const wanted = Math.max(length, this.#windowBytes);
    // A frame of 100 MB is not a reason to hold as much from then on.
    if (wanted !== this.#window.length) {
      const other = Buffer.allocUnsafeSlow(wanted);
      this.#window.copy(other, 0, offset - this.#from, offset - this.#from + Math.min(kept, wanted));
      this.#window = other;
    } else if (kept > 0) this.#window.copyWithin(0, offset - this.#from, this.#to - this.#from);
    this.#from = offset;
    this.#to = offset + Math.min(kept, this.#window.length);
    while (this.#to < offset + this.#window.length) {
      const at = this.#to - offset;
      const read = this.#disk.read(this.#handle, this.#window, at, this.#window.length - at, this.#to);
      if (read === 0) break;
      this.#to += read;
    }
    return offset + length <= this.#to;
  }

  /** False when what stands here was zeros, up to the next frame or the end. */
  #search(): boolean {
    const [found] = scan(this.#disk, this.#handle, this.offset, SEARCH_BYTES);
    // It was read a second time: where somebody writes, the window may be behind it.
    this.#from = 0;
    this.#to = 0;
    if (found === undefined) this.#next = this.size;
    else if (found.kind === 'frame') this.#next = found.offset;
    else {
      this.offset = found.offset;
      this.length = found.length;
      this.rotten = found.header;
      this.#next = found.offset + found.length;
    }
    return found?.kind === 'bad';
  }
}
