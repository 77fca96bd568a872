// Reads a tail from its end: what happened last, without the cost of everything before it. The same frames as `scan`
// finds, in reverse, a window at a time.

import type { Disk, Handle } from '../disk/disk.js';
import { readAt } from '../disk/files.js';
import { decodeFrame } from './frame.js';
import { FILE_HEADER_BYTES, FRAME_MAGIC } from './layout.js';
import type { Found } from './scan.js';

const WINDOW_BYTES = 512 * 1024;

export function* scanBack(disk: Disk, handle: Handle, windowBytes = WINDOW_BYTES): Generator<Found> {
  let end = disk.size(handle);
  let wanted = windowBytes;
  while (end > FILE_HEADER_BYTES) {
    const from = Math.max(FILE_HEADER_BYTES, end - wanted);
    const bytes = readAt(disk, handle, from, end - from);
    const start = from === FILE_HEADER_BYTES ? 0 : firstFrame(bytes);
    if (start === -1) {
      // A frame that is larger than the window, or room set aside for frames to come.
      wanted *= 2;
      continue;
    }
    yield* framesIn(bytes, start, from).reverse();
    // The rest of the window is the end of a frame that begins before it.
    end = from + start;
    wanted = windowBytes;
  }
}

/** Where something begins whose fixed part verifies; -1 when nothing does. */
function firstFrame(bytes: Buffer): number {
  for (let at = bytes.indexOf(FRAME_MAGIC); at !== -1; at = bytes.indexOf(FRAME_MAGIC, at + 1)) {
    if (decodeFrame(bytes.subarray(at)).kind !== 'none') return at;
  }
  return -1;
}

function framesIn(bytes: Buffer, start: number, base: number): Found[] {
  const found: Found[] = [];
  for (let at = start; at < bytes.length; ) {
    const decoded = decodeFrame(bytes.subarray(at));
    const offset = base + at;
    if (decoded.kind === 'frame') {
      found.push({ kind: 'frame', offset, frame: decoded.frame });
      at += decoded.frame.bytes.length;
      continue;
    }
    const magic = bytes.indexOf(FRAME_MAGIC, at + 1);
    const next = decoded.kind === 'rotten' ? at + decoded.length : magic === -1 ? bytes.length : magic;
    if (decoded.kind !== 'none') found.push({ kind: 'bad', offset, length: next - at, header: decoded.header });
    at = next;
  }
  return found;
}
