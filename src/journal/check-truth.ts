// Is the truth whole? Every byte of every file that counts, read once and not held: headers, checksums, chains, witnesses,
// and the files of logs. `refused` is found exactly where recovery would refuse the store.
//
// Not promised: that what a frame says makes sense. Its checksum holds, so it is as it was written.

import type { Disk } from '../disk/disk.js';
import { isCode } from '../disk/faults.js';
import { durableWitness } from '../projection/record.js';
import type { Shelved } from '../projection/shelf.js';
import { type BaseVerdict, checkBase } from './check-base.js';
import { checkEntries } from './check-entries.js';
import { TailCheck } from './check-tails.js';
import type { Finding, Pause } from './findings.js';
import { type HighWater, readHighWater, unreadableSlots } from './high-water.js';
import { FILE_HEADER_BYTES } from './layout.js';
import type { Places } from './places.js';
import { namedSegments, type Segment, type SegmentName, soundSegments } from './segment.js';
import { splitFenced, survey, type TruthFile } from './survey.js';

export interface TruthVerdict {
  findings: Finding[];
  storeId: Buffer | null;
  /** The state of each commit from the first to the last one can be had. */
  firstSeq: number;
  lastSeq: number;
  durableSeq: number;
  commits: number;
  files: number;
  /** Those of the names asked for that commits or bases are about, also when the document was removed later. */
  named: ReadonlySet<string>;
}

/** What there is to read, in bytes. */
export function truthBytes(disk: Disk, places: Places): number {
  const paths = [...survey(disk, places), ...namedSegments(disk, places)].map(({ path }) => path);
  return paths.reduce((bytes, path) => bytes + (disk.entry(path)?.size ?? 0), 0);
}

/** `names`: of documents that may be in it. */
export function* checkTruth(
  disk: Disk,
  places: Places,
  names: ReadonlySet<string> = new Set(),
): Generator<Pause, TruthVerdict> {
  // Witnesses before what they witness.
  const highWater = readHighWater(disk, places);
  const published = durableWitness(disk, places);
  return yield* new TruthCheck(disk, places, highWater, published, names).run();
}

class TruthCheck {
  readonly #disk: Disk;
  readonly #places: Places;
  readonly #highWater: HighWater | null;
  readonly #published: number;
  readonly #files: TruthFile[];
  readonly #tails: Shelved[];
  readonly #bases: Shelved[];
  readonly #findings: Finding[] = [];
  readonly #storeId: Buffer | null;
  readonly #names: ReadonlySet<string>;
  readonly #named = new Set<string>();

  constructor(disk: Disk, places: Places, highWater: HighWater | null, published: number, names: ReadonlySet<string>) {
    this.#names = names;
    this.#disk = disk;
    this.#places = places;
    this.#highWater = highWater;
    this.#published = published;
    const { files, fenced } = splitFenced(survey(disk, places));
    this.#files = files;
    for (const { path } of fenced)
      this.#find('harmless', path, 'is of a process that had lost the store: it does not count');
    this.#tails = files.flatMap((file) => shelved(file, 'tail'));
    this.#bases = files.flatMap((file) => shelved(file, 'base'));
    this.#bases.sort((a, b) => b.header.prevSeq - a.header.prevSeq || b.number - a.number);
    this.#storeId = files.find(({ header }) => header !== null)?.header?.storeId ?? null;
  }

  *run(): Generator<Pause, TruthVerdict> {
    this.#checkStoreIds();
    const start = yield* this.#chooseBase();
    const named = [...this.#bases.map(({ header }) => header.prevSeq), this.#highWater?.seq ?? 0];
    const tails = new TailCheck(this.#disk, this.#tails, named, this.#names);
    yield* tails.run();
    for (const name of tails.named) this.#named.add(name);
    const segments = yield* this.#checkLogs();
    const durableSeq = this.#durableSeq(tails, segments);
    this.#findings.push(...tails.conclude(start, durableSeq));
    const lastSeq = Math.max(start ?? 0, tails.lastSeq);
    if (lastSeq < durableSeq)
      this.#find('refused', this.#newestPath(), `ends with commit ${lastSeq}, and commit ${durableSeq} was saved`);
    this.#checkHeaders(start);
    this.#checkWitness(tails, start);
    return {
      findings: this.#findings,
      storeId: this.#storeId,
      firstSeq: this.#firstSeq(),
      lastSeq,
      durableSeq,
      commits: tails.commits,
      files: this.#files.length,
      named: this.#named,
    };
  }

  #find(effect: Finding['effect'], file: string, what: string): void {
    this.#findings.push({ effect, file, what });
  }

  #checkStoreIds(): void {
    for (const { path, header } of this.#files) {
      const isOther = header !== null && this.#storeId !== null && !this.#storeId.equals(header.storeId);
      if (isOther) this.#find('refused', path, 'belongs to another store');
    }
  }

  /** The commit at which recovery would begin; null when it cannot. */
  *#chooseBase(): Generator<Pause, number | null> {
    let start: number | null = null;
    const problems: { path: string; problem: string }[] = [];
    for (const base of this.#bases) {
      const verdict = yield* this.#checkBase(base);
      if (verdict === null) continue;
      for (const name of verdict.names) if (this.#names.has(name)) this.#named.add(name);
      if (verdict.problem === null) start ??= base.header.prevSeq;
      else problems.push({ path: base.path, problem: verdict.problem });
    }
    const isFromTheBeginning = this.#tails.some(({ header }) => header.prevSeq === 0);
    if (start === null && isFromTheBeginning) start = 0;
    for (const { path, problem } of problems) this.#find(start === null ? 'refused' : 'spare', path, problem);
    if (start === null)
      this.#find('refused', this.#places.hidden, 'has no base that can be read, and the first tail is missing');
    return start;
  }

  /** Null when it was deleted meanwhile: then there are newer ones. */
  *#checkBase(base: Shelved): Generator<Pause, BaseVerdict | null> {
    try {
      return yield* checkBase(this.#disk, this.#places, base);
    } catch (error) {
      if (isCode(error, 'ENOENT')) return null;
      throw error;
    }
  }

  #checkHeaders(start: number | null): void {
    const tails = this.#files.filter(({ kind }) => kind === 'tail');
    for (const file of this.#files) {
      if (file.header !== null) continue;
      const later = tails.slice(tails.indexOf(file) + 1);
      const isBefore = later.some(({ header }) => header !== null && start !== null && header.pinned <= start);
      // A tail that cannot be placed may be any of those that are needed.
      const isNeeded = file.kind === 'tail' && !isBefore;
      this.#find(isNeeded ? 'refused' : 'spare', file.path, `has a damaged header (${FILE_HEADER_BYTES} bytes)`);
    }
  }

  #durableSeq(tails: TailCheck, segments: readonly Segment[]): number {
    const ofBases = this.#bases.map(({ header }) => header.prevSeq);
    const ofLogs = segments.map(({ header }) => header.prevSeq);
    return Math.max(tails.durableSeq, this.#highWater?.seq ?? 0, this.#published, ...ofBases, ...ofLogs);
  }

  #checkWitness(tails: TailCheck, start: number | null): void {
    const { highWater: path } = this.#places;
    const newest = Math.max(0, ...this.#files.filter(({ kind }) => kind === 'tail').map(({ number }) => number));
    const known = Math.max(this.#highWater?.tail ?? 0, ...this.#bases.map(({ header }) => header.pinned));
    if (newest < known) this.#find('refused', this.#places.truth(known, 'tail'), 'is missing');
    for (const { path: file, header } of this.#bases) {
      if (header.prevSeq < (start ?? 0) || header.prevSeq === 0) continue;
      const link = tails.links.get(header.prevSeq) ?? Number.NaN;
      if (!Number.isNaN(link) && link !== header.prevCrc)
        this.#find('refused', file, `is of another commit ${header.prevSeq}`);
    }
    const slots = unreadableSlots(this.#disk, this.#places);
    if (slots === 1) this.#find('harmless', path, 'has a slot that cannot be read; the other one counts');
    if (slots === 2) this.#find('spare', path, 'cannot be read: a tail that was cut short would be harder to notice');
    if (this.#highWater === null) return;
    const { seq, crc, storeId } = this.#highWater;
    if (this.#storeId !== null && !this.#storeId.equals(storeId))
      this.#find('refused', path, 'belongs to another store');
    const link = tails.links.get(seq) ?? Number.NaN;
    if (seq > (start ?? 0) && !Number.isNaN(link) && link !== crc)
      this.#find(
        'refused',
        path,
        `names another commit ${seq} than the one that is there: the files are from different times`,
      );
  }

  *#checkLogs(): Generator<Pause, Segment[]> {
    if (this.#storeId === null) return [];
    const sound = soundSegments(this.#disk, this.#places, this.#storeId);
    for (const named of namedSegments(this.#disk, this.#places)) {
      const problem = yield* this.#checkEntries(named);
      if (problem === null) continue;
      const others = sound.filter(({ hash, name }) => hash === named.hash && name !== named.name);
      const isElsewhere = isCovered(others, named) || this.#isInTails(others, named);
      this.#find(isElsewhere ? 'spare' : 'lost', named.path, problem);
    }
    return sound;
  }

  *#checkEntries(named: SegmentName): Generator<Pause, string | null> {
    try {
      return yield* checkEntries(this.#disk, named);
    } catch (error) {
      // Taken over into another one meanwhile.
      if (isCode(error, 'ENOENT')) return null;
      throw error;
    }
  }

  /** Its entries are newer than the beginning of the tails: those have them too. */
  #isInTails(others: readonly Segment[], { from }: SegmentName): boolean {
    const beforeTails = Math.min(...this.#tails.map(({ header }) => header.prevSeq), Number.POSITIVE_INFINITY);
    const before = others.find(({ to }) => to === from);
    return from === 0 ? beforeTails === 0 : (before?.header.prevSeq ?? -1) >= beforeTails;
  }

  /** The oldest state that can be had. */
  #firstSeq(): number {
    const seqs = this.#bases.map(({ header }) => header.prevSeq);
    if (this.#tails[0]?.header.prevSeq === 0) return 1;
    return Math.min(...seqs, Number.POSITIVE_INFINITY);
  }

  #newestPath(): string {
    return this.#tails.at(-1)?.path ?? this.#places.hidden;
  }
}

function isCovered(others: readonly Segment[], { from, to }: SegmentName): boolean {
  return others.some((other) => other.from <= from && other.to >= to);
}

function shelved({ kind, path, number, header }: TruthFile, wanted: TruthFile['kind']): Shelved[] {
  return kind === wanted && header !== null ? [{ path, number, header }] : [];
}
