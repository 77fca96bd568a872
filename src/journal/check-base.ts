// A base, byte for byte, without building what it holds: its frames, their chain, their number, and that the files of the
// logs that it counts on are there.

import type { Disk } from '../disk/disk.js';
import { withFileSteps } from '../disk/files.js';
import type { Shelved } from '../projection/shelf.js';
import { coverageProblem } from './coverage.js';
import { refuseVersion } from './file-header.js';
import type { Pause } from './findings.js';
import { FrameStream } from './frame-stream.js';
import { FILE_HEADER_BYTES, KIND_BASE, KIND_END, readU64 } from './layout.js';
import { isLogKey } from './log-key.js';
import type { Places } from './places.js';
import { Replica } from './replica.js';

const PAUSE_BYTES = 4 * 1024 * 1024;
const COUNT_BYTES = 8;

export interface BaseVerdict {
  /** Null when every byte is as it was written. */
  problem: string | null;
  /** Of the documents and logs in it. */
  names: Set<string>;
}

export function* checkBase(disk: Disk, places: Places, { path, header }: Shelved): Generator<Pause, BaseVerdict> {
  const logs = new Replica();
  const names = new Set<string>();
  const own = yield* withFileSteps(disk, path, function* (handle): Generator<Pause, string | null> {
    const stream = new FrameStream(disk, handle, FILE_HEADER_BYTES);
    let prevCrc = header.prevCrc;
    let count = 0;
    let end = -1;
    let paused = 0;
    let problem: string | null = null;
    for (let found = stream.step(); found !== 'end'; found = stream.step()) {
      if (stream.offset - paused >= PAUSE_BYTES) {
        yield { kind: 'read', bytes: stream.offset - paused };
        paused = stream.offset;
      }
      if (found === 'bad') problem ??= `is damaged at byte ${stream.offset}`;
      else if (stream.prevCrc !== prevCrc) problem ??= `has a gap before byte ${stream.offset}`;
      if (found === 'bad') continue;
      prevCrc = stream.crc;
      if (stream.kind === KIND_END) {
        const { payload } = stream;
        const isWhole = payload.length === COUNT_BYTES && readU64(payload, 0) === count;
        end = isWhole ? stream.offset + stream.length : -1;
        continue;
      }
      if (stream.kind !== KIND_BASE) refuseVersion(path, `a frame of kind ${stream.kind}`);
      count++;
      const [entry] = stream.documents;
      if (entry === undefined) continue;
      names.add(entry.name);
      if (isLogKey(entry.name)) logs.applyBase(stream.frame());
    }
    yield { kind: 'read', bytes: stream.size - paused };
    return problem ?? (end === stream.size ? null : 'does not end as it should');
  });
  if (own !== null) return { problem: own, names };
  const uncovered = coverageProblem(disk, places, header.storeId, logs.logs);
  return { problem: uncovered === null ? null : `is of no use: ${uncovered}`, names };
}
