// Commits one after the other, from the tails, as the follower reads them (projection/follower.ts has the rules): from
// the highest-numbered tail that begins at or before each of them.

import type { Disk } from '../disk/disk.js';
import { withPath } from '../disk/faults.js';
import type { Shelf } from '../projection/shelf.js';
import type { Frame } from './frame.js';
import { FILE_HEADER_BYTES, KIND_COMMIT } from './layout.js';
import { scan } from './scan.js';

/** Behind a commit, where reading can go on. */
export interface CommitPlace {
  seq: number;
  /** Null when it is not known: the next commit is then not held to it. */
  crc: number | null;
  number: number;
  offset: number;
}

const WINDOW_BYTES = 1024 * 1024;

/**
 * Why it ended. `end`: of the newest tail. `unreadable`: before it; whether something is wrong there, or only not written
 * yet, is for the caller to judge.
 */
export type CommitsEnd = 'end' | 'unreadable';

export function* commitsAfter(
  disk: Disk,
  shelf: Shelf,
  place: CommitPlace,
): Generator<{ frame: Frame; place: CommitPlace }, CommitsEnd> {
  let at = place;
  for (;;) {
    const owner = shelf.ownerOf(at.seq + 1);
    if (owner === null) return 'unreadable';
    const { number, path } = owner.tail;
    if (at.number !== number) at = { ...at, number, offset: FILE_HEADER_BYTES };
    const handle = disk.open(path, 'read');
    try {
      for (const found of scan(disk, handle, at.offset, WINDOW_BYTES)) {
        const isAstray = found.kind === 'bad' || found.offset !== at.offset;
        // On the way to the first commit: what lies before it is not asked for.
        if (isAstray && at.crc !== null) return 'unreadable';
        if (found.kind === 'bad') continue;
        const { frame } = found;
        const { kind, seq, prevCrc } = frame.header;
        const offset = found.offset + frame.bytes.length;
        const isNext = kind === KIND_COMMIT && seq === at.seq + 1;
        // Marks, ends, and copies of what the tail before holds.
        if (!isNext && (kind !== KIND_COMMIT || seq <= at.seq)) {
          at = { ...at, offset };
          continue;
        }
        if (!isNext || (at.crc !== null && prevCrc !== at.crc)) return 'unreadable';
        at = { seq, crc: frame.crc, number, offset };
        yield { frame, place: at };
        if (seq === owner.lastSeq) break;
      }
    } catch (error) {
      throw withPath(error, path);
    } finally {
      disk.close(handle);
    }
    // Or a tail that does not hold all that it should.
    if (at.seq < owner.lastSeq) return owner.lastSeq === Number.POSITIVE_INFINITY ? 'end' : 'unreadable';
  }
}
