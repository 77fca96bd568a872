// A file of a log's entries, byte for byte. Which log it is of, its first frame says; its name has only the hash.

import type { Disk } from '../disk/disk.js';
import { withFileSteps } from '../disk/files.js';
import type { Pause } from './findings.js';
import { FrameStream } from './frame-stream.js';
import { CODEC_LINES, FILE_HEADER_BYTES, KIND_END, KIND_ENTRIES, readU64 } from './layout.js';
import { countLines } from './line-text.js';
import { hashOf, readSegmentHeader, type SegmentName } from './segment.js';

const PAUSE_BYTES = 4 * 1024 * 1024;
const COUNT_BYTES = 8;

/** Null when every byte is as it was written. */
export function* checkEntries(disk: Disk, named: SegmentName): Generator<Pause, string | null> {
  return yield* withFileSteps(disk, named.path, function* (handle): Generator<Pause, string | null> {
    const header = readSegmentHeader(disk, handle, named);
    if (header === null) return 'has a damaged header';
    const stream = new FrameStream(disk, handle, FILE_HEADER_BYTES);
    let { prevCrc } = header;
    let index = named.from;
    let frames = 0;
    let end = -1;
    let paused = 0;
    let problem: string | null = null;
    for (let found = stream.step(); found !== 'end' && problem === null; found = stream.step()) {
      if (stream.offset - paused >= PAUSE_BYTES) {
        yield { kind: 'read', bytes: stream.offset - paused };
        paused = stream.offset;
      }
      const isSound = found === 'frame' && stream.prevCrc === prevCrc;
      const count = isSound ? linesFrom(stream, named, index) : null;
      if (isSound && stream.kind === KIND_END) {
        const { payload } = stream;
        const isWhole = payload.length === COUNT_BYTES && readU64(payload, 0) === frames && index === named.to;
        end = isWhole ? stream.offset + stream.length : -1;
      } else if (count === null) problem = `is damaged at byte ${stream.offset}, from entry ${index} on`;
      else {
        index += count;
        frames++;
      }
      if (isSound) prevCrc = stream.crc;
    }
    yield { kind: 'read', bytes: stream.size - paused };
    return problem ?? (end === stream.size ? null : 'does not end as it should');
  });
}

/** How many entries this frame brings; null when it is not the next one of this file. */
function linesFrom(stream: FrameStream, { hash }: SegmentName, index: number): number | null {
  if (stream.kind !== KIND_ENTRIES || stream.codec !== CODEC_LINES || stream.seq !== index) return null;
  const [entry] = stream.documents;
  if (entry === undefined || entry.from !== index || hashOf(entry.name) !== hash) return null;
  const count = countLines(stream.payload);
  return entry.version - entry.from === count ? count : null;
}
