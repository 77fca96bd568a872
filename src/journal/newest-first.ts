// Commits newest first, from the tails alone: what happened lately costs what happened lately, however long the history.
//
// N1. Where history ends is decided as in recovery (recover.ts): W is the highest sequence that anything says was durable;
//     beyond it the chain is followed from W up and ends at the first break.
// N2. A commit is taken from the highest-numbered tail that begins at or before it, and only if it is the one that its
//     successor names. What cannot be read is said to be a gap, and reading goes on below it.
// N3. The end of a tail is read before its beginning, so a running writer is never ahead of what it says was durable.

import type { Disk } from '../disk/disk.js';
import { isCode, withPath } from '../disk/faults.js';
import { withFile } from '../disk/files.js';
import { durableWitness } from '../projection/record.js';
import { Shelf, type Shelved } from '../projection/shelf.js';
import { refuseVersion } from './file-header.js';
import type { Frame } from './frame.js';
import { readHighWater } from './high-water.js';
import { FILE_HEADER_BYTES, KIND_COMMIT, KIND_END, KIND_MARK } from './layout.js';
import type { Places } from './places.js';
import { scan } from './scan.js';
import { scanBack } from './scan-back.js';

export type Step =
  | { kind: 'commit'; frame: Frame }
  /** These were durable, and cannot be read. */
  | { kind: 'gap'; from: number; to: number };

/** Where reading backwards stands: the next commit to find, and its checksum, where something names it. */
interface Expected {
  seq: number;
  crc: number | null;
}

/** Files are deleted while we read; more often than this is no compaction. */
const ATTEMPTS_MAX = 8;

export class NewestFirst {
  readonly #disk: Disk;
  readonly #shelf: Shelf;
  /** The newest commit; it may not be durable yet. */
  readonly lastSeq: number;
  /** Known to be durable. */
  readonly durableSeq: number;

  /** Looks at the files' headers and at the end of the newest tail. */
  constructor(disk: Disk, places: Places) {
    this.#disk = disk;
    this.#shelf = new Shelf(disk, places);
    // Witnesses before what they witness.
    const witness = readHighWater(disk, places)?.seq ?? 0;
    const published = durableWitness(disk, places);
    const { lastSeq, durableSeq } = retried(() => this.#findEnd(Math.max(witness, published)));
    this.lastSeq = lastSeq;
    this.durableSeq = durableSeq;
  }

  *commits(): Generator<Step> {
    const next: Expected = { seq: this.lastSeq, crc: null };
    for (let attempt = 1; next.seq > 0; ) {
      const owner = this.#shelf.ownerOf(next.seq);
      if (owner === null) {
        const from = this.#shelf.missingBefore(next.seq);
        if (from !== null) yield { kind: 'gap', from, to: next.seq };
        return;
      }
      try {
        yield* this.#backIn(owner.tail, next);
        next.crc = owner.tail.header.prevCrc;
      } catch (error) {
        if (!isCode(error, 'ENOENT') || attempt++ === ATTEMPTS_MAX) throw error;
        this.#shelf.refresh();
      }
    }
  }

  #findEnd(witness: number): { lastSeq: number; durableSeq: number } {
    this.#shelf.refresh();
    const { newest } = this.#shelf;
    let durableSeq = Math.max(witness, this.#shelf.witnessSeq);
    if (newest === null) return { lastSeq: durableSeq, durableSeq };
    const loose: { seq: number; crc: number; prevCrc: number }[] = [];
    withFile(this.#disk, newest.path, (handle) => {
      for (const found of scanBack(this.#disk, handle)) {
        const header = found.kind === 'frame' ? found.frame.header : found.header;
        if (header === undefined) continue;
        durableSeq = Math.max(durableSeq, header.durableSeq);
        if (found.kind === 'bad' || header.kind !== KIND_COMMIT) continue;
        loose.push({ seq: header.seq, crc: found.frame.crc, prevCrc: header.prevCrc });
        if (header.seq <= durableSeq) return;
      }
    });
    const { prevSeq, prevCrc } = newest.header;
    let seq = durableSeq;
    let crc = prevSeq === durableSeq ? prevCrc : null;
    for (const commit of loose.reverse()) {
      if (commit.seq < durableSeq) continue;
      const isNext = commit.seq === seq + 1 && (crc === null || commit.prevCrc === crc);
      if (commit.seq > durableSeq && !isNext) break;
      ({ seq, crc } = commit);
    }
    return { lastSeq: seq, durableSeq };
  }

  /** `next` is always behind what was given last. */
  *#backIn(tail: Shelved, next: Expected): Generator<Step> {
    const { prevSeq } = tail.header;
    for (const frame of commitsIn(this.#disk, tail.path)) {
      const { seq, prevCrc } = frame.header;
      // Beyond what this tail counts for: copied by a later one, or void.
      if (seq > next.seq) continue;
      yield* this.#missing(tail, seq + 1, next);
      if (next.crc !== null && frame.crc !== next.crc) {
        yield* this.#missing(tail, seq, next);
        continue;
      }
      next.seq = seq - 1;
      next.crc = prevCrc;
      yield { kind: 'commit', frame };
      if (next.seq <= prevSeq) return;
    }
    yield* this.#missing(tail, prevSeq + 1, next);
  }

  *#missing(tail: Shelved, low: number, next: Expected): Generator<Step> {
    if (low > next.seq) return;
    for (const step of this.#copies(tail.number, low, next.seq)) {
      next.seq = (step.kind === 'gap' ? step.from : step.frame.header.seq) - 1;
      next.crc = null;
      yield step;
    }
  }

  /** What a tail should hold and does not, as far as tails below it have copies. Newest first. */
  #copies(number: number, low: number, high: number): Step[] {
    const found = new Map<number, Frame>();
    for (const { tail, lastSeq } of this.#shelf.copiesBelow(number)) {
      if (lastSeq < low) continue;
      withFile(this.#disk, tail.path, (handle) => {
        for (const part of scan(this.#disk, handle, FILE_HEADER_BYTES)) {
          if (part.kind === 'bad' || part.frame.header.kind !== KIND_COMMIT) continue;
          const { seq } = part.frame.header;
          if (seq >= low && seq <= Math.min(high, lastSeq) && !found.has(seq)) found.set(seq, part.frame);
        }
      });
    }
    const steps: Step[] = [];
    for (let seq = high; seq >= low; seq--) {
      const frame = found.get(seq);
      const last = steps.at(-1);
      if (frame !== undefined) steps.push({ kind: 'commit', frame });
      else if (last?.kind === 'gap') last.from = seq;
      else steps.push({ kind: 'gap', from: seq, to: seq });
    }
    return steps;
  }
}

function* commitsIn(disk: Disk, path: string): Generator<Frame> {
  const handle = disk.open(path, 'read');
  try {
    for (const found of scanBack(disk, handle)) {
      if (found.kind === 'bad') continue;
      const { kind } = found.frame.header;
      if (kind === KIND_COMMIT) yield found.frame;
      else if (kind !== KIND_MARK && kind !== KIND_END) refuseVersion(path, `a frame of kind ${kind}`);
    }
  } catch (error) {
    throw withPath(error, path);
  } finally {
    disk.close(handle);
  }
}

/** A file that vanished was deleted by a compaction: the next listing is without it. */
function retried<R>(read: () => R): R {
  for (let attempt = 1; ; attempt++) {
    try {
      return read();
    } catch (error) {
      if (!isCode(error, 'ENOENT') || attempt === ATTEMPTS_MAX) throw error;
    }
  }
}

/** When this commit was made; null when it is in no tail any more, or cannot be read. */
export function commitTime(disk: Disk, places: Places, seq: number): number | null {
  for (const step of new NewestFirst(disk, places).commits()) {
    if (step.kind === 'gap') {
      if (step.from <= seq) return null;
      continue;
    }
    if (step.frame.header.seq <= seq) return step.frame.header.seq === seq ? step.frame.header.timeMs : null;
  }
  return null;
}
