// Is what was saved still there, every byte of it? Reads everything once and holds none of it: memory does not grow with
// the store, but for a document whose file does not agree with the record.

import { basename, join } from 'node:path';
import { readingDisk } from '../disk/reading-disk.js';
import { checkTruth, type TruthVerdict, truthBytes } from '../journal/check-truth.js';
import type { Finding, Pause } from '../journal/findings.js';
import { onlyFileOf, type Places } from '../journal/places.js';
import { checkFiles, type FilesVerdict, publishedBytes } from '../projection/check-files.js';
import { Follower } from '../projection/follower.js';
import { documentNameOf, jsonFiles } from '../projection/json-files.js';
import { editionsOf } from './editions.js';
import { placesOf } from './home.js';
import { assertLookOptions } from './options.js';

// Captured at import: a program's fake timers must not freeze it.
const { setImmediate, setTimeout } = globalThis;

export interface VerifyOptions {
  /** Called every few milliseconds. */
  onProgress?: (progress: { bytes: number; bytesTotal: number }) => void;
  signal?: AbortSignal;
}

export interface Verdict {
  directory: string;
  /** `damaged` when anything was found that an ordinary crash does not leave. */
  verdict: 'sound' | 'damaged';
  /** False: `open` refuses it with HF_DAMAGED. */
  isOpenable: boolean;
  findings: Finding[];
  /** Of the journal; and JSON files, JSON Lines and backups. */
  files: { journal: number; published: number };
  bytes: number;
  commits: number;
  /** The first and the last commit whose state can be had, and up to where a power cut takes nothing away. */
  firstSeq: number;
  lastSeq: number;
  durableSeq: number;
}

/** A store that keeps changing its files is looked at again when it seems damaged. */
const ATTEMPTS_MAX = 4;
const PAUSE_MS = 50;

/**
 * Checks every checksum and chain of a store, its logs, JSON files and backups. What is wrong is in the verdict; it rejects
 * only when it cannot tell: HF_MISSING, HF_VERSION, or an error of the file system. Takes no lock and writes nothing.
 */
export async function verify(path: string, options: VerifyOptions = {}): Promise<Verdict> {
  assertLookOptions(options, 'verify');
  const { onProgress, signal } = options;
  const places = placesOf(path);
  const step = stepper(onProgress, signal);
  for (let attempt = 1; ; attempt++) {
    const before = listing(places);
    step.begin(truthBytes(readingDisk, places));
    const truth = await run(checkTruth(readingDisk, places, unrecorded(places)), step.take);
    const isRefused = truth.findings.some(({ effect }) => effect === 'refused');
    // A verdict counts only if no file came or went while it was reached.
    if (isRefused && attempt < ATTEMPTS_MAX && listing(places) !== before) {
      await delay(PAUSE_MS);
      continue;
    }
    const files = await published(places, truth, isRefused, step);
    return verdictOf(places, truth, files, step.bytes);
  }
}

interface Stepper {
  readonly bytes: number;
  begin(bytesTotal: number): void;
  expect(bytes: number): void;
  take(pause: Pause): Promise<void>;
}

function stepper(onProgress: VerifyOptions['onProgress'], signal: AbortSignal | undefined): Stepper {
  let bytes = 0;
  let bytesTotal = 0;
  return {
    get bytes() {
      return bytes;
    },
    begin: (total) => {
      bytes = 0;
      bytesTotal = total;
    },
    expect: (more) => {
      bytesTotal = Math.max(bytes, bytesTotal) + more;
    },
    take: async (pause) => {
      signal?.throwIfAborted();
      if (pause.kind === 'wait') return delay(pause.delayMs);
      bytes += pause.bytes;
      onProgress?.({ bytes, bytesTotal: Math.max(bytes, bytesTotal) });
      return new Promise((resolve) => setImmediate(resolve));
    },
  };
}

async function run<R>(check: Generator<Pause, R>, take: (pause: Pause) => Promise<void>): Promise<R> {
  try {
    for (;;) {
      const next = check.next();
      if (next.done) return next.value;
      await take(next.value);
    }
  } finally {
    // Closes the file that it stopped in.
    check.return(undefined as never);
  }
}

/** Files are held against a truth that is whole; without one nobody can say what they should be. */
async function published(
  places: Places,
  { storeId, lastSeq, named }: TruthVerdict,
  isRefused: boolean,
  step: Stepper,
): Promise<FilesVerdict> {
  if (storeId === null || isRefused) return { findings: [], files: 0 };
  step.expect(publishedBytes(readingDisk, places, storeId));
  const follower = new Follower(readingDisk, places, storeId);
  const truth = () => {
    follower.catchUp(lastSeq);
    return follower.documents;
  };
  const hasFiles = () => hasJsonFiles(places.directory);
  return run(checkFiles({ disk: readingDisk, places, storeId, named, hasFiles, truth }), step.take);
}

/** Documents have files here that the record does not tell of: after a salvage, or where it has rotted. */
function unrecorded(places: Places): Set<string> {
  const { directory } = places;
  const editions = editionsOf(places);
  const file = onlyFileOf(directory);
  const names =
    file === null
      ? [...jsonFiles({ entries }, directory)].map(({ path }) => documentNameOf(directory, path))
      : [basename(file)];
  return new Set(names.filter((name) => !editions.has(name)));
}

/** Or a link, or a closed folder, with one behind it. */
function hasJsonFiles(directory: string): boolean {
  const file = onlyFileOf(directory);
  if (file !== null) return readingDisk.entry(file) !== null;
  return jsonFiles({ entries }, directory).next().done !== true;
}

function entries(folder: string) {
  return readingDisk.list(folder).map((name) => ({
    name,
    kind: readingDisk.entry(join(folder, name))?.kind ?? ('other' as const),
  }));
}

function verdictOf({ directory }: Places, truth: TruthVerdict, files: FilesVerdict, bytes: number): Verdict {
  const findings = [...truth.findings, ...files.findings];
  const { commits, firstSeq, lastSeq, durableSeq } = truth;
  return {
    directory,
    verdict: findings.every(({ effect }) => effect === 'harmless') ? 'sound' : 'damaged',
    isOpenable: findings.every(({ effect }) => effect !== 'refused'),
    findings,
    files: { journal: truth.files, published: files.files },
    bytes,
    commits,
    firstSeq,
    lastSeq,
    durableSeq,
  };
}

function listing(places: Places): string {
  const logs = readingDisk.entry(places.logs) === null ? [] : readingDisk.list(places.logs);
  return JSON.stringify([readingDisk.list(places.hidden).sort(), logs.map((name) => join('logs', name)).sort()]);
}

function delay(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
