// 1, at the pace of a program: a debounce pays where updates come faster than it saves, and only there.

import { Agent, type AgentStart } from '../agent.js';
import type { Prepared } from '../child.js';
import { cpuAtRest, mainCpuUs, processCpuUs } from '../clocks.js';
import { among } from '../drivers/index.js';
import { counted, figuresOf } from '../figures.js';
import { type Context, portion, WARM_SHARE } from '../question.js';
import type { Table } from '../results.js';
import { inRounds } from '../rounds.js';

const SUBJECTS = ['nothing', 'holdfast', 'holdfast-zod', 'write-file-atomic-debounced'];
const PER_SECOND = 100;
const PERIOD_MS = 1000 / PER_SECOND;
const REST_MAX_MS = 5000;
const WARM_UPDATES = 3000;

interface PacedStart extends AgentStart {
  seconds: number;
}

interface PacedFigures {
  mainUs: number;
  processUs: number;
}

export async function preparePaced({ seconds, ...start }: PacedStart): Promise<Prepared<null, PacedFigures>> {
  const agent = await Agent.begin(start);
  const play = async (forS: number) => {
    const count = Math.round(forS * PER_SECOND);
    const before = [mainCpuUs(), processCpuUs()] as const;
    const startMs = performance.now();
    for (let n = 0; n < count; n++) {
      // Behind the clock it does not wait: the updates are as many.
      await new Promise((resolve) => setTimeout(resolve, startMs + n * PERIOD_MS - performance.now()));
      await agent.update();
    }
    // Before the last save of the debounce, which would be one more than its share.
    const spent = { mainUs: (mainCpuUs() - before[0]) / count, processUs: (processCpuUs() - before[1]) / count };
    await agent.session.settle();
    await agent.rest();
    await cpuAtRest(REST_MAX_MS);
    return spent;
  };
  // A program that runs for long: at this pace alone nothing would ever be compiled.
  for (let n = 0; n < WARM_UPDATES; n++) await agent.update();
  await play(seconds * WARM_SHARE);
  return { round: () => play(seconds), end: () => agent.session.close() };
}

export async function measurePaced(context: Context): Promise<{ table: Table; failures: string[] }> {
  const sizes = context.isQuick ? [10_000] : [100, 10_000, 100_000];
  const table: Table = {
    id: 'paced',
    title: `One update of ${PER_SECOND} a second, behind the same debounce`,
    columns: 'conditions',
    figures: [],
    note: 'With what the loop itself costs, which is the line of nothing saved. Between two updates other programs take the caches: the same update costs several times what it does in a burst, most of all on a busy machine.',
  };
  const failures: string[] = [];
  for (const [at, items] of sizes.entries()) {
    const seats = among(SUBJECTS, context.rivals).map(({ id }) => ({
      subject: id,
      at: counted(items, 'items'),
      x: items,
      start: { driver: id, items, seconds: context.isQuick ? 1 : 2 },
      order: null,
    }));
    const outcome = await inRounds<null, PacedFigures>(
      import.meta.url,
      'preparePaced',
      seats,
      portion(context, at, sizes.length),
    );
    failures.push(...outcome.failures);
    table.figures.push(
      ...figuresOf(outcome.played, [
        { metric: 'main-thread CPU', unit: 'µs', of: ({ mainUs }) => mainUs },
        { metric: 'CPU of all threads', unit: 'µs', of: ({ processUs }) => processUs },
      ]),
    );
  }
  return { table, failures };
}
