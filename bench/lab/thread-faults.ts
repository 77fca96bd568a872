// What only subjects with threads of their own are put through: threads that end, and threads that run out of memory.

import { join } from 'node:path';
import { type Ended, start } from '../../test/support/process-child.js';
import type { ThreadReport } from '../../test/support/process-threads.js';
import { compiled } from './compiled.js';
import type { Verdict } from './contract.js';
import { type Bench, begin, laneFolder, verdictOf } from './fault-bench.js';
import { inLanes } from './lanes.js';
import { RowCounter } from './report.js';
import type { ThreadOrder } from './thread-deaths.js';

/** Of the trials of a campaign. */
const THREAD_PART = 0.1;
const DEATHS = 10;

export async function threadsEnding(bench: Bench): Promise<RowCounter> {
  const row = new RowCounter(bench.driver, `${DEATHS} ends of a thread`);
  const module = JSON.stringify(compiled('thread-deaths.js'));
  await inLanes(roundsOf(bench), async (round) => {
    const thread = round % 2 === 0 ? 'journal' : 'snapshot';
    const directory = join(bench.scratch, `threads-${round}`);
    const order: ThreadOrder = { directory, thread, deaths: DEATHS, seed: bench.seed + round };
    const running = start(`import { endThreads } from ${module}; await endThreads(${JSON.stringify(order)});`);
    const ended = await running.ended;
    row.add(threadVerdict(ended, running.lines), `${thread} thread, seed ${order.seed}`);
    bench.onTrial(row.row.condition);
  });
  return row;
}

function roundsOf({ size }: Bench): number[] {
  return Array.from({ length: Math.ceil(size * THREAD_PART) * 2 }, (_, at) => at);
}

function threadVerdict(ended: Ended, lines: readonly string[]): Verdict {
  if (ended.isHung) return { kind: 'damaged', message: 'it hung' };
  const line = lines.find((one) => one.startsWith('report '));
  if (line === undefined) return { kind: 'damaged', message: `it ended: ${ended.stderr.trim().split('\n').at(-1)}` };
  const { wrong } = JSON.parse(line.slice('report '.length)) as ThreadReport;
  return wrong.length === 0 ? { kind: 'intact' } : { kind: 'wrong', why: wrong.join('; ') };
}

/** From too little to start with to enough for some of the work. */
export async function threadsWithoutMemory(bench: Bench): Promise<RowCounter> {
  const row = new RowCounter(bench.driver, 'threads out of memory');
  await inLanes(roundsOf(bench), async (round, lane) => {
    const workerHeapMb = 4 + (round % 12) / 2;
    const saving = begin(bench, lane, { workerHeapMb, saves: 40 });
    await saving.line('holding ');
    saving.goOn();
    const run = { saving, ended: await saving.ended, directory: laneFolder(bench, lane), text: '' };
    row.add(await verdictOf(bench, run), `threads with ${workerHeapMb} MB`);
    bench.onTrial(row.row.condition);
  });
  return row;
}
