// The truth files as they stand: which tail holds which commits, which base to begin with. A file gets its name whole and
// its header never changes, so each header is read once.

import type { Disk } from '../disk/disk.js';
import { isCode } from '../disk/faults.js';
import { withFile } from '../disk/files.js';
import { type FileHeader, readFileHeader } from '../journal/file-header.js';
import { FILE_BASE, FILE_TAIL } from '../journal/layout.js';
import { type Places, parseTruthName } from '../journal/places.js';

export interface Shelved {
  path: string;
  number: number;
  header: FileHeader;
}

export class Shelf {
  readonly #disk: Disk;
  readonly #storeId: Buffer | undefined;
  /** By path; null when the header is not sound, or of another store. */
  #headers = new Map<string, FileHeader | null>();
  #tails: Shelved[] = [];
  #bases: Shelved[] = [];

  constructor(
    disk: Disk,
    readonly places: Places,
    storeId?: Buffer,
  ) {
    this.#disk = disk;
    this.#storeId = storeId;
  }

  /** Lists again. */
  refresh(): void {
    const known = this.#headers;
    this.#headers = new Map();
    this.#tails = [];
    this.#bases = [];
    for (const name of this.#disk.list(this.places.hidden)) {
      const parsed = parseTruthName(name);
      if (parsed === null) continue;
      const { number, kind } = parsed;
      const path = this.places.truth(number, kind);
      const header = known.get(path) ?? this.#read(path, number, kind === 'tail' ? FILE_TAIL : FILE_BASE);
      this.#headers.set(path, header);
      if (header !== null) (kind === 'tail' ? this.#tails : this.#bases).push({ path, number, header });
    }
    const tails = this.#tails.sort((a, b) => a.number - b.number);
    this.#tails = withoutFenced(tails);
  }

  /** The highest-numbered tail that begins at or before this commit, and the last commit that no later one holds. */
  ownerOf(seq: number): { tail: Shelved; lastSeq: number } | null {
    let lastSeq = Number.POSITIVE_INFINITY;
    for (const tail of this.#tails.toReversed()) {
      if (tail.header.prevSeq < seq) return { tail, lastSeq };
      lastSeq = Math.min(lastSeq, tail.header.prevSeq);
    }
    return null;
  }

  /** Tails below this one that hold copies of what it took over, highest first, with the last commit that is no void one. */
  copiesBelow(number: number): { tail: Shelved; lastSeq: number }[] {
    const copies: { tail: Shelved; lastSeq: number }[] = [];
    let lastSeq = Number.POSITIVE_INFINITY;
    for (const tail of this.#tails.toReversed()) {
      if (tail.number < number) copies.push({ tail, lastSeq });
      lastSeq = Math.min(lastSeq, tail.header.pinned);
    }
    return copies;
  }

  /** Best first: those at or before `seq`, newest first; then later ones, oldest first. */
  basesFor(seq: number): Shelved[] {
    const bases = this.#bases.toSorted((a, b) => b.header.prevSeq - a.header.prevSeq || b.number - a.number);
    const isBefore = ({ header }: Shelved) => header.prevSeq <= seq;
    return [...bases.filter(isBefore), ...bases.filter((base) => !isBefore(base)).reverse()];
  }

  /** No tail holds a commit at or before this one. */
  get beforeTails(): number {
    return this.#tails.reduce((least, { header }) => Math.min(least, header.prevSeq), Number.POSITIVE_INFINITY);
  }

  get newest(): Shelved | null {
    return this.#tails.at(-1) ?? null;
  }

  get newestTail(): number {
    return this.newest?.number ?? 0;
  }

  /** The highest sequence that a header says was durable: what a tail took over was, and so was what a base holds. */
  get witnessSeq(): number {
    const ofTails = this.#tails.map(({ header }) => Math.max(header.prevSeq, header.pinned));
    return Math.max(0, ...ofTails, ...this.#bases.map(({ header }) => header.prevSeq));
  }

  /** Where commits up to this one are missing from; null when a base holds what they made. */
  missingBefore(seq: number): number | null {
    const seqs = this.#bases.map(({ header }) => header.prevSeq);
    return seqs.some((at) => at >= seq) ? null : Math.max(0, ...seqs) + 1;
  }

  #read(path: string, number: number, kind: number): FileHeader | null {
    try {
      const header = withFile(this.#disk, path, (handle) => readFileHeader(this.#disk, handle, path));
      if (header?.number !== number || header.kind !== kind) return null;
      return this.#storeId === undefined || this.#storeId.equals(header.storeId) ? header : null;
    } catch (error) {
      // Deleted since it was listed.
      if (isCode(error, 'ENOENT')) return null;
      throw error;
    }
  }
}

/** A tail of a lower owner than one before it was written by a process that had lost the store: it does not count. */
function withoutFenced(tails: readonly Shelved[]): Shelved[] {
  let owner = 0;
  return tails.filter(({ header }) => {
    owner = Math.max(owner, header.owner);
    return header.owner === owner;
  });
}
