// Two campaigns of the lab in small, with processes that are really ended.

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exit } from '../../bench/lab/campaigns/exit.js';
import { kill } from '../../bench/lab/campaigns/kill.js';
import { driverOf } from '../../bench/lab/drivers/index.js';
import type { Campaign, Row } from '../../bench/lab/report.js';
import { WAYS } from '../../bench/lab/ways.js';

const IDS = ['holdfast', 'holdfast-transaction', 'fs'];

let scratch = '';

beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'holdfast-lab-'));
});

afterAll(() => {
  rmSync(scratch, { recursive: true });
});

async function run(campaign: Campaign, id: string): Promise<{ rows: Row[]; progress: number[] }> {
  const progress: number[] = [];
  const { rows } = await campaign.run({
    drivers: [driverOf(id)],
    seed: 1,
    size: campaign.sizes.short,
    fileSystems: [],
    scratch,
    onProgress: (done) => progress.push(done),
  });
  expect(readdirSync(scratch)).toEqual([]);
  expect(rows.every(({ driver, trials }) => driver === id && trials === campaign.sizes.short)).toBe(true);
  return { rows, progress };
}

function expectUnharmed(rows: readonly Row[]): void {
  for (const row of rows) {
    const outcomes = { intact: row.trials, lost: 0, missing: 0, damaged: 0, wrong: 0 };
    expect(row).toMatchObject({ outcomes, savesLost: 0, examples: [] });
  }
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

describe.each(IDS)('%s', (id) => {
  const isOurs = id !== 'fs';

  it(`is killed as often as asked${isOurs ? ', and loses nothing' : ''}`, async () => {
    const { rows, progress } = await run(kill, id);
    expect(rows.map(({ condition }) => condition)).toEqual(['']);
    expect(progress).toEqual(upTo(kill.sizes.short));
    if (isOurs) expectUnharmed(rows);
  });

  it(`ends in each way${isOurs ? ', and keeps even what was not awaited' : ''}`, async () => {
    const { rows, progress } = await run(exit, id);
    expect(rows.map(({ condition }) => condition)).toEqual(WAYS.map(({ name }) => name));
    expect(progress).toEqual(upTo(WAYS.length * exit.sizes.short));
    if (isOurs) expectUnharmed(rows);
  });
});
