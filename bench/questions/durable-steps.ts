// 2. How many durable steps a second, by one loop and by many in one process?

import { Agent, type AgentStart } from '../agent.js';
import type { Prepared } from '../child.js';
import { cpuAtRest, mainCpuUs, processCpuUs } from '../clocks.js';
import { among } from '../drivers/index.js';
import { counted, figuresOf, type Metric } from '../figures.js';
import { inUnit } from '../format.js';
import { portion, type Question, WARM_SHARE } from '../question.js';
import type { Table, Wanted } from '../results.js';
import { inRounds } from '../rounds.js';
import { Judge } from '../wanted.js';

const SUBJECTS = ['bare', 'bare-preallocated', 'holdfast', 'sqlite-wal-full', 'lmdb', 'classic-level'];
const LOOPS = { full: [1, 8, 64, 512], quick: [1, 64] } as const;
const ITEMS = 1_000;
const REST_MAX_MS = 3000;

interface LoopsStart extends AgentStart {
  loops: number;
  wallMs: number;
}

interface LoopsFigures {
  perSecond: number;
  wallUs: number;
  mainUs: number;
  processUs: number;
}

export async function prepareLoops({ loops, wallMs, ...start }: LoopsStart): Promise<Prepared<null, LoopsFigures>> {
  const agent = await Agent.begin(start);
  const play = async (forMs: number) => {
    const before = [mainCpuUs(), processCpuUs(), performance.now()] as const;
    let steps = 0;
    const loop = async () => {
      while (performance.now() - before[2] < forMs) {
        await agent.step();
        steps++;
      }
    };
    await Promise.all(Array.from({ length: loops }, loop));
    const wallUs = (performance.now() - before[2]) * 1000;
    const figures = {
      perSecond: steps / (wallUs / 1e6),
      // Of a step as its loop sees it.
      wallUs: (wallUs / steps) * loops,
      mainUs: (mainCpuUs() - before[0]) / steps,
      processUs: (processCpuUs() - before[1]) / steps,
    };
    await agent.rest();
    await cpuAtRest(REST_MAX_MS);
    return figures;
  };
  await play(wallMs * WARM_SHARE);
  return { round: () => play(wallMs), end: () => agent.session.close() };
}

const METRICS: Metric<LoopsFigures>[] = [
  { metric: 'steps', unit: '/s', of: ({ perSecond }) => perSecond },
  { metric: 'wall time of a step', unit: 'µs', of: ({ wallUs }) => wallUs },
  { metric: 'main-thread CPU of a step', unit: 'µs', of: ({ mainUs }) => mainUs },
  { metric: 'CPU of all threads of a step', unit: 'µs', of: ({ processUs }) => processUs },
];

export const durableSteps: Question = {
  id: 'q2',
  title: 'How many durable steps a second?',
  async run(context) {
    const table: Table = {
      id: 'rate',
      title: 'Durable steps a second, each awaited by its loop',
      columns: 'conditions',
      figures: [],
      note: 'better-sqlite3 and the bare file are synchronous: loops of one process take turns.',
    };
    const failures: string[] = [];
    const counts = LOOPS[context.isQuick ? 'quick' : 'full'];
    for (const [at, loops] of counts.entries()) {
      const seats = among(SUBJECTS, context.rivals).map(({ id }) => ({
        subject: id,
        at: conditionOf(loops),
        x: loops,
        start: { driver: id, items: ITEMS, loops, wallMs: context.isQuick ? 120 : 500 },
        order: null,
      }));
      const part = portion(context, at, counts.length);
      const outcome = await inRounds<null, LoopsFigures>(import.meta.url, 'prepareLoops', seats, part);
      failures.push(...outcome.failures);
      table.figures.push(...figuresOf(outcome.played, METRICS));
    }
    return { tables: [table], charts: CHARTS, wanted: wantedOf(table), notes: NOTES, failures };
  },
};

const conditionOf = (loops: number) => counted(loops, loops === 1 ? 'loop' : 'loops');

function wantedOf(table: Table): Wanted[] {
  const judge = new Judge([table]);
  const rate = (subject: string, loops: number) => judge.value('rate', subject, conditionOf(loops), 'steps');
  const wall = (subject: string) => judge.value('rate', subject, conditionOf(1), 'wall time of a step');
  judge.expect(
    'one loop, against append + fdatasync',
    '1.5 × its time, or 150 µs more',
    [wall('holdfast'), wall('bare')],
    (ours, limit) => ({
      seen: `${inUnit(ours, 'µs')}, ${inUnit(limit, 'µs')}: ${(ours / limit).toFixed(2)} ×`,
      isMet: ours <= limit * 1.5 || ours <= limit + 150,
    }),
  );
  for (const rival of ['lmdb', 'classic-level']) {
    judge.expect(`one loop, against ${rival}`, 'more steps', [rate('holdfast', 1), rate(rival, 1)], (ours, theirs) => ({
      seen: `${inUnit(ours, '/s')} and ${inUnit(theirs, '/s')}`,
      isMet: ours > theirs,
    }));
  }
  judge.expect(
    '64 loops, against better-sqlite3 WAL FULL',
    '10 × as many steps',
    [rate('holdfast', 64), rate('sqlite-wal-full', 64)],
    (ours, theirs) => ({
      seen: `${(ours / theirs).toFixed(1)} ×`,
      isMet: ours >= 10 * theirs,
    }),
  );
  judge.expect(
    '64 loops, against one',
    '10 × as many steps',
    [rate('holdfast', 64), rate('holdfast', 1)],
    (many, one) => ({
      seen: `${(many / one).toFixed(1)} ×`,
      isMet: many >= 10 * one,
    }),
  );
  return judge.wanted;
}

const CHARTS = [
  {
    file: 'q2-rate.svg',
    title: 'Durable steps a second',
    table: 'rate',
    metric: 'steps',
    kind: 'lines' as const,
    xLabel: 'loops in one process',
    scale: 'log' as const,
  },
];

const NOTES = [
  'All loops keep their state in one store of 1,000 items; a step is that of question 1, and is awaited until it is on disk.',
  'The bare limit writes as many bytes as a frame of holdfast has, to a file that grows; preallocated, to one that has its size already.',
];
