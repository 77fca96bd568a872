// 1. What does a save cost the main thread, and how does that grow with what is kept?

import { Agent, type AgentStart } from '../agent.js';
import type { Prepared } from '../child.js';
import { type BatchSize, cpuAtRest, type Spent, spend } from '../clocks.js';
import { among } from '../drivers/index.js';
import { counted, figuresOf, type Metric } from '../figures.js';
import { type Context, portion, type Question } from '../question.js';
import type { Table } from '../results.js';
import { inRounds, type Played, type Seat } from '../rounds.js';
import { microTables } from './growth-micro.js';
import { measurePaced } from './growth-paced.js';
import { wantedOfGrowth } from './growth-wanted.js';

const UPDATES = [
  ...['nothing', 'holdfast', 'holdfast-zod', 'sqlite-wal-full', 'sqlite-wal-normal', 'lmdb', 'classic-level', 'nedb'],
  ...['fs', 'write-file-atomic', 'atomically', 'steno', 'lowdb', 'conf'],
];
const STEPS = [
  ...[
    'holdfast',
    'holdfast-zod',
    'sqlite-wal-full',
    'lmdb',
    'classic-level',
    'write-file-atomic',
    'atomically',
    'conf',
  ],
];
const REST_MAX_MS = 5000;

type Way = 'update' | 'step';

interface CostStart extends AgentStart {
  ways: readonly Way[];
  batch: BatchSize;
}

type Costs = Partial<Record<Way, Spent>>;

export async function prepareCosts(start: CostStart): Promise<Prepared<null, Costs>> {
  const agent = await Agent.begin(start);
  const run: Record<Way, () => undefined | Promise<void>> = {
    update: () => agent.update(),
    step: () => agent.step(),
  };
  const round = async () => {
    const costs: Costs = {};
    for (const way of start.ways) {
      costs[way] = await spend(run[way], () => agent.session.settle(), start.batch);
    }
    await agent.rest();
    await cpuAtRest(REST_MAX_MS);
    return costs;
  };
  // For the compiler, and not counted.
  await round();
  return { round, end: () => agent.session.close() };
}

export const growth: Question = {
  id: 'q1',
  title: 'What does a save cost, and how does that grow?',
  async run(context) {
    const { isQuick } = context;
    const sizes = isQuick ? [100, 10_000, 100_000] : [100, 1_000, 10_000, 100_000, 1_000_000];
    const tables: Table[] = [update(), step()];
    const failures: string[] = [];
    // Those of one size at a time: all of them at once would not fit into memory.
    const parts = sizes.length + 2;
    for (const [at, items] of sizes.entries()) {
      const part = portion(context, at, parts);
      const outcome = await inRounds<null, Costs>(import.meta.url, 'prepareCosts', seats(context, items), part);
      failures.push(...outcome.failures);
      for (const { id, figures } of tables)
        figures.push(...figuresOf(ofTable(outcome.played, id), metricsOf(id as Way)));
    }
    const paced = await measurePaced(portion(context, sizes.length, parts));
    const micro = await microTables(portion(context, sizes.length + 1, parts));
    failures.push(...paced.failures, ...micro.failures);
    tables.push(paced.table, ...micro.tables);
    return { tables, charts: CHARTS, wanted: wantedOfGrowth(tables), notes: NOTES, failures };
  },
};

function seats({ isQuick, rivals }: Context, items: number): Seat<null>[] {
  const batch: BatchSize = isQuick ? { cpuMs: 40, wallMs: 150 } : { cpuMs: 100, wallMs: 400 };
  return among(UPDATES, rivals).map(({ id, writes }) => {
    // What can only be awaited is measured once.
    const ways: Way[] = STEPS.includes(id) && writes === 'changes' ? ['update', 'step'] : ['update'];
    return {
      subject: id,
      at: counted(items, 'items'),
      x: items,
      start: { driver: id, items, ways, batch },
      order: null,
    };
  });
}

/** An update that was awaited is a durable step too. */
function ofTable(played: readonly Played<null, Costs>[], table: string): Played<null, Costs>[] {
  if (table === 'update') return [...played];
  return played
    .filter(({ seat }) => STEPS.includes(seat.subject))
    .map(({ seat, rounds }) => ({ seat, rounds: rounds.map(({ update, step = update }) => (step ? { step } : {})) }));
}

function metricsOf(way: Way): Metric<Costs>[] {
  const metric = (name: string, key: keyof Spent): Metric<Costs> => ({
    metric: name,
    unit: 'µs',
    of: (costs) => costs[way]?.[key] ?? null,
  });
  return [
    metric('main-thread CPU', 'mainUs'),
    metric('CPU of all threads', 'processUs'),
    metric('wall time', 'wallUs'),
  ];
}

const update = (): Table => ({
  id: 'update',
  title: 'One update, as a program makes it that does not wait',
  columns: 'conditions',
  figures: [],
  note: 'Libraries that can only be awaited are awaited. An update of better-sqlite3 is a transaction. Nothing saved: what the change itself costs, which grows too, as more of the state is in no cache.',
});

const step = (): Table => ({
  id: 'step',
  title: 'One durable step: the change is made, and waited for until it is on disk',
  columns: 'conditions',
  figures: [],
  note: 'Of write-file-atomic, atomically and conf the content is synced, the name is not.',
});

const CHARTS = [
  { file: 'q1-update.svg', title: 'Main-thread CPU of one update', table: 'update' },
  { file: 'q1-step.svg', title: 'Main-thread CPU of one durable step', table: 'step' },
].map((chart) => ({
  ...chart,
  metric: 'main-thread CPU',
  kind: 'lines' as const,
  xLabel: 'finished items in the state',
  scale: 'log' as const,
}));

const NOTES = [
  'A step: an item gets a new output of 60 characters, a field and a counter change. The state keeps its size.',
  'CPU is read from the thread’s own clock (/proc/self/task/…/schedstat) over batches of 100 ms or more, or until 0.4 s have passed (a quick run: 40 ms, 0.15 s).',
  'A batch ends when all of it is on disk. The JSON file of holdfast follows after it, and is not in these figures: see question 4.',
];
