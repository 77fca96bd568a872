// A few rounds of two campaigns of the damage lab, with subjects that are known to hold and to break.

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { bitRot } from '../../bench/lab/campaigns/bit-rot.js';
import { faults } from '../../bench/lab/campaigns/faults.js';
import { compiled } from '../../bench/lab/compiled.js';
import { driverOf } from '../../bench/lab/drivers/index.js';
import type { Campaign, CampaignReport } from '../../bench/lab/report.js';
import { changed, changesOf } from '../../bench/lab/rot.js';
import { because } from '../support/process-means.js';
import { randomFrom } from '../support/random.js';

const NOT_BUILT = existsSync(fileURLToPath(compiled('loader.js'))) ? null : 'npm run build:tools first';

async function run(campaign: Campaign, ids: readonly string[], size: number): Promise<CampaignReport> {
  const scratch = mkdtempSync(join(tmpdir(), 'holdfast-lab-test-'));
  const drivers = ids.map(driverOf);
  try {
    return await campaign.run({ drivers, seed: 1, size, fileSystems: [], scratch, onProgress: () => undefined });
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

const whyNoFaults = NOT_BUILT ?? faults.whyNot();

describe.skipIf(whyNoFaults !== null)(because('calls that fail, and slow disks', whyNoFaults), () => {
  it('take nothing from holdfast that was acknowledged', async () => {
    const { rows } = await run(faults, ['holdfast', 'fs'], faults.sizes.short);
    const own = rows.filter(({ driver }) => driver === 'holdfast');
    for (const { trials, outcomes, examples } of own) {
      expect(examples).toEqual([]);
      expect(outcomes.intact).toBe(trials);
    }
    expect(own.map(({ condition }) => condition)).toEqual([
      'error once',
      'error from then on',
      'slow disk and exit',
      '10 ends of a thread',
      'threads out of memory',
    ]);
    expect(rows.length).toBe(own.length + 3);
  }, 300_000);
});

describe.skipIf(NOT_BUILT !== null)(because('one file at rest is changed', NOT_BUILT), () => {
  it('holdfast gives what was saved last, or refuses; a plain file gives what was never saved', async () => {
    const { rows, skipped } = await run(bitRot, ['holdfast', 'fs', 'sqlite-wal-full'], bitRot.sizes.short);
    expect(skipped).toEqual([]);
    for (const { trials, outcomes, examples } of rows.filter(({ driver }) => driver === 'holdfast')) {
      const { intact, damaged } = outcomes;
      expect(intact + damaged, examples.join('\n')).toBe(trials);
      expect(damaged).toBeGreaterThan(0);
    }
    const [plain] = rows.filter(({ driver }) => driver === 'fs');
    expect(plain?.outcomes.wrong).toBeGreaterThan(0);
  }, 300_000);
});

it('a small folder has every change, and each of them changes something', () => {
  const files = new Map([['a', Buffer.from([1, 0, 255])]]);
  const older = new Map([['a', Buffer.from([1])]]);
  const changes = changesOf(files, older, 100, randomFrom(1));
  const results = changes.map((change) => changed(change, files.get('a') ?? Buffer.alloc(0), older.get('a')));
  // 24 bits, 2 bytes that are not zero, 2 cuts, 1 sector, emptied. Without its only file there would be no folder to see.
  expect(changes.length).toBe(30);
  const others = [new Map([...files, ['b', Buffer.alloc(0)]]), new Map([...older, ['b', Buffer.alloc(0)]])] as const;
  const more = changesOf(...others, 100, randomFrom(1)).map(({ file, kind }) => `${file} ${kind}`);
  expect(more).toEqual(expect.arrayContaining(['a deleted', 'b deleted', 'a older']));
  expect(more.length).toBe(33);
  expect(results.filter((bytes) => bytes?.equals(Buffer.from([1, 0, 255])))).toEqual([]);
});
