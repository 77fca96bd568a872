// System calls of a subject fail or take long, and whatever it acknowledged has to be there afterwards. A save that failed
// with an error was not acknowledged. Every folder holds some versions already: also a subject that cannot even open must
// leave those alone.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { whyNoFaults } from '../../../test/support/process-means.js';
import { randomFrom } from '../../../test/support/random.js';
import { ENDINGS } from '../child.js';
import { type Bench, laneFolder, prepare, traced, verdictOf } from '../fault-bench.js';
import { type FaultPoint, type Footprint, faultPoints, footprintOf } from '../fault-points.js';
import { memoryFolder } from '../folder-copy.js';
import { inLanes, LANES } from '../lanes.js';
import { LoaderPool } from '../loader-pool.js';
import { type Campaign, RowCounter } from '../report.js';
import { threadsEnding, threadsWithoutMemory } from '../thread-faults.js';
import { CALLS } from '../tracer.js';

export const faults: Campaign = {
  id: 'faults',
  summary: 'the n-th system call of a kind fails, once or from then on, or takes long while the process ends',
  sizes: { full: 120, short: 3 },
  whyNot: whyNoFaults,
  async run(options) {
    const scratch = memoryFolder(options.scratch);
    const pool = new LoaderPool(LANES);
    const rows: RowCounter[] = [];
    const skipped: string[] = [];
    try {
      for (const driver of options.drivers) {
        const bench = await prepare(driver, options, scratch, pool);
        if (typeof bench === 'string') {
          skipped.push(`${driver.id}: ${bench}`);
          continue;
        }
        const { counts, written, note } = await footprint(bench);
        if (note !== null) skipped.push(`${driver.id}: ${note}`);
        rows.push(await failing(bench, counts, written, true), await failing(bench, counts, written, false));
        rows.push(await slowAndOut(bench));
        if (driver.id === 'holdfast') rows.push(await threadsEnding(bench), await threadsWithoutMemory(bench));
      }
    } finally {
      await pool.end();
      rmSync(scratch, { recursive: true, force: true });
    }
    const what =
      'System calls failed once or from then on, or took 50 to 200 ms while the process ended; then it was loaded. ' +
      'A process that hung counts as damaged.';
    return { campaign: 'faults', what, rows: rows.map(({ row }) => row), skipped };
  },
};

/** What two clean runs have in common: a file whose name is made up each time cannot be named beforehand. */
async function footprint(bench: Bench): Promise<Footprint & { note: string | null }> {
  const seen: Footprint[] = [];
  for (let run = 0; run < 2; run++) {
    const calls = Object.values(CALLS).join();
    const { directory, text } = await traced(bench, 0, { calls });
    seen.push(footprintOf(text, directory));
  }
  const [first, second] = seen as [Footprint, Footprint];
  const written = new Set([...first.written].filter((name) => second.written.has(name)));
  const { write, ...others } = first.counts;
  const isWritten = write !== undefined && written.size > 0;
  const note =
    written.size < first.written.size ? 'writes to files with names of the moment were not made to fail' : null;
  return { counts: isWritten ? { ...others, write } : others, written, note };
}

async function failing(
  bench: Bench,
  counts: Footprint['counts'],
  written: ReadonlySet<string>,
  isOnce: boolean,
): Promise<RowCounter> {
  const row = new RowCounter(bench.driver, isOnce ? 'error once' : 'error from then on');
  const points = faultPoints(counts, randomFrom(bench.seed + (isOnce ? 0 : 1)));
  let begun = 0;
  // One that is not reached, because threads shared their work another way, is replaced by the next.
  const wanted = function* () {
    for (const point of points) {
      if (begun >= bench.size) return;
      begun++;
      yield point;
    }
  };
  await inLanes(wanted(), async (point, lane) => {
    const paths = point.call === 'write' ? [...written].map((name) => join(laneFolder(bench, lane), name)) : [];
    const inject = `error=${point.error}:when=${point.n}${isOnce ? '' : '+'}`;
    const run = await traced(bench, lane, { calls: CALLS[point.call], inject, paths, isOnce });
    if (!run.text.includes('(INJECTED)')) {
      begun--;
      return;
    }
    row.add(await verdictOf(bench, run), showPoint(point, isOnce));
    bench.onTrial(row.row.condition);
  });
  return row;
}

async function slowAndOut(bench: Bench): Promise<RowCounter> {
  const row = new RowCounter(bench.driver, 'slow disk and exit');
  const random = randomFrom(bench.seed);
  const syncs = `${CALLS.fsync},${CALLS.fdatasync}`;
  const slow = [CALLS.rename, syncs, `${CALLS.rename},${syncs}`];
  const trials = Array.from({ length: bench.size }, (_, at) => {
    const way = ENDINGS[at % ENDINGS.length] ?? 'exit';
    const calls = slow[Math.floor(random() * slow.length)] ?? syncs;
    const delayMs = 50 + Math.floor(random() * 150);
    const side = random() < 0.5 ? 'enter' : 'exit';
    return { way, calls, delayMs, side, afterMs: at % 3 === 0 ? 0 : Math.floor(random() * 250) };
  });
  await inLanes(trials, async ({ way, calls, delayMs, side, afterMs }, lane) => {
    const inject = `delay_${side}=${delayMs * 1000}`;
    const run = await traced(bench, lane, { calls, inject }, { ending: { way, afterMs } });
    row.add(await verdictOf(bench, run), `${way} after ${afterMs} ms, ${side} of ${calls} ${delayMs} ms late`);
    bench.onTrial(row.row.condition);
  });
  return row;
}

function showPoint({ call, error, n }: FaultPoint, isOnce: boolean): string {
  return `${call} ${n}${isOnce ? '' : ' and ever after'}: ${error}`;
}
