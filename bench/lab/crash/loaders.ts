// Some processes that load states, each the next one that is waiting.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Found } from '../contract.js';
import { inLanes, LANES } from '../lanes.js';
import { LoaderPool } from '../loader-pool.js';
import { build } from './build.js';
import type { CrashCase } from './explore.js';
import { FOLDER } from './record.js';

/** Builds each state, has it loaded, and hands on what was found. One that cannot be closed again is refused too. */
export async function loadAll(
  driver: string,
  cases: readonly CrashCase[],
  { scratch, pool }: { scratch: string; pool: LoaderPool },
  onFound: (one: CrashCase, found: Found) => void,
): Promise<void> {
  await inLanes(cases.entries(), async ([at, one]) => {
    const folder = join(scratch, `state-${at}`);
    build(one.state, folder);
    onFound(one, await pool.load(driver, join(folder, FOLDER)));
    rmSync(folder, { recursive: true });
  });
}

/** Processes for them while `use` runs. */
export async function withLoaders<T>(use: (pool: LoaderPool) => Promise<T>): Promise<T> {
  const pool = new LoaderPool(LANES, { mustClose: true });
  try {
    return await use(pool);
  } finally {
    await pool.end();
  }
}
