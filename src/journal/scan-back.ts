// Reads a tail from its end: what happened last, without the cost of everything before it. The same frames as `scan`
// finds, in reverse, a window at a time.

import type { Disk, Handle } from '../disk/disk.js';
import { readAt } from '../disk/files.js';
import { decodeFrame, indexOfFrame } from './frame.js';
import { FILE_HEADER_BYTES } from './layout.js';
import type { Found } from './scan.js';

const WINDOW_BYTES = 512 * 1024;

export function* scanBack(disk: Disk, handle: Handle, windowBytes = WINDOW_BYTES): Generator<Found> {
  let end = disk.size(handle);
  let wanted = windowBytes;
  while (end > FILE_HEADER_BYTES) {
    const from = Math.max(FILE_HEADER_BYTES, end - wanted);
    const bytes = readAt(disk, handle, from, end - from);
    const start = from === FILE_HEADER_BYTES ? 0 : indexOfFrame(bytes, 0);
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
    const following = decoded.kind === 'rotten' ? at + decoded.length : indexOfFrame(bytes, at + 1);
    const next = following === -1 ? bytes.length : following;
    if (decoded.kind !== 'none') found.push({ kind: 'bad', offset, length: next - at, header: decoded.header });
    at = next;
  }
  return found;
}
