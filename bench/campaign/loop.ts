// node .build/bench/campaign/loop.js [--items 20000] [--kills 50] [--concurrency 4] [--work-ms 1] [--seed 1] [--dir <folder>]

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { killLoops, show } from '../../test/loop/kills.js';

const { values } = parseArgs({
  options: {
    items: { type: 'string', default: '20000' },
    kills: { type: 'string', default: '50' },
    concurrency: { type: 'string', default: '4' },
    'work-ms': { type: 'string', default: '1' },
    seed: { type: 'string', default: '1' },
    dir: { type: 'string', default: tmpdir() },
  },
});

const directory = mkdtempSync(join(values.dir, 'holdfast-loop-'));
const report = await killLoops({
  directory,
  items: Number(values.items),
  kills: Number(values.kills),
  concurrency: Number(values.concurrency),
  workMs: Number(values['work-ms']),
  seed: Number(values.seed),
});
console.log(show(report));
for (const line of report.wrong.slice(0, 100)) console.log(line);
if (report.wrong.length === 0) rmSync(directory, { recursive: true, force: true });
else {
  console.log(`What is left is in ${directory}.`);
  process.exitCode = 1;
}
