// 5, in processes of their own: writing a state, harming it, and loading it back.

import { closeSync, openSync, readdirSync, readFileSync, readSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type Document, open } from 'holdfast';
import { type AgentState, agentState, finish, itemId, OUTPUT_BYTES, output, schema } from '../agent-state.js';
import type { Prepared } from '../child.js';
import { driverOf } from '../drivers/index.js';

/** What was done to a store before it is opened. */
export const CONDITIONS = ['clean', 'killed with a long tail', 'damaged base'] as const;
export type Condition = (typeof CONDITIONS)[number];

export interface LoadFigures {
  ms: number;
  openMs: number | null;
  peakMb: number;
  loadedMb: number;
}

const MB = 1e6;
const TAIL_COMMITS = 10_000;
const BREATH = 50;
/** Compaction begins long before. */
const COMMITS_MAX = 500_000;

function isOnce<F>(round: () => Promise<F>): Prepared<null, F> {
  return { round, end: async () => undefined };
}

interface Place {
  driver: string;
  directory: string;
}

export async function prepareWriting({
  driver,
  directory,
  items,
}: Place & { items: number }): Promise<Prepared<null, null>> {
  return isOnce(async () => {
    const session = await driverOf(driver).begin(directory, agentState(items, OUTPUT_BYTES));
    await session.settle();
    await session.close();
    if (driver.startsWith('holdfast')) await workUntilBase(directory);
    return null;
  });
}

async function withLoop(
  directory: string,
  use: (doc: Document<AgentState>, work: () => Promise<void>) => Promise<void>,
) {
  const store = await open(directory);
  const doc = await store.doc('loop', { schema, initial: agentState(0, 0) });
  const text = output('text', OUTPUT_BYTES);
  let n = 0;
  /** Some steps, and a turn of the event loop. */
  const work = async () => {
    for (let breath = 0; breath < BREATH; breath++) {
      const id = itemId(n++ % doc.state.order.length);
      doc.update((state) => finish(state, id, text));
    }
    await new Promise((resolve) => setImmediate(resolve));
  };
  await use(doc, work);
  await store.flush({ projected: true });
  await store.close();
}

/** A store that has lived a while has been compacted. */
async function workUntilBase(directory: string): Promise<void> {
  await withLoop(directory, async (_, work) => {
    for (let n = 0; bases(directory).length === 0 && n < COMMITS_MAX; n += BREATH) await work();
  });
  if (bases(directory).length === 0) throw new Error(`No base after ${COMMITS_MAX} commits`);
}

function bases(directory: string): string[] {
  const hidden = join(directory, '.holdfast');
  const names = readdirSync(hidden).filter((name) => name.endsWith('.base'));
  return names.sort().map((name) => join(hidden, name));
}

export async function prepareHarm({
  directory,
  condition,
}: Place & { condition: Condition }): Promise<Prepared<null, null>> {
  if (condition === 'damaged base') return isOnce(async () => damage(bases(directory).at(-1) as string));
  return isOnce(async () => {
    // Left as a kill leaves it: the lock, the socket and the tail stay. The files are all that the next process has.
    const store = await open(directory);
    const doc = await store.doc('loop', { schema, initial: agentState(0, 0) });
    const text = output('text', OUTPUT_BYTES);
    for (let n = 0; n < TAIL_COMMITS; n++) {
      doc.update((state) => finish(state, itemId(n % state.order.length), text));
      if (n % BREATH === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await store.flush();
    return null;
  });
}

function damage(path: string): null {
  const file = openSync(path, 'r+');
  const at = Math.floor(statSync(path).size / 2);
  const byte = Buffer.alloc(1);
  readSync(file, byte, 0, 1, at);
  writeSync(file, Buffer.of((byte[0] as number) ^ 0xff), 0, 1, at);
  closeSync(file);
  return null;
}

export async function prepareLoading({ driver, directory }: Place): Promise<Prepared<null, LoadFigures>> {
  const { load } = driverOf(driver);
  if (load === undefined) throw new TypeError(`Expected a driver that loads, got '${driver}'`);
  // Imports are those of the program, and are cached: an empty directory shows them.
  await importsOf(driver);
  return isOnce(() => measured(async () => load(directory)));
}

export async function prepareParsing({ path }: { path: string }): Promise<Prepared<null, LoadFigures>> {
  return isOnce(() =>
    measured(async () => {
      const state = JSON.parse(readFileSync(path, 'utf8')) as AgentState;
      return { items: state.order.length, state };
    }),
  );
}

const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  'holdfast-zod': ['holdfast'],
  lowdb: ['lowdb', 'lowdb/node'],
  conf: ['conf'],
  nedb: ['@seald-io/nedb'],
  'sqlite-wal-full': ['better-sqlite3'],
  lmdb: ['lmdb'],
  'classic-level': ['classic-level'],
};

async function importsOf(driver: string): Promise<void> {
  for (const name of PACKAGES[driver] ?? []) await import(name);
}

async function measured(run: () => Promise<{ items: number; openMs?: number }>): Promise<LoadFigures> {
  const before = process.memoryUsage.rss();
  const start = performance.now();
  const { items, openMs = null } = await run();
  const ms = performance.now() - start;
  if (items === 0) throw new Error('Nothing was loaded');
  // In KB, the most that this process ever had.
  const peak = process.resourceUsage().maxRSS * 1024;
  return { ms, openMs, peakMb: (peak - before) / MB, loadedMb: (process.memoryUsage.rss() - before) / MB };
}
