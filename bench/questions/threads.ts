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
import { type Question, WARM_SHARE } from '../question.js';
import type { Table, Wanted } from '../results.js';
import { figureOf } from '../results.js';
import { inRounds } from '../rounds.js';
import { percentile, ratioOf } from '../statistics.js';

const SUBJECTS = [
  ...['nothing', 'holdfast', 'write-file-atomic', 'atomically', 'fs', 'sqlite-wal-full', 'lmdb', 'classic-level'],
];
/** Loops with a store of their own each, which save so often, all at once: that is when a pool is full. */
const LOOPS = 16;
const PERIOD_MS = 50;
const ITEMS = 1_000;
const PROBE_PAUSE_MS = 2;

const PROBES = ['readFile', 'dns.lookup', 'pbkdf2'] as const;
type Probe = (typeof PROBES)[number];

interface ThreadsStart extends AgentStart {
  seconds: number;
}

type Waits = Record<Probe, { p50: number; p99: number }> & { saves: number };

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
  const play = async (forS: number) => {
    const end = performance.now() + forS * 1000;
    const saving = Promise.all(agents.map((agent) => saveUntil(agent, end)));
    const tookMs = await probeUntil(probes, end);
    const saves = (await saving).reduce((sum, one) => sum + one, 0);
    for (const agent of agents) await agent.rest();
    const of = (probe: Probe) => ({ p50: percentile(tookMs[probe], 0.5), p99: percentile(tookMs[probe], 0.99) });
    return { readFile: of('readFile'), 'dns.lookup': of('dns.lookup'), pbkdf2: of('pbkdf2'), saves: saves / forS };
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

const METRICS: Metric<Waits>[] = [
  ...PROBES.flatMap((probe): Metric<Waits>[] => [
    { metric: `${probe}, p50`, unit: 'ms', of: (waits) => waits[probe].p50 },
    { metric: `${probe}, p99`, unit: 'ms', of: (waits) => waits[probe].p99 },
  ]),
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
  return PROBES.flatMap((probe) => ['p50', 'p99'].map((share) => `${probe}, ${share}`)).flatMap((metric) => {
    const [without, ours] = [
      figureOf(table, { subject: 'nothing', metric }),
      figureOf(table, { subject: 'holdfast', metric }),
    ];
    if (without === null || ours === null) return [];
    const { ratio, low, high, isClear } = ratioOf(without.rounds, ours.rounds);
    const seen = `${ratio.toFixed(2)} × (${low.toFixed(2)} – ${high.toFixed(2)}) of ${inUnit(without.rounds[0] as number, 'ms')}`;
    return [
      { what: `${metric}, while holdfast saves`, wanted: 'no measurable effect', seen, isMet: !isClear || ratio <= 1 },
    ];
  });
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
  'Not measurable: no round of the one lies beyond all rounds of the other. On a machine with few cores a waiting call also waits for the main thread, on which the loops run.',
];
