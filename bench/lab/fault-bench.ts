// A subject in a folder that holds some versions already, and saves more of them while something is done to it.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Ended } from '../../test/support/process-child.js';
import type { SaveOrder } from './child.js';
import { type Driver, judge, type Verdict } from './contract.js';
import { FolderCopy } from './folder-copy.js';
import type { LoaderPool } from './loader-pool.js';
import type { CampaignOptions } from './report.js';
import { Saving } from './subject.js';
import { type TraceOptions, Tracer } from './tracer.js';

const BEFORE = 3;
/** The first that the process under test saves itself. */
export const FIRST = BEFORE + 1;
const SAVES = 4;
/** Longer than any of them waits before it gives up. */
const HANG_MS = 40_000;
/** One thread for file calls: where each has its own count, the n-th would be another one every time. */
const ENV = { UV_THREADPOOL_SIZE: '1' };

export interface Bench {
  driver: Driver;
  seed: number;
  size: number;
  scratch: string;
  pristine: FolderCopy;
  pool: LoaderPool;
  onTrial(condition: string): void;
}

/** Or why there is nothing to try. */
export async function prepare(
  driver: Driver,
  { seed, size, drivers, onProgress }: CampaignOptions,
  scratch: string,
  pool: LoaderPool,
): Promise<Bench | string> {
  const directory = join(scratch, 'pristine');
  rmSync(directory, { recursive: true, force: true });
  const saving = new Saving({ driver: driver.id, directory, seed, from: 1, saves: BEFORE });
  const { code, stderr } = await saving.ended;
  if (code !== 0 || saving.acked !== BEFORE) return `it did not save: ${stderr.trim().split('\n').at(-1)}`;
  const total = size * 3;
  let done = drivers.indexOf(driver) * total;
  const onTrial = (condition: string) =>
    onProgress(Math.min(++done, drivers.length * total), drivers.length * total, `${driver.id}, ${condition}`);
  return { driver, seed, size, scratch, pristine: FolderCopy.of(directory), pool, onTrial };
}

export interface Run {
  saving: Saving;
  ended: Ended;
  directory: string;
  /** What the tracer saw. */
  text: string;
}

/** A subject saves some versions; what it does is traced, from before it opens or from where `order` holds it to its end. */
export async function traced(
  bench: Bench,
  lane: number,
  trace: Omit<TraceOptions, 'log'>,
  order: Partial<SaveOrder> = {},
): Promise<Run> {
  const saving = begin(bench, lane, order);
  await saving.line('holding ');
  const tracer = await Tracer.attach(saving, { ...trace, log: join(bench.scratch, `trace-${lane}`) });
  saving.goOn();
  const ended = await saving.ended;
  await tracer.end();
  return { saving, ended, directory: laneFolder(bench, lane), text: tracer.text };
}

export function begin({ driver, seed, pristine, ...bench }: Bench, lane: number, order: Partial<SaveOrder>): Saving {
  const directory = laneFolder(bench, lane);
  pristine.restore(directory);
  const all = { driver: driver.id, directory, seed, from: FIRST, saves: SAVES, holdsAt: [0], ...order };
  return new Saving(all, { env: ENV, timeoutMs: HANG_MS });
}

/** Always the same: what is to fail is named by its path. */
export function laneFolder({ scratch }: Pick<Bench, 'scratch'>, lane: number): string {
  return join(scratch, `lane-${lane}`);
}

/** `isAllSaved`: also what was begun and not awaited has to be there. */
export async function verdictOf(
  { driver, pool }: Bench,
  { saving, ended, directory }: Run,
  isAllSaved = false,
): Promise<Verdict> {
  if (ended.isHung) return { kind: 'damaged', message: `it hung after ${saving.lines.at(-1)}` };
  const { acked, issued } = saving;
  return judge(await pool.load(driver.id, directory), { acked: isAllSaved ? issued : acked, issued });
}
