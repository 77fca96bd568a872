// One thing wrong with one file of a closed store, opened as a program opens it: the right state, or a refusal that says
// why. test/crash/damage.test.ts does every bit and every length of the truth; here are all the other files too.

import {
  closeSync,
  cpSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { expect, it, vi } from 'vitest';
import type { PublicDisk } from '../../src/disk/disk.js';
import { nodeDisk } from '../../src/disk/node-disk.js';
import { openReadOnly } from '../../src/index.js';
import { openAt } from '../../src/opening.js';
import { settle } from '../../src/options.js';
import { realGround } from '../../src/real-ground.js';
import { JournalThread } from '../../src/threads/journal-thread.js';
import { Truth } from '../../src/truth.js';
import { folder, json, openStore, workersUrl } from './support.js';

interface State {
  n: number;
  list: number[];
}

const NAMES = ['a', 'folder/b'] as const;
/** No state that was ever saved. */
const NEVER: State = { n: -1, list: [] };
const ALLOWED = ['right', 'HF_DAMAGED', 'HF_DRIFT'];

/** Files by path, as they were at some moment. */
type Files = Map<string, Buffer>;

function filesIn(directory: string): Files {
  const files: Files = new Map();
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name).slice(directory.length + 1);
    // Locks hold no state.
    if (entry.isFile() && !/lock\.\d+$|\.gitignore$|tmp\//.test(path))
      files.set(path, readFileSync(join(directory, path)));
  }
  return files;
}

/** Two bases, tails, the witness, the record, files and backups. Returns the files after each clean close. */
async function build(directory: string): Promise<{ states: State[]; lives: Files[] }> {
  const states: State[] = [];
  const lives: Files[] = [];
  for (let life = 1; life <= 4; life++) {
    const store = await openStore(directory);
    states.length = 0;
    for (const name of NAMES) {
      const doc = await store.doc<State>(name, { initial: { n: 0, list: [] } });
      for (let step = 0; step < 2; step++) {
        doc.update((s) => {
          s.n++;
          s.list.push(s.n * 7);
        });
        await store.flush({ projected: true });
      }
      states.push(structuredClone(doc.state) as State);
    }
    await store.close();
    if (life === 2 || life === 3) {
      const truth = new Truth(directory);
      truth.compact();
      truth.close();
    }
    lives.push(filesIn(directory));
  }
  return { states, lives };
}

interface Case {
  what: string;
  path: string;
  /** Null: deleted. */
  bytes: Buffer | null;
}

function* casesOf({ states: _, lives }: { states: State[]; lives: Files[] }): Generator<Case> {
  const last = lives.at(-1) as Files;
  for (const [path, bytes] of last) {
    yield { path, what: 'deleted', bytes: null };
    for (const size of new Set([0, bytes.length >> 1, bytes.length - 1]))
      yield { path, what: `cut at ${size}`, bytes: bytes.subarray(0, size) };
    for (const part of [0.02, 0.3, 0.55, 0.9]) {
      const at = Math.floor(bytes.length * part);
      const flipped = Buffer.from(bytes);
      flipped[at] = (flipped[at] as number) ^ 4;
      yield { path, what: `bit 2 of byte ${at} flipped`, bytes: flipped };
    }
    yield { path, what: 'first sector zeroed', bytes: Buffer.from(bytes).fill(0, 0, Math.min(512, bytes.length)) };
    const end = Math.floor((bytes.length - 1) / 512) * 512;
    yield { path, what: 'last sector zeroed', bytes: Buffer.from(bytes).fill(0, end) };
  }
  for (const [index, older] of lives.slice(0, -1).entries()) {
    for (const [path, bytes] of older)
      if (last.get(path)?.equals(bytes) !== true) yield { path, what: `as after life ${index + 1}`, bytes };
  }
}

/** What a program finds, document by document. */
async function conclude(directory: string, states: readonly State[]): Promise<string[]> {
  const outcomes: string[] = [];
  let store: Awaited<ReturnType<typeof openStore>>;
  try {
    store = await openStore(directory);
  } catch (error) {
    return [(error as { code?: string }).code ?? String(error)];
  }
  let isWhole = true;
  for (const [index, name] of NAMES.entries()) {
    try {
      const doc = await store.doc<State>(name, { initial: NEVER });
      const isRight = JSON.stringify(doc.state) === JSON.stringify(states[index]);
      outcomes.push(isRight ? 'right' : `${name} is ${JSON.stringify(doc.state)}`);
    } catch (error) {
      isWhole = false;
      outcomes.push((error as { code?: string }).code ?? String(error));
    }
  }
  await store.close();
  for (const [index, name] of NAMES.entries()) {
    const isMended = () =>
      readFileSync(join(directory, `${name}.json`), 'utf8') === `${JSON.stringify(states[index], null, 2)}\n`;
    if (isWhole && !isMended()) outcomes.push(`${name}.json was not mended`);
  }
  return outcomes;
}

it('whatever single file is damaged, deleted or put back from before: the right state, or a refusal', async () => {
  const directory = folder();
  const built = await build(directory);
  expect([...(built.lives.at(-1) as Files).keys()].map((path) => basename(path))).toEqual(
    expect.arrayContaining(['a.json', 'a.json.bak1', 'b.json', 'b.json.bak3', 'high-water', 'projections']),
  );
  const wrong: string[] = [];
  const seen: Record<string, number> = {};
  const attempt = async ({ what, path, bytes }: Case) => {
    const copy = folder();
    cpSync(directory, copy, { recursive: true, filter: (source) => !/owner-.*\.sock$/.test(source) });
    if (bytes === null) rmSync(join(copy, path));
    else writeFileSync(join(copy, path), bytes);
    const outcomes = await conclude(copy, built.states);
    for (const outcome of outcomes) seen[outcome] = (seen[outcome] ?? 0) + 1;
    if (!outcomes.every((outcome) => ALLOWED.includes(outcome))) wrong.push(`${path} ${what}: ${outcomes.join(', ')}`);
    rmSync(copy, { recursive: true, force: true });
  };
  const cases = [...casesOf(built)];
  // A few at a time: most of each is waiting for the disk.
  while (cases.length > 0) await Promise.all(cases.splice(0, 8).map(attempt));
  console.info(JSON.stringify(seen));
  expect(wrong).toEqual([]);
  expect(seen.right).toBeGreaterThan(50);
  expect(seen.HF_DAMAGED).toBeGreaterThan(2);
  expect(seen.HF_DRIFT).toBeGreaterThan(0);
}, 120_000);

it('what cannot be read at opening is that error, with the path, and never an empty store', async () => {
  const directory = folder();
  const store = await openStore(directory);
  await store.doc('a', { initial: { n: 1 } });
  await store.close();
  const hidden = join(directory, '.holdfast');
  const [tail] = readdirSync(hidden).filter((name) => name.endsWith('.tail'));
  const path = join(hidden, tail as string);
  rmSync(path);
  mkdirSync(path);
  const refusal = { code: 'EISDIR', path, message: expect.stringContaining(path) };
  await expect(openStore(directory)).rejects.toMatchObject(refusal);
  await expect(openReadOnly(directory)).rejects.toMatchObject(refusal);
});

it('rot that is noticed while the store is open is told, and a file that is behind is no success', async () => {
  const directory = folder();
  const store = await openStore(directory, { projectDelayMs: 60_000 });
  const doc = await store.doc('a', { initial: { n: 0, text: '' } });
  await store.flush({ projected: true });
  for (let n = 1; n <= 20; n++) {
    doc.update((s) => {
      s.n = n;
      s.text = `${n}`.repeat(50);
    });
    await store.flush();
  }
  const [tail] = readdirSync(join(directory, '.holdfast')).filter((name) => name.endsWith('.tail'));
  const handle = openSync(join(directory, '.holdfast', tail as string), 'r+');
  writeSync(handle, 'rot', 1500);
  closeSync(handle);
  await expect(store.flush({ projected: true })).rejects.toMatchObject({ code: 'HF_DAMAGED' });
  expect(store.health().lastFault).toMatchObject({ code: 'HF_DAMAGED' });
  expect(doc.state.n).toBe(20);
  await store.close();
  // Memory was all that had it.
  expect(json(directory, 'a')).toMatchObject({ n: 20 });
});

it('a journal that is gone under an open store does not keep it from closing, with its files written from memory', async () => {
  const directory = folder();
  const store = await openStore(directory, { projectDelayMs: 60_000 });
  const doc = await store.doc('a', { initial: { n: 0 } });
  await store.flush({ projected: true });
  const hidden = join(directory, '.holdfast');
  for (const name of readdirSync(hidden)) if (name.endsWith('.tail')) rmSync(join(hidden, name));
  doc.update((s) => void (s.n = 1));
  await expect(store.flush({ projected: true })).rejects.toMatchObject({ code: 'HF_DAMAGED' });
  await store.close();
  expect(store.health()).toMatchObject({ phase: 'closed', lastFault: { code: 'HF_DAMAGED' } });
  expect(json(directory, 'a')).toEqual({ n: 1 });
  await expect(openStore(directory)).rejects.toMatchObject({ code: 'HF_DAMAGED' });
});

it('an opening that fails at its very end leaves nothing behind on the threads', async () => {
  const directory = folder();
  const journal = JournalThread.of(workersUrl);
  const abandoned = vi.spyOn(journal, 'abandon');
  const exhausted = Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' });
  let hasBegun = false;
  const disk: PublicDisk = {
    ...nodeDisk,
    entry: (path) => {
      if (hasBegun && path.endsWith('projections')) throw exhausted;
      return nodeDisk.entry(path);
    },
  };
  const keeper = () => {
    hasBegun = true;
    return journal;
  };
  await expect(openAt(directory, settle({ workersUrl }), { ...realGround, disk, journal: keeper })).rejects.toBe(
    exhausted,
  );
  expect(abandoned).toHaveBeenCalledTimes(1);
  abandoned.mockRestore();
  const store = await openStore(directory);
  await store.doc('a', { initial: {} });
  await store.close();
});
