// Reads a file frame by frame, through a window: memory does not grow with the file. After something unreadable it looks
// for the next place where the fixed part of a frame verifies: one rotten spot must not hide what follows.

import type { Disk, Handle } from '../disk/disk.js';
import { readInto } from '../disk/files.js';
import { decodeFrame, type Frame, type FrameHeader, indexOfFrame } from './frame.js';
import { FRAME_BYTES_MIN } from './layout.js';

export type Found =
  | { kind: 'frame'; offset: number; frame: Frame }
  /** Bytes that are no frame; with the header, if that much could be read. */
  | { kind: 'bad'; offset: number; length: number; header?: FrameHeader };

/** Zeros are not reported: they are room set aside for frames to come. */
export function scan(disk: Disk, handle: Handle, start: number, windowBytes = WINDOW_BYTES): Generator<Found> {
  return framesIn(new Window(disk, handle, windowBytes), start);
}

/**
 * As `scan`, through one buffer that is used again and again: what is found is there until the next is asked for. Windows
 * that are left to the garbage collector are given back to the allocator late, and by the allocator to the system never.
 */
export function scanInPlace(disk: Disk, handle: Handle, start: number): Generator<Found> {
  return framesIn(new Window(disk, handle, WINDOW_BYTES, true), start);
}

function* framesIn(window: Window, start: number): Generator<Found> {
  let at = start;
  while (at < window.size) {
    const decoded = decodeAt(window, at);
    if (decoded.kind === 'frame') {
      yield { kind: 'frame', offset: at, frame: decoded.frame };
      at += decoded.frame.bytes.length;
      continue;
    }
    // The length in a fixed part that verifies can be trusted: what lies within it is no frame.
    const next = decoded.kind === 'rotten' ? at + decoded.length : nextFrame(window, at + 1);
    const found: Found = { kind: 'bad', offset: at, length: next - at };
    if (decoded.kind !== 'none') found.header = decoded.header;
    if (decoded.kind !== 'none' || !window.isZero(at, next)) yield found;
    at = next;
  }
}

const PEEK_BYTES = 64 * 1024;

function decodeAt(window: Window, at: number) {
  const decoded = decodeFrame(window.view(at, PEEK_BYTES));
  // Only now is it known how long the frame is; a length beyond the end of the file asks for nothing.
  if (decoded.kind !== 'longer' || at + decoded.length > window.size) return decoded;
  return decodeFrame(window.view(at, decoded.length));
}

function nextFrame(window: Window, from: number): number {
  let at = from;
  while (at < window.size) {
    const view = window.view(at, PEEK_BYTES);
    const found = indexOfFrame(view, 0);
    if (found !== -1) return at + found;
    if (at + view.length >= window.size) break;
    // A frame may begin so late in the view that its fixed part does not end in it.
    at += view.length - FRAME_BYTES_MIN + 1;
  }
  return window.size;
}

/** True when the file holds nothing but zeros from `start` on. */
export function endsInZeros(disk: Disk, handle: Handle, start: number): boolean {
  const window = new Window(disk, handle, WINDOW_BYTES);
  return window.isZero(start, window.size);
}

const WINDOW_BYTES = 8 * 1024 * 1024;
const ZEROS = Buffer.alloc(PEEK_BYTES);

class Window {
  size: number;
  readonly #disk: Disk;
  readonly #handle: Handle;
  readonly #windowBytes: number;
  readonly #isReused: boolean;
  #from = 0;
  #bytes: Buffer = Buffer.alloc(0);
  #room: Buffer = this.#bytes;

  constructor(disk: Disk, handle: Handle, windowBytes: number, isReused = false) {
    this.#disk = disk;
    this.#handle = handle;
    this.#windowBytes = windowBytes;
    this.#isReused = isReused;
    this.size = disk.size(handle);
  }

  /**
   * The bytes from `at` on: at least `wanted`, or all up to the end of the file. They are never written to again, unless the
   * window is reused.
   */
  view(at: number, wanted: number): Buffer {
    const end = Math.min(at + wanted, this.size);
    if (at < this.#from || end > this.#from + this.#bytes.length) this.#fill(at, Math.max(wanted, this.#windowBytes));
    return this.#bytes.subarray(at - this.#from);
  }

  isZero(from: number, to: number): boolean {
    for (let at = from; at < to; ) {
      const length = Math.min(to - at, ZEROS.length);
      const view = this.view(at, length);
      if (view.length < length) return true;
      if (view.compare(ZEROS, 0, length, 0, length) !== 0) return false;
      at += length;
    }
    return true;
  }

  #fill(at: number, length: number): void {
    const wanted = Math.min(length, this.size - at);
    if (!this.#isReused || wanted > this.#room.length) this.#room = Buffer.allocUnsafeSlow(wanted);
    this.#from = at;
    this.#bytes = readInto(this.#disk, this.#handle, at, this.#room.subarray(0, wanted));
    // The file became shorter while it was read: what is gone is simply not there.
    if (this.#bytes.length < wanted) this.size = at + this.#bytes.length;
  }
}
