// The two campaigns of the damage lab that need a file system of their own, in short.

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { fullDisk } from '../../bench/lab/campaigns/full-disk.js';
import { powerCut } from '../../bench/lab/campaigns/power-cut.js';
import { driverOf } from '../../bench/lab/drivers/index.js';
import type { Campaign, CampaignReport } from '../../bench/lab/report.js';
import { because } from '../support/process-means.js';

const isCompiled = existsSync(join(import.meta.dirname, '../../.build/bench/lab/child.js'));
const whyNotCompiled = isCompiled ? null : 'not compiled: npm run build:tools';

const scratch = mkdtempSync(join(tmpdir(), 'holdfast-lab-'));
afterAll(() => rmSync(scratch, { recursive: true }));

const drivers = ['holdfast', 'fs'].map(driverOf);

async function runShort(campaign: Campaign, size: number, fileSystem: string): Promise<CampaignReport> {
  const seen: number[] = [];
  const onProgress = (done: number, total: number) => {
    seen.push(done);
    expect(total).toBe(drivers.length * size);
  };
  const report = await campaign.run({ drivers, seed: 3, size, fileSystems: [fileSystem], scratch, onProgress });
  expect(seen).toEqual(Array.from({ length: drivers.length * size }, (_, index) => index + 1));
  expect(report.rows.map(({ driver, condition, trials }) => [driver, condition, trials])).toEqual(
    drivers.map(({ id }) => [id, fileSystem, size]),
  );
  return report;
}

function expectIntact({ rows }: CampaignReport): void {
  for (const { driver, outcomes, trials, examples } of rows) {
    const counted = Object.values(outcomes).reduce((sum, count) => sum + count, 0);
    expect(counted).toBe(trials);
    if (driver === 'holdfast') expect(outcomes.intact, examples.join('\n')).toBe(trials);
  }
}

const whyNoCuts = whyNotCompiled ?? powerCut.whyNot();

describe.skipIf(whyNoCuts !== null)(because('power cuts', whyNoCuts), () => {
  it.each(['ext4', 'ext4-writeback', 'xfs'])(
    'on %s: what holdfast acknowledged is there',
    async (fileSystem) => expectIntact(await runShort(powerCut, 2, fileSystem)),
    120_000,
  );
});

const whyNotFull = whyNotCompiled ?? fullDisk.whyNot();

describe.skipIf(whyNotFull !== null)(because('full disks', whyNotFull), () => {
  it('on tmpfs: what holdfast acknowledged is there', async () => {
    expectIntact(await runShort(fullDisk, fullDisk.sizes.short, 'tmpfs'));
  }, 120_000);
});
