// Commits as they come. The store is asked again and again: a signal that a file has changed is lost on network disks and
// in containers, and a question costs one listing.

import { isCode } from '../disk/faults.js';
import { withFile } from '../disk/files.js';
import { readingDisk } from '../disk/reading-disk.js';
import { HoldfastError } from '../errors.js';
import { type CommitPlace, commitsAfter } from '../journal/commits.js';
import { readFileHeader } from '../journal/file-header.js';
import { NewestFirst, type Step } from '../journal/newest-first.js';
import type { Places } from '../journal/places.js';
import { Shelf } from '../projection/shelf.js';
import { commitOf, type HistoryStep } from './history.js';
import { placesOf } from './home.js';
import { assertLookOptions } from './options.js';
import { Slices } from './slices.js';

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
 * away. A `gap` stands for commits that were deleted, or damaged, before they were seen. HF_MISSING when the store is
 * removed, or another one is in its place.
 */
export async function* follow(path: string, options: FollowOptions = {}): AsyncGenerator<HistoryStep, void, void> {
  assertLookOptions(options, 'follow');
  const { doc, signal, intervalMs = 100 } = options;
  if (!(intervalMs >= 1)) throw new TypeError(`Expected \`intervalMs\` ≥ 1, got ${String(intervalMs)}`);
  const places = placesOf(path);
  const seq = options.since ?? new NewestFirst(readingDisk, places).lastSeq;
  if (!Number.isSafeInteger(seq) || seq < 0)
    throw new TypeError(`Expected \`since\` to be a sequence number, got ${String(seq)}`);
  const trail = new Trail(places, seq);
  const isAborted = () => signal?.aborted === true;
  const slices = new Slices();
  while (!isAborted()) {
    for (const step of trail.steps()) {
      const shown = step.kind === 'gap' ? step : commitOf(step.frame, doc);
      if (shown !== null) yield shown;
      if (slices.isOver) await slices.next();
      if (isAborted()) return;
    }
    await pause(intervalMs, signal);
  }
}

/** What was seen last, and how to go on from there. */
class Trail {
  readonly #places: Places;
  readonly #shelf: Shelf;
  #place: CommitPlace;
  #storeId: Buffer | null = null;
  /** Where reading stopped before the end, the last time: once may be a commit that is being written. */
  #stuckAt: number | null = null;

  constructor(places: Places, seq: number) {
    this.#places = places;
    this.#shelf = new Shelf(readingDisk, places);
    this.#place = placeAfter(seq);
  }

  /** What is new since the last time. */
  *steps(): Generator<Step> {
    this.#refresh();
    const { seq } = this.#place;
    this.#place = startAfter(this.#shelf, this.#place);
    if (this.#place.seq > seq) yield { kind: 'gap', from: seq + 1, to: this.#place.seq };
    try {
      const isStuck = (yield* this.#read()) === 'unreadable';
      if (isStuck && this.#stuckAt === this.#place.seq) yield* this.#stepOver();
      this.#stuckAt = isStuck ? this.#place.seq : null;
    } catch (error) {
      // Deleted since it was listed: the next listing is without it.
      if (!isCode(error, 'ENOENT')) throw error;
    }
  }

  *#read() {
    const commits = commitsAfter(readingDisk, this.#shelf, this.#place);
    for (let next = commits.next(); ; next = commits.next()) {
      if (next.done) return next.value;
      this.#place = next.value.place;
      yield { kind: 'commit', frame: next.value.frame } as const;
    }
  }

  /** The next commit was durable: it is damaged, or only a copy of it is left. */
  *#stepOver(): Generator<Step> {
    const history = new NewestFirst(readingDisk, this.#places);
    const { seq } = this.#place;
    if (history.durableSeq <= seq) return;
    let found: Step | null = null;
    for (const step of history.commits()) {
      if (lastOf(step) <= seq) break;
      found = step;
    }
    if (found === null) return;
    this.#place = placeAfter(lastOf(found));
    yield found.kind === 'gap' ? { ...found, from: seq + 1 } : found;
  }

  #refresh(): void {
    try {
      this.#shelf.refresh();
    } catch (error) {
      if (!isCode(error, 'ENOENT', 'ENOTDIR')) throw error;
      throw this.#missing('holds no store any more');
    }
    const { newest } = this.#shelf;
    if (newest === null) return;
    // The shelf reads each header once: of another store's file by the same name it would not notice.
    const storeId = storeIdAt(newest.path) ?? newest.header.storeId;
    this.#storeId ??= storeId;
    if (!this.#storeId.equals(storeId)) throw this.#missing('holds another store than before. Follow that one');
  }

  #missing(what: string): HoldfastError {
    return new HoldfastError('HF_MISSING', `${this.#places.directory} ${what}. Nothing was created.`);
  }
}

/** Null when the file is gone, or cannot be read. */
function storeIdAt(path: string): Buffer | null {
  try {
    return withFile(readingDisk, path, (handle) => readFileHeader(readingDisk, handle, path))?.storeId ?? null;
  } catch (error) {
    if (!isCode(error, 'ENOENT')) throw error;
    return null;
  }
}

function placeAfter(seq: number): CommitPlace {
  return { seq, crc: null, number: 0, offset: 0 };
}

function lastOf(step: Step): number {
  return step.kind === 'gap' ? step.to : step.frame.header.seq;
}

function startAfter({ newest, beforeTails }: Shelf, place: CommitPlace): CommitPlace {
  if (newest === null) return place;
  // Compacted away before we came to it.
  if (beforeTails > place.seq) return placeAfter(beforeTails);
  // A power cut took what we saw last, and its numbers were given out again; or an earlier copy of the store was put back.
  const isCut = newest.number !== place.number && place.number > 0 && newest.header.pinned < place.seq;
  return isCut ? placeAfter(newest.header.pinned) : place;
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
