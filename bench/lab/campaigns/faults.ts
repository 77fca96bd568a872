// System calls of a subject fail or take long, and whatever it acknowledged has to be there afterwards. A save that failed
// with an error was not acknowledged. Every folder holds some versions already: also a subject that cannot even open must
// leave those alone.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { whyNoFaults } from '../../../test/support/process-means.js';
import { randomFrom } from '../../../test/support/random.js';
import { type Bench, FIRST, laneFolder, prepare, traced, verdictOf } from '../fault-bench.js';
import { type FaultPoint, type Footprint, faultPoints, footprintOf, inTurn } from '../fault-points.js';
import { memoryFolder } from '../folder-copy.js';
import { inLanes, LANES, shuffled } from '../lanes.js';
import { LoaderPool } from '../loader-pool.js';
import { type Campaign, RowCounter } from '../report.js';
import { threadsEnding, threadsWithoutMemory } from '../thread-faults.js';
import { CALLS } from '../tracer.js';
import { WAYS } from '../ways.js';

/** Also the one of which a process knows nothing. */
const WAYS_TO_END = ['SIGKILL', ...WAYS.map(({ name }) => name)];

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
        const moments = await momentsOf(bench);
        if (moments.some(({ isWhole }) => !isWhole))
          skipped.push(`${driver.id}: writes to files with names of the moment were not made to fail`);
        rows.push(await failing(bench, moments, true), await failing(bench, moments, false));
        rows.push(await slowAndOut(bench));
        if (driver.id === 'holdfast') rows.push(await threadsEnding(bench), await threadsWithoutMemory(bench));
      }
    } finally {
      await pool.end();
      rmSync(scratch, { recursive: true, force: true });
    }
    const what =
      'System calls failed once or from then on, or took 50 to 200 ms while the process ended; then it was loaded. ' +
      'Who says that it saves at exit has to have saved then what nobody waited for. A process that hung counts as damaged.';
    return { campaign: 'faults', what, rows: rows.map(({ row }) => row), skipped };
  },
};

/**
 * From where calls are counted. Each thread has its own count, and what is to fail once fails in the thread that comes
 * first: before it is open that is mostly the one that opens, afterwards also those that work in the background.
 */
const HOLDS = { 'as it opens': 0, 'once it is open': FIRST } as const;

interface Moment extends Footprint {
  name: string;
  holdsAt: readonly number[];
  /** Everything that it writes to can be named. */
  isWhole: boolean;
}

async function momentsOf(bench: Bench): Promise<Moment[]> {
  const moments: Moment[] = [];
  for (const [name, version] of Object.entries(HOLDS)) {
    const holdsAt = [version];
    moments.push({ name, holdsAt, ...(await footprint(bench, holdsAt)) });
  }
  return moments;
}

/** What two clean runs have in common: a file whose name is made up each time cannot be named beforehand. */
async function footprint(bench: Bench, holdsAt: readonly number[]): Promise<Footprint & { isWhole: boolean }> {
  const seen: Footprint[] = [];
  for (let run = 0; run < 2; run++) {
    const calls = Object.values(CALLS).join();
    const { directory, text } = await traced(bench, 0, { calls }, { holdsAt });
    seen.push(footprintOf(text, directory));
  }
  const [first, second] = seen as [Footprint, Footprint];
  const written = new Set([...first.written].filter((name) => second.written.has(name)));
  const { write, ...others } = first.numbers;
  const isWritten = write !== undefined && written.size > 0;
  return { numbers: isWritten ? { ...others, write } : others, written, isWhole: written.size >= first.written.size };
}

async function failing(bench: Bench, moments: readonly Moment[], isOnce: boolean): Promise<RowCounter> {
  const row = new RowCounter(bench.driver, isOnce ? 'error once' : 'error from then on');
  const random = randomFrom(bench.seed + (isOnce ? 0 : 1));
  const points = inTurn(
    moments.map((moment) => faultPoints(moment.numbers, random).map((point) => ({ ...point, moment }))),
  );
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
    const { name, holdsAt, written } = point.moment;
    const paths = point.call === 'write' ? [...written].map((file) => join(laneFolder(bench, lane), file)) : [];
    const inject = `error=${point.error}:when=${point.n}${isOnce ? '' : '+'}`;
    const run = await traced(bench, lane, { calls: CALLS[point.call], inject, paths, isOnce }, { holdsAt });
    if (!run.text.includes('(INJECTED)')) {
      begun--;
      return;
    }
    row.add(await verdictOf(bench, run), `${name}, ${showPoint(point, isOnce)}`);
    bench.onTrial(row.row.condition);
  });
  return row;
}

async function slowAndOut(bench: Bench): Promise<RowCounter> {
  const row = new RowCounter(bench.driver, 'slow disk and exit');
  const random = randomFrom(bench.seed);
  const syncs = `${CALLS.fsync},${CALLS.fdatasync}`;
  const slow = [CALLS.rename, syncs, `${CALLS.rename},${syncs}`];
  // Every way to end with every slow call, in turn: that many trials have them all.
  const crossed = slow.flatMap((calls) =>
    ['enter', 'exit'].flatMap((side) => WAYS_TO_END.map((way) => ({ way, calls, side }))),
  );
  const order = shuffled(crossed, random);
  const trials = Array.from({ length: bench.size }, (_, at) => {
    const delayMs = 50 + Math.floor(random() * 150);
    const afterMs = random() < 1 / 3 ? 0 : Math.floor(random() * 250);
    return { ...(order[at % order.length] as (typeof order)[number]), delayMs, afterMs };
  });
  await inLanes(trials, async ({ way, calls, delayMs, side, afterMs }, lane) => {
    const inject = `delay_${side}=${delayMs * 1000}`;
    const run = await traced(bench, lane, { calls, inject }, { ending: { way, afterMs } });
    const isAllSaved = bench.driver.savesAtExit === true && way !== 'SIGKILL';
    row.add(
      await verdictOf(bench, run, isAllSaved),
      `${way} after ${afterMs} ms, ${side} of ${calls} ${delayMs} ms late`,
    );
    bench.onTrial(row.row.condition);
  });
  return row;
}

function showPoint({ call, error, n }: FaultPoint, isOnce: boolean): string {
  return `${call} ${n}${isOnce ? '' : ' and ever after'}: ${error}`;
}
