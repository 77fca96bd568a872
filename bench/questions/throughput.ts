// 4. How many updates a second when nobody waits, and what does the disk get for each?

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, type AgentStart } from '../agent.js';
import { Apart } from '../apart.js';
import type { Prepared } from '../child.js';
import { cpuAtRest, mainCpuUs, processCpuUs, processIo } from '../clocks.js';
import { among } from '../drivers/index.js';
import { counted, figuresOf, type Metric } from '../figures.js';
import { type Context, portion, type Question, WARM_SHARE } from '../question.js';
import type { Figure, Table } from '../results.js';
import { inRounds, newDirectory, type Seat } from '../rounds.js';
import { syncsIn, syncWrapper, whyNoSyncs } from '../syncs.js';
import { journalTables } from './throughput-journal.js';

const SUBJECTS = [
  ...['holdfast', 'holdfast-coalescing', 'write-file-atomic-debounced'],
  ...['sqlite-wal-full', 'sqlite-wal-normal', 'lmdb', 'classic-level', 'nedb'],
];
const REST_MAX_MS = 20_000;
/** A program lets its event loop turn now and then. */
const BREATH = 50;

interface RateStart extends AgentStart {
  updates: number;
  /** A round ends then, however many it were. */
  wallMs: number;
}

interface Rates {
  updates: number;
  perSecond: number;
  mainUs: number;
  processUs: number;
  writtenBytes: number;
  diskBytes: number;
}

export async function prepareRates({ updates, wallMs, ...start }: RateStart): Promise<Prepared<null, Rates>> {
  const agent = await Agent.begin(start);
  const play = async (forMs: number) => {
    const before = { mainUs: mainCpuUs(), processUs: processCpuUs(), ...processIo() };
    const startMs = performance.now();
    let n = 0;
    while (n < updates && performance.now() - startMs < forMs) {
      for (let breath = 0; breath < BREATH; breath++, n++) {
        const wait = agent.update();
        if (wait !== undefined) await wait;
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    await agent.session.settle();
    const perSecond = n / ((performance.now() - startMs) / 1000);
    // What follows in the background was caused by these updates too.
    await agent.rest();
    await cpuAtRest(REST_MAX_MS);
    const after = { mainUs: mainCpuUs(), processUs: processCpuUs(), ...processIo() };
    const each = (key: keyof typeof before) => (after[key] - before[key]) / n;
    return {
      ...{ updates: n, perSecond, mainUs: each('mainUs'), processUs: each('processUs') },
      ...{ writtenBytes: each('writtenBytes'), diskBytes: each('diskBytes') },
    };
  };
  await play(wallMs * WARM_SHARE);
  return { round: () => play(wallMs), end: () => agent.session.close() };
}

const METRICS: Metric<Rates>[] = [
  { metric: 'updates', unit: '/s', of: ({ perSecond }) => perSecond },
  { metric: 'main-thread CPU', unit: 'µs', of: ({ mainUs }) => mainUs },
  { metric: 'CPU of all threads', unit: 'µs', of: ({ processUs }) => processUs },
  { metric: 'written', unit: 'bytes', of: ({ writtenBytes }) => writtenBytes },
  { metric: 'dirtied', unit: 'bytes', of: ({ diskBytes }) => diskBytes },
];

export const throughput: Question = {
  id: 'q4',
  title: 'How many updates a second when nobody waits, and what does the disk get?',
  async run(context) {
    const table: Table = {
      id: 'rates',
      title: 'Updates that nobody waits for, each of 60 characters; per update',
      columns: 'metrics',
      figures: [],
      note: 'Written: by write calls. Dirtied: pages that must go to the disk, memory-mapped ones too. Both with what follows in the background, holdfast’s JSON file and compaction too.',
    };
    const patterns = patternsOf(context);
    const failures: string[] = [];
    const notes = [...NOTES];
    const parts = patterns.length + 2;
    for (const [at, pattern] of patterns.entries()) {
      const outcome = await inRounds<null, Rates>(
        import.meta.url,
        'prepareRates',
        seatsOf(context, pattern),
        portion(context, at, parts),
      );
      failures.push(...outcome.failures);
      table.figures.push(...figuresOf(outcome.played, METRICS));
    }
    const why = whyNoSyncs();
    if (why === null)
      table.figures.push(...(await countSyncs(portion(context, patterns.length, parts), patterns, failures)));
    else notes.push(why);
    const journal = await journalTables(portion(context, patterns.length + 1, parts));
    failures.push(...journal.failures);
    return { tables: [table, ...journal.tables], charts: CHARTS, wanted: journal.wanted, notes, failures };
  },
};

interface Pattern {
  name: string;
  items: number;
  isHot: boolean;
  updates: number;
  wallMs: number;
}

function patternsOf({ isQuick }: Context): Pattern[] {
  const distinct = isQuick ? 20_000 : 1_000_000;
  return [
    { name: 'one hot field', items: 1_000, isHot: true, updates: distinct, wallMs: isQuick ? 150 : 700 },
    {
      name: `${counted(distinct)} fields`,
      items: distinct,
      isHot: false,
      updates: distinct,
      wallMs: isQuick ? 150 : 1_200,
    },
  ];
}

function seatsOf({ rivals }: Context, { name, ...start }: Pattern): Seat<null>[] {
  return among(SUBJECTS, rivals).map(({ id }) => ({
    subject: id,
    at: name,
    start: { driver: id, ...start },
    order: null,
  }));
}

/** How often one syncs does not depend on how much there is. */
const COUNTED_ITEMS = 100_000;

/** The same once more, in a process that is watched. */
async function countSyncs(context: Context, patterns: readonly Pattern[], failures: string[]): Promise<Figure[]> {
  const small = patterns.map((one) => ({ ...one, items: Math.min(one.items, COUNTED_ITEMS) }));
  const seats = small.flatMap((pattern) => seatsOf(context, pattern));
  const figures: Figure[] = [];
  for (const [at, { subject, at: name, start }] of seats.entries()) {
    context.onProgress(at, seats.length, `syncs of ${subject}`);
    const directory = newDirectory(context.scratch);
    const log = join(context.scratch, 'syncs');
    try {
      const order = { directory, ...start };
      const apart = await Apart.begin<null, Rates>(import.meta.url, 'prepareRates', order, {
        wrapper: syncWrapper(log),
      });
      const before = syncsIn(log);
      const { updates } = await apart.round(null);
      const syncs = ((syncsIn(log) - before) / updates) * 1000;
      await apart.end();
      figures.push({ subject, at: name, metric: 'syncs per 1,000', unit: '', rounds: [syncs] });
    } catch (error) {
      failures.push(`${subject}, ${name}, syncs: ${(error as Error).message}`);
    }
    rmSync(directory, { recursive: true });
  }
  return figures;
}

const CHARTS = [
  {
    file: 'q4-rates.svg',
    title: 'Updates a second of one hot field, until all of them are on disk',
    table: 'rates',
    metric: 'updates',
    kind: 'bars' as const,
    scale: 'log' as const,
    at: 'one hot field',
  },
];

const NOTES = [
  'A round ends when every field was updated once, or after 1.2 s (one hot field: 0.7 s; a quick run: 0.15 s).',
  'A second ends when everything is on disk. better-sqlite3 saves each update before it goes on; with NORMAL, nedb and the debounce nothing is synced at the end but what they sync themselves.',
  'Syncs (fsync, fdatasync, msync, sync_file_range) are counted by strace with a filter in the kernel, in a run of their own.',
];
