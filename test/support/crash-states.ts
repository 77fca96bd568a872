// The disks that a power cut may leave, extremes first, then chance.
//
// 'posix': any subset of the unsynced entry operations is kept, so a rename may be half done, or leave neither name.
// 'journal': a prefix of them in the order they were made, renames whole. Weaker than a real journal in one way: syncing
// one directory does not take along what was done in others before.
//
// Data and names are independent in both: a name may be kept without the bytes, and bytes without the name are gone.

import { type Fate, Medium } from './crash-medium.js';
import { KEPT, LOST, type Outcome, ZERO } from './crash-pieces.js';
import { randomFrom } from './random.js';
import { PAGE_BYTES } from './recording-content.js';
import type { RecordingDisk } from './recording-disk.js';
import type { FileNode } from './recording-nodes.js';

export interface CrashOptions {
  /** @default 'posix' */
  model?: 'posix' | 'journal';
  /** How many fates to draw after the extremes; those that give a disk already seen are skipped. @default 0 */
  random?: number;
  /** @default 1 */
  seed?: number;
  /** Of more pieces than this, only about so many are each lost alone and kept alone. @default no limit */
  singlesMax?: number;
  /**
   * 'independent': of two writes to one page the later may be kept without the earlier. 'cached': a page is written out as
   * it was at some moment, so what is kept has all that went before it, truncates of the file too. @default 'independent'
   */
  pages?: 'independent' | 'cached';
}

// 2⁵ subsets, each with and without data.
const SUBSETS_OF_MAX = 5;

/** Each disk once, wholly durable. The disk asked about, which may be stopped, must not change meanwhile. */
export function* crashStates(disk: RecordingDisk, options: CrashOptions = {}): Generator<RecordingDisk> {
  const { pages = 'independent' } = options;
  const medium = new Medium(disk.root);
  const seen = new Set<string>();
  for (const drawn of fates(medium, options)) {
    const fate = pages === 'cached' ? asCached(medium, drawn) : drawn;
    const state = medium.disk(fate);
    const hash = state.hash();
    if (seen.has(hash)) continue;
    seen.add(hash);
    yield state;
  }
}

/** What a killed process leaves while the machine runs on: all it saw, durable or not. */
export function killState(disk: RecordingDisk): RecordingDisk {
  return disk.afterKill();
}

function* fates(medium: Medium, options: CrashOptions): Generator<Fate> {
  const { model = 'posix', random = 0, seed = 1, singlesMax = Number.POSITIVE_INFINITY } = options;
  const { entries, pieces } = medium;
  const all = entries.map(() => true);
  const none = entries.map(() => false);
  const kept: Outcome[] = pieces.map(() => KEPT);
  const lost: Outcome[] = pieces.map(() => LOST);
  yield { entries: none, data: lost };
  yield { entries: all, data: kept };
  if (entries.length === 0 && pieces.length === 0) return;
  yield { entries: all, data: lost };
  yield { entries: none, data: kept };
  yield { entries: all, data: pieces.map(({ piece }) => piece.losses.find((loss) => loss === ZERO) ?? LOST) };
  const every = Math.max(1, Math.ceil(pieces.length / singlesMax));
  for (const [index, { piece }] of pieces.entries()) {
    if (index % every !== seed % every) continue;
    for (const loss of piece.losses) yield { entries: all, data: kept.with(index, loss) };
    yield { entries: all, data: lost.with(index, KEPT) };
  }
  for (const subset of model === 'posix' ? subsets(entries.length) : prefixes(medium)) {
    yield { entries: subset, data: kept };
    yield { entries: subset, data: lost };
  }
  const draw = randomFrom(seed);
  for (let count = 0; count < random; count++) yield randomFate(medium, model, draw);
}

/** Every piece that something later on its page was kept on top of is kept too. */
function asCached({ pieces }: Medium, { entries, data }: Fate): Fate {
  const cached = data.slice();
  const pagesKept = new Map<FileNode, Set<number>>();
  for (const [at, { piece, file }] of [...pieces.entries()].reverse()) {
    const kept = pagesKept.get(file) ?? new Set<number>();
    const page = Math.floor(piece.start / PAGE_BYTES);
    if (piece.kind === 'truncate' ? kept.size > 0 : kept.has(page)) cached[at] = KEPT;
    const { kind } = cached[at] ?? KEPT;
    // Zeros that extend the file are its size, and no page.
    if (piece.kind === 'bytes' && (kind === 'kept' || kind === 'torn')) pagesKept.set(file, kept.add(page));
  }
  return { entries, data: cached };
}

function* subsets(count: number): Generator<boolean[]> {
  const all = new Array<boolean>(count).fill(true);
  const none = new Array<boolean>(count).fill(false);
  for (let index = 0; index < count; index++) {
    yield all.with(index, false);
    yield none.with(index, true);
  }
  if (count > SUBSETS_OF_MAX) return;
  for (let bits = 0; bits < 2 ** count; bits++) yield all.map((_, index) => ((bits >> index) & 1) === 1);
}

/** Cut only between orders: the two halves of a rename have the same one. */
function prefixes({ entries }: Medium): boolean[][] {
  const orders = [...new Set(entries.map(({ op }) => op.order))];
  return [-1, ...orders].map((last) => entries.map(({ op }) => op.order <= last));
}

// How likely each is to be kept: real cuts lose a little or nearly all, seldom half.
const KEEP_CHANCES = [0.1, 0.5, 0.9, 1];

function randomFate(medium: Medium, model: 'posix' | 'journal', draw: () => number): Fate {
  const entryChance = pick(KEEP_CHANCES, draw) ?? 1;
  const dataChance = pick(KEEP_CHANCES, draw) ?? 1;
  const entries =
    model === 'posix' ? medium.entries.map(() => draw() < entryChance) : (pick(prefixes(medium), draw) ?? []);
  const data = medium.pieces.map(({ piece }) => (draw() < dataChance ? KEPT : (pick(piece.losses, draw) ?? LOST)));
  return { entries, data };
}

function pick<T>(from: readonly T[], draw: () => number): T | undefined {
  return from[Math.floor(draw() * from.length)];
}
