// Every way in which a process ends by itself, right after a save that nobody waited for.

import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Driver, judge } from '../contract.js';
import { LANES, mapInLanes } from '../lanes.js';
import { LoaderPool } from '../loader-pool.js';
import { type Campaign, type Row, RowCounter } from '../report.js';
import { leaveApart } from '../subject.js';
import { WAYS, type Way } from '../ways.js';

const AWAITED = 5;

interface Bench {
  scratch: string;
  counter: RowCounter;
  pool: LoaderPool;
}

export const exit: Campaign = {
  id: 'exit',
  summary: 'the process ends right after a save that was not awaited, in every way but a kill',
  sizes: { full: 5, short: 1 },
  whyNot: () => null,
  async run({ drivers, size, scratch, onProgress }) {
    const pool = new LoaderPool(LANES);
    const total = drivers.length * WAYS.length * size;
    let done = 0;
    const leaveAgainAndAgain = async ([driver, way]: [Driver, Way]): Promise<Row> => {
      const counter = new RowCounter(driver, way.name);
      for (let trial = 0; trial < size; trial++) {
        await leaveOnce(driver, way, { scratch, counter, pool });
        onProgress(++done, total, `${driver.id}, ${way.name}`);
      }
      return counter.row;
    };
    const all = drivers.flatMap((driver) => WAYS.map((way): [Driver, Way] => [driver, way]));
    const what =
      `${AWAITED} saves, one more that is not awaited, and the end of the process. That the last one is there is promised ` +
      'by a holdfast store (with its loops, missions and transactions) and by whoever saves synchronously, by nobody else.';
    try {
      return { campaign: exit.id, what, rows: await mapInLanes(all, leaveAgainAndAgain), skipped: [] };
    } finally {
      await pool.end();
    }
  },
};

async function leaveOnce(driver: Driver, way: Way, { scratch, counter, pool }: Bench): Promise<void> {
  const directory = mkdtempSync(join(scratch, `exit-${driver.id}-`));
  const { isHung } = await leaveApart({ driver: driver.id, directory, saves: AWAITED, way: way.name });
  const found = await pool.load(driver.id, directory);
  counter.add(judge(found, { acked: AWAITED + 1, issued: AWAITED + 1 }), `${way.name}${isHung ? ', hung' : ''}:`);
  rmSync(directory, { recursive: true });
}
