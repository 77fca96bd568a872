// The machine dies between any two system calls of a real program, and loses what was not synced: as much of it as a file
// system may lose. Each state is built and loaded by the subject itself.

import { whyNoFaults } from '../../../test/support/process-means.js';
import { randomFrom } from '../../../test/support/random.js';
import type { Driver } from '../contract.js';
import { calibrate } from '../crash/calibrate.js';
import { check, checkRecovery, withRecording } from '../crash/check.js';
import type { CrashCase } from '../crash/explore.js';
import { withLoaders } from '../crash/loaders.js';
import { Unmodelled } from '../crash/replay.js';
import { controlSyncs } from '../crash/sync-controls.js';
import { mapInLanes } from '../lanes.js';
import type { LoaderPool } from '../loader-pool.js';
import { type Campaign, type CampaignOptions, type CampaignReport, type Row, RowCounter } from '../report.js';

const SIZES = { full: 6000, short: 60 };

/** One life gives so many different states, not more. */
const STATES_PER_RECORDING = 1000;
const STATES_PER_RECOVERY = 100;
const RECOVERIES_MIN = 2;
/** What tells right from wrong does so with few. */
const CONTROL_SIZE_MAX = 400;
/** With less than this it does not. */
const CONTROL_SIZE_MIN = 120;

export const crashStatesCampaign: Campaign = {
  id: 'crash-states',
  summary: 'the machine dies between any two system calls; every way in which the disk may be left is loaded',
  sizes: SIZES,
  whyNot: whyNoFaults,
  run,
};

async function run(options: CampaignOptions): Promise<CampaignReport> {
  const { drivers, seed, size, scratch } = options;
  const controlSize = Math.max(CONTROL_SIZE_MIN, Math.min(size, CONTROL_SIZE_MAX));
  const controlOptions = { size: controlSize, seed, scratch };
  const { isRight, controls } = await withLoaders((pool) => calibrate({ ...controlOptions, pool }));
  if (!isRight) throw new Error(`The lab itself is wrong: ${JSON.stringify(controls.filter(({ isMet }) => !isMet))}`);
  const skipped: string[] = [];
  let done = 0;
  const runOne = async (driver: Driver): Promise<Row[]> => {
    const onTrial = () => options.onProgress(++done, drivers.length * 3 * size, driver.name);
    try {
      const rows = await withLoaders((pool) => runDriver(driver, options, pool, onTrial));
      if (rows.some(({ trials }) => trials === 0))
        skipped.push(`${driver.name}: opening changes nothing, so no crash of it`);
      return rows.filter(({ trials }) => trials > 0);
    } catch (error) {
      // A writer of mapped memory, for one, is no reason to leave out the others.
      if (!(error instanceof Unmodelled)) throw error;
      skipped.push(`${driver.name}: ${(error as Error).message}`);
      return [];
    }
  };
  // While the states of one are made, those of another are loaded.
  const rows = (await mapInLanes(drivers, runOne)).flat();
  if (drivers.some(({ id }) => id === 'holdfast')) {
    const isEach = size >= STATES_PER_RECORDING;
    controls.push(...(await withLoaders((pool) => controlSyncs({ ...controlOptions, isEach, pool }))));
  }
  const what =
    'system calls recorded by strace, replayed to each point, and every loss of unsynced data and names ' +
    'that the model allows built and loaded';
  return { campaign: crashStatesCampaign.id, what, rows, skipped, controls };
}

async function runDriver(
  driver: Driver,
  { seed, size, scratch }: CampaignOptions,
  pool: LoaderPool,
  onProgress: () => void,
): Promise<Row[]> {
  const [posix, journal] = [new RowCounter(driver, 'posix'), new RowCounter(driver, 'journal')];
  const recovery = new RowCounter(driver, 'posix, recovery');
  const recordings = Math.ceil(size / STATES_PER_RECORDING);
  const part = Math.ceil(size / recordings);
  for (let round = 0; round < recordings; round++) {
    const own = seed + round * 1000;
    await withRecording(driver, { scratch, seed: own }, async (recording, folder) => {
      const common = { scratch: folder, pool, size: part, seed: own, onProgress };
      const cases = await check(posix, driver, recording, { ...common, model: 'posix' });
      await check(journal, driver, recording, { ...common, model: 'journal' });
      for (const [at, one] of drawn(cases, recoveriesOf(part), own).entries()) {
        const states = Math.ceil(part / recoveriesOf(part));
        await checkRecovery(recovery, driver, one, { ...common, size: states, seed: own + at, model: 'posix' });
      }
    });
  }
  return [posix.row, journal.row, recovery.row];
}

function recoveriesOf(size: number): number {
  return Math.max(RECOVERIES_MIN, Math.ceil(size / STATES_PER_RECOVERY));
}

function drawn(cases: readonly CrashCase[], count: number, seed: number): CrashCase[] {
  const draw = randomFrom(seed);
  return Array.from({ length: Math.min(count, cases.length) }, () => {
    return cases[Math.floor(draw() * cases.length)] as CrashCase;
  });
}
