// 8. What do `fs`, `dns.lookup` and `crypto` notice while saves run? They wait for the four threads of libuv's pool.

import { pbkdf2 } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { mkdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sleep } from '../../test/support/process-child.js';
import { Agent, type AgentStart } from '../agent.js';
import type { Prepared } from '../child.js';
import { among } from '../drivers/index.js';
import { figuresOf, type Metric } from '../figures.js';
import { inUnit } from '../format.js';
import { poolThreads, timesRun } from '../pool.js';
import { type Question, WARM_SHARE } from '../question.js';
import { figureOf, type Table, type Wanted } from '../results.js';
import { inRounds } from '../rounds.js';
import { percentile } from '../statistics.js';

const SUBJECTS = [
  ...['nothing', 'holdfast', 'write-file-atomic', 'atomically', 'fs', 'sqlite-wal-full', 'lmdb', 'classic-level'],
];
/** Loops with a store of their own each, which save so often, all at once: that is when a pool is full. */
const LOOPS = 16;
const PERIOD_MS = 50;
const ITEMS = 1_000;
const PROBE_PAUSE_MS = 2;
/** Of a round: then once more without anybody who waits for the pool. */
const ALONE_SHARE = 0.3;

const PROBES = ['readFile', 'dns.lookup', 'pbkdf2'] as const;
type Probe = (typeof PROBES)[number];

interface ThreadsStart extends AgentStart {
  seconds: number;
}

type Waits = Record<Probe, { p50: number; p99: number }> & { saves: number; poolRuns: number };

export async function prepareThreads({ directory, seconds, ...start }: ThreadsStart): Promise<Prepared<null, Waits>> {
  const agents: Agent[] = [];
  for (let n = 0; n < LOOPS; n++) {
    const own = join(directory, `loop-${n}`);
    mkdirSync(own);
    agents.push(await Agent.begin({ ...start, directory: own }));
  }
  const file = join(directory, 'small');
  writeFileSync(file, 'small');
  const probes: Record<Probe, () => Promise<unknown>> = {
    readFile: () => readFile(file),
    'dns.lookup': () => lookup('localhost'),
    pbkdf2: () => promisify(pbkdf2)('secret', 'salt', 100, 32, 'sha256'),
  };
  const pool = await poolThreads();
  const saveAll = async (end: number) => {
    const saves = await Promise.all(agents.map((agent) => saveUntil(agent, end)));
    return saves.reduce((sum, one) => sum + one, 0);
  };
  const play = async (forS: number) => {
    const end = performance.now() + forS * 1000;
    const saving = saveAll(end);
    const tookMs = await probeUntil(probes, end);
    const saves = await saving;
    for (const agent of agents) await agent.rest();
    // Nobody asks anything of the pool now but whoever saves.
    const before = timesRun(pool);
    const alone = await saveAll(performance.now() + forS * 1000 * ALONE_SHARE);
    const poolRuns = (timesRun(pool) - before) / alone;
    for (const agent of agents) await agent.rest();
    const of = (probe: Probe) => ({ p50: percentile(tookMs[probe], 0.5), p99: percentile(tookMs[probe], 0.99) });
    return {
      readFile: of('readFile'),
      'dns.lookup': of('dns.lookup'),
      pbkdf2: of('pbkdf2'),
      saves: saves / forS,
      poolRuns,
    };
  };
  await play(seconds * WARM_SHARE);
  const close = async () => {
    for (const agent of agents) await agent.session.close();
  };
  return { round: () => play(seconds), end: close };
}

/** At its pace, as long as the disk can follow. */
async function saveUntil(agent: Agent, end: number): Promise<number> {
  let saves = 0;
  for (let due = performance.now(); due < end; due = Math.max(due + PERIOD_MS, performance.now())) {
    await sleep(Math.max(0, due - performance.now()));
    await agent.step();
    saves++;
  }
  return saves;
}

async function probeUntil(
  probes: Record<Probe, () => Promise<unknown>>,
  end: number,
): Promise<Record<Probe, number[]>> {
  const tookMs: Record<Probe, number[]> = { readFile: [], 'dns.lookup': [], pbkdf2: [] };
  do {
    for (const probe of PROBES) {
      const start = performance.now();
      await probes[probe]();
      tookMs[probe].push(performance.now() - start);
      await sleep(PROBE_PAUSE_MS);
    }
  } while (performance.now() < end);
  return tookMs;
}

const POOL = 'pool threads run, per save';

const METRICS: Metric<Waits>[] = [
  ...PROBES.flatMap((probe): Metric<Waits>[] => [
    { metric: `${probe}, p50`, unit: 'ms', of: (waits) => waits[probe].p50 },
    { metric: `${probe}, p99`, unit: 'ms', of: (waits) => waits[probe].p99 },
  ]),
  { metric: POOL, unit: '', of: ({ poolRuns }) => poolRuns },
  { metric: 'saves', unit: '/s', of: ({ saves }) => saves },
];

export const threads: Question = {
  id: 'q8',
  title: 'What do fs, dns and crypto notice?',
  async run(context) {
    const seats = among(SUBJECTS, context.rivals).map(({ id }) => ({
      subject: id,
      at: '',
      start: { driver: id, items: ITEMS, seconds: context.isQuick ? 0.5 : 1.2 },
      order: null,
    }));
    const { played, failures } = await inRounds<null, Waits>(import.meta.url, 'prepareThreads', seats, context);
    const table: Table = {
      id: 'waits',
      title: 'How long an app waits for its own calls while 16 loops save, all at once, 20 times a second',
      columns: 'metrics',
      figures: figuresOf(played, METRICS),
      note: 'Where the disk cannot follow, there are fewer saves.',
    };
    return { tables: [table], charts: CHARTS, wanted: wantedOf(table), notes: NOTES, failures };
  },
};

function wantedOf(table: Table): Wanted[] {
  const ours = figureOf(table, { subject: 'holdfast', metric: POOL });
  if (ours === null) return [];
  const most = Math.max(...ours.rounds);
  const seen = most === 0 ? 'never' : `${inUnit(most, '')} times per save`;
  const what = 'while holdfast saves and nobody else asks, a thread of libuv’s pool has something to do';
  return [{ what, wanted: 'never', seen, isMet: most === 0 }];
}

const CHARTS = PROBES.slice(0, 1).map((probe) => ({
  file: 'q8-waits.svg',
  title: `${probe}, p99, while 16 loops save`,
  table: 'waits',
  metric: `${probe}, p99`,
  kind: 'bars' as const,
  scale: 'linear' as const,
}));

const NOTES = [
  'The pool has the four threads it has by default. One call at a time: readFile of 5 bytes, dns.lookup of localhost, pbkdf2 with 100 rounds.',
  'A call that comes back also waits for the main thread, on which the loops run, and on a machine with few cores for whoever else has one: what the waits show is all of that together, more than nothing saved for everybody who saves. Whether the pool is left alone is seen on its threads themselves: how often the kernel put one of them on a core while the loops saved and nobody else asked anything of them.',
];
