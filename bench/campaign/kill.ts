// node .build/bench/campaign/kill.js [--kills 300] [--seed 1] [--dir <folder>]

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { killAgainAndAgain, show } from '../../test/support/process-kills.js';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '300' },
    seed: { type: 'string', default: '1' },
    dir: { type: 'string', default: tmpdir() },
  },
});

const directory = mkdtempSync(join(values.dir, 'holdfast-kill-'));
const report = await killAgainAndAgain(directory, Number(values.kills), Number(values.seed));
console.log(show(report));
for (const line of report.wrong) console.log(line);
if (report.wrong.length === 0) rmSync(directory, { recursive: true, force: true });
else {
  console.log(`The store is kept in ${directory}.`);
  process.exitCode = 1;
}
