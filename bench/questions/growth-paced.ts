// 1, at the pace of a program: a debounce pays where updates come faster than it saves, and only there.

import { Agent, type AgentStart } from '../agent.js';
import type { Prepared } from '../child.js';
import { cpuAtRest, mainCpuUs, processCpuUs } from '../clocks.js';
import { among } from '../drivers/index.js';
import { counted, figuresOf } from '../figures.js';
import { type Context, portion, WARM_SHARE } from '../question.js';
import type { Table } from '../results.js';
import { inRounds } from '../rounds.js';

const SUBJECTS = ['nothing', 'holdfast', 'holdfast-zod', 'holdfast-coalescing', 'write-file-atomic-debounced'];
/** As fast as the debounce can make use of it, and as fast as a loop whose steps do something. */
const PACES = { busy: 100, loop: 10 } as const;
const REST_MAX_MS = 5000;
const WARM_UPDATES = 3000;

interface PacedStart extends AgentStart {
  perSecond: number;
  updates: number;
}

interface PacedFigures {
  mainUs: number;
  processUs: number;
}

export async function preparePaced({
  perSecond,
  updates,
  ...start
}: PacedStart): Promise<Prepared<null, PacedFigures>> {
  const agent = await Agent.begin(start);
  const play = async (count: number) => {
    const before = [mainCpuUs(), processCpuUs()] as const;
    const startMs = performance.now();
    for (let n = 0; n < count; n++) {
      // Behind the clock it does not wait: the updates are as many.
      await new Promise((resolve) => setTimeout(resolve, startMs + (n * 1000) / perSecond - performance.now()));
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
  await play(Math.ceil(updates * WARM_SHARE));
  return { round: () => play(updates), end: () => agent.session.close() };
}

interface Condition {
  items: number;
  perSecond: number;
}

export const pacedAt = ({ items, perSecond }: Condition) => `${counted(items, 'items')}, ${perSecond} a second`;

/** At the size that is judged. */
export const JUDGED: readonly Condition[] = [
  { items: 10_000, perSecond: PACES.busy },
  { items: 10_000, perSecond: PACES.loop },
];
const FURTHER: readonly Condition[] = [
  { items: 100, perSecond: PACES.busy },
  { items: 100_000, perSecond: PACES.busy },
];

export async function measurePaced(context: Context): Promise<{ table: Table; failures: string[] }> {
  const conditions = context.isQuick ? JUDGED : [...FURTHER, ...JUDGED];
  const table: Table = {
    id: 'paced',
    title: 'One update at the pace of a program, behind the same debounce',
    columns: 'conditions',
    figures: [],
    note: 'With what the loop itself costs, which is the line of nothing saved. Between two updates other programs take the caches: the same update costs several times what it does in a burst, most of all on a busy machine.',
  };
  const failures: string[] = [];
  for (const [at, condition] of conditions.entries()) {
    const { items, perSecond } = condition;
    const seats = among(SUBJECTS, context.rivals).map(({ id }) => ({
      subject: id,
      at: pacedAt(condition),
      start: { driver: id, items, perSecond, updates: updatesOf(perSecond, context.isQuick) },
      order: null,
    }));
    const outcome = await inRounds<null, PacedFigures>(
      import.meta.url,
      'preparePaced',
      seats,
      portion(context, at, conditions.length),
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

/** Long enough for some saves of the debounce, and not a minute for each subject. */
function updatesOf(perSecond: number, isQuick: boolean): number {
  const seconds = perSecond === PACES.loop ? 3 : 2;
  return perSecond * (isQuick ? 1 : seconds);
}
