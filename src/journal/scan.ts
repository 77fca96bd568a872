// Reads a file frame by frame. After something unreadable it looks for the next place that begins like a frame and
// verifies: one rotten spot must not hide what follows. Each byte is checksummed at most twice, whatever the bytes are.

import { decodeFrame, type Frame, type FrameHeader } from './frame.js';
import { FRAME_MAGIC } from './layout.js';

export type Found =
  | { kind: 'frame'; offset: number; frame: Frame }
  /** Bytes that are no frame; with the header, if that much could be read. */
  | { kind: 'bad'; offset: number; length: number; header?: FrameHeader };

export function* scan(file: Buffer, start: number): Generator<Found> {
  let at = start;
  while (at < file.length) {
    const decoded = decodeFrame(file, at);
    if (decoded.kind === 'frame') {
      yield { kind: 'frame', offset: at, frame: decoded.frame };
      at += decoded.frame.bytes.length;
      continue;
    }
    // The length in a header that verifies can be trusted: skipping it keeps the scan linear.
    const fits = decoded.kind === 'rotten' && at + decoded.length <= file.length;
    const next = fits ? at + decoded.length : nextMagic(file, at + 1);
    const found: Found = { kind: 'bad', offset: at, length: next - at };
    if (decoded.kind === 'rotten') found.header = decoded.header;
    if (decoded.kind === 'rotten' || !isZero(file, at, next)) yield found;
    at = next;
  }
}

function nextMagic(file: Buffer, from: number): number {
  const found = file.indexOf(FRAME_MAGIC, from);
  return found === -1 ? file.length : found;
}

const ZEROS = Buffer.alloc(64 * 1024);

/** Zeros are room set aside for frames to come. */
export function isZero(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at += ZEROS.length) {
    const end = Math.min(at + ZEROS.length, to);
    if (bytes.compare(ZEROS, 0, end - at, at, end) !== 0) return false;
  }
  return true;
}
