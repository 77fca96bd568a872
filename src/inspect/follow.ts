// Commits as they come. The store is asked again and again: a signal that a file has changed is lost on network disks and
// in containers, and a question costs one listing.

import { isCode } from '../disk/faults.js';
import { readingDisk } from '../disk/reading-disk.js';
import { type CommitPlace, commitsAfter } from '../journal/commits.js';
import { NewestFirst } from '../journal/newest-first.js';
import { Shelf } from '../projection/shelf.js';
import { commitOf, type HistoryStep } from './history.js';
import { placesOf } from './home.js';
import { assertLookOptions } from './options.js';

// Captured at import: a program's fake timers must not freeze it.
const { setTimeout, clearTimeout } = globalThis;

export interface FollowOptions {
  /** Only commits that changed the document or log of this name, and of them only this part. */
  doc?: string;
  /** Commits after this sequence. Without it, those to come. */
  since?: number;
  /** Ends the following: there is no other end. */
  signal?: AbortSignal;
  /** How long after its commit something is seen, at most. @default 100 */
  intervalMs?: number;
}

/**
 * Every commit in its order, from now on, until `signal`. A commit shows once it is written; a power cut may still take it
 * away. A `gap` stands for commits that were deleted, or damaged, before they were seen.
 */
export async function* follow(path: string, options: FollowOptions = {}): AsyncGenerator<HistoryStep, void, void> {
  assertLookOptions(options, 'follow');
  const { doc, signal, intervalMs = 100 } = options;
  if (!(intervalMs >= 1)) throw new TypeError(`Expected \`intervalMs\` ≥ 1, got ${String(intervalMs)}`);
  const places = placesOf(path);
  const seq = options.since ?? new NewestFirst(readingDisk, places).lastSeq;
  if (!Number.isSafeInteger(seq) || seq < 0)
    throw new TypeError(`Expected \`since\` to be a sequence number, got ${String(seq)}`);
  const shelf = new Shelf(readingDisk, places);
  let place: CommitPlace = { seq, crc: null, number: 0, offset: 0 };
  const isAborted = () => signal?.aborted === true;
  while (!isAborted()) {
    shelf.refresh();
    const start = startAfter(shelf, place);
    if (start.seq > place.seq) yield { kind: 'gap', from: place.seq + 1, to: start.seq };
    place = start;
    try {
      for (const { frame, place: behind } of commitsAfter(readingDisk, shelf, place)) {
        place = behind;
        const commit = commitOf(frame, doc);
        if (commit !== null) yield commit;
        if (isAborted()) return;
      }
    } catch (error) {
      // Deleted since it was listed: the next listing is without it.
      if (!isCode(error, 'ENOENT')) throw error;
    }
    await pause(intervalMs, signal);
  }
}

function startAfter(shelf: Shelf, place: CommitPlace): CommitPlace {
  const { newest, beforeTails } = shelf;
  if (newest === null) return place;
  // Compacted away before we came to it.
  if (beforeTails > place.seq) return { seq: beforeTails, crc: null, number: 0, offset: 0 };
  // A power cut took what we saw last, and its numbers were given out again.
  const isCut = newest.number > place.number && place.number > 0 && newest.header.pinned < place.seq;
  return isCut ? { seq: newest.header.pinned, crc: null, number: 0, offset: 0 } : place;
}

function pause(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, delayMs);
    signal?.addEventListener('abort', done);
  });
}
