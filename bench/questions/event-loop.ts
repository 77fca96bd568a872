// 3. What does a server notice in whose process a large state is updated 1,000 times a second?

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent, type AgentStart } from '../agent.js';
import { itemsIn, OUTPUT_BYTES } from '../agent-state.js';
import type { Prepared } from '../child.js';
import { cpuAtRest } from '../clocks.js';
import { among } from '../drivers/index.js';
import { figuresOf, type Metric } from '../figures.js';
import { inUnit } from '../format.js';
import { portion, type Question, WARM_SHARE } from '../question.js';
import type { Table, Wanted } from '../results.js';
import { inRounds } from '../rounds.js';
import { percentile } from '../statistics.js';
import { Judge } from '../wanted.js';
import { Requester } from './event-loop-requester.js';

const SUBJECTS = [
  ...['nothing', 'holdfast-zod', 'holdfast-busy', 'write-file-atomic-debounced'],
  ...['sqlite-wal-full', 'sqlite-wal-normal', 'lmdb', 'classic-level'],
];
const PER_SECOND = 1000;
const REST_MAX_MS = 10_000;

interface DelayStart extends AgentStart {
  seconds: number;
}

interface Delays {
  /** How late a timer of 1 ms was, and how long an HTTP request took, as its client sees it. */
  timerMs: { p50: number; p99: number; max: number };
  requestMs: { p50: number; p99: number; max: number };
  updatesPerS: number;
}

export async function prepareDelays({ seconds, ...start }: DelayStart): Promise<Prepared<null, Delays>> {
  const agent = await Agent.begin({ ...start, outputBytes: OUTPUT_BYTES });
  const server = createServer((_, response) => response.end('ok'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const requester = new Requester(port);
  const play = async (forS: number) => {
    await requester.begin();
    const { late, updatesPerS } = await updateFor(agent, forS);
    const requests = await requester.end();
    await agent.rest();
    await cpuAtRest(REST_MAX_MS);
    return { timerMs: summary(late), requestMs: summary(requests), updatesPerS };
  };
  await play(seconds * WARM_SHARE);
  const end = async () => {
    await requester.close();
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
    await agent.session.close();
  };
  return { round: () => play(seconds), end };
}

/** A timer of 1 ms: each time it makes the updates that are due, and notes how late it is. */
async function updateFor(agent: Agent, seconds: number): Promise<{ late: number[]; updatesPerS: number }> {
  const late: number[] = [];
  const startMs = performance.now();
  let last = startMs;
  let updates = 0;
  while (last - startMs < seconds * 1000) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    const now = performance.now();
    late.push(Math.max(0, now - last - 1));
    last = now;
    const due = Math.min(seconds * PER_SECOND, ((now - startMs) / 1000) * PER_SECOND);
    for (; updates < due; updates++) {
      const wait = agent.update();
      if (wait !== undefined) await wait;
    }
  }
  // Who blocks the loop makes them late, and all of them.
  return { late, updatesPerS: updates / ((performance.now() - startMs) / 1000) };
}

function summary(values: readonly number[]): Delays['timerMs'] {
  return { p50: percentile(values, 0.5), p99: percentile(values, 0.99), max: percentile(values, 1) };
}

const METRICS: Metric<Delays>[] = [
  { metric: 'delay, p50', unit: 'ms', of: ({ timerMs }) => timerMs.p50 },
  { metric: 'p99', unit: 'ms', of: ({ timerMs }) => timerMs.p99 },
  { metric: 'max', unit: 'ms', of: ({ timerMs }) => timerMs.max },
  { metric: 'request, p50', unit: 'ms', of: ({ requestMs }) => requestMs.p50 },
  { metric: 'request, p99', unit: 'ms', of: ({ requestMs }) => requestMs.p99 },
  { metric: 'request, max', unit: 'ms', of: ({ requestMs }) => requestMs.max },
  { metric: 'updates', unit: '/s', of: ({ updatesPerS }) => updatesPerS },
];

export const eventLoop: Question = {
  id: 'q3',
  title: 'What does a server in the same process notice?',
  async run(context) {
    const { isQuick } = context;
    const table: Table = {
      id: 'delay',
      title: 'Event-loop delay while the state is updated 1,000 times a second',
      columns: 'metrics',
      figures: [],
    };
    const failures: string[] = [];
    const sizes = isQuick ? [10] : [1, 10, 100];
    for (const [at, mb] of sizes.entries()) {
      const seats = among(SUBJECTS, context.rivals).map(({ id }) => ({
        subject: id,
        at: `${mb} MB`,
        x: mb,
        start: { driver: id, items: itemsIn(mb), seconds: isQuick ? 0.4 : 1 },
        order: null,
      }));
      const part = portion(context, at, sizes.length);
      const outcome = await inRounds<null, Delays>(import.meta.url, 'prepareDelays', seats, part);
      failures.push(...outcome.failures);
      table.figures.push(...figuresOf(outcome.played, METRICS));
    }
    return { tables: [table], charts: CHARTS, wanted: wantedOf(table), notes: NOTES, failures };
  },
};

function wantedOf(table: Table): Wanted[] {
  const judge = new Judge([table]);
  const limits = [
    ['10 MB', 'p99', 5],
    ['10 MB', 'max', 50],
    ['100 MB', 'p99', 20],
  ] as const;
  for (const [at, metric, limitMs] of limits) {
    for (const subject of ['holdfast-zod', 'holdfast-busy']) {
      judge.expect(
        `${subject}, ${at}, ${metric} of the delay`,
        `under ${limitMs} ms`,
        [judge.value('delay', subject, at, metric)],
        (ms) => ({
          seen: inUnit(ms, 'ms'),
          isMet: ms < limitMs,
        }),
      );
    }
  }
  return judge.wanted;
}

const CHARTS = [
  {
    file: 'q3-delay.svg',
    title: 'Event-loop delay, p99, at 1,000 updates a second',
    table: 'delay',
    metric: 'p99',
    kind: 'lines' as const,
    xLabel: 'MB of state',
    scale: 'log' as const,
  },
];

const NOTES = [
  'Delay: how late a timer of 1 ms is, which also makes the updates. Request: an HTTP request to the same process, seen by a client in another one. p50 and p99 of each round, then the median of the rounds; the same of the longest.',
  'The document writers are behind a debounce of 100 ms: at 1,000 updates a second they cannot be awaited one by one.',
];
