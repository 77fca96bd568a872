// SIGKILL at random moments. `HOLDFAST_RUNS=1000` for many more; bench/campaign/kill.ts for any number.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { killAgainAndAgain, show } from '../support/process-kills.js';

const isLong = Number(process.env.HOLDFAST_RUNS ?? 0) >= 1000;
const KILLS = isLong ? 300 : 12;

it('a program killed at any moment finds a state that it had, with everything it flushed', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-kill-'));
  try {
    const report = await killAgainAndAgain(directory, KILLS, 1);
    console.info(show(report));
    expect(report.wrong).toEqual([]);
    expect(report.steps).toBeGreaterThan(0);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}, 1_200_000);
