// node .build/bench/campaign/power-cut.js [--cuts 20] [--fs ext4,xfs] [--seed 1]
//
// Needs root, loop devices, e2fsprogs and xfsprogs.

import { parseArgs } from 'node:util';
import { cutAgainAndAgain, show } from '../../test/support/process-cuts.js';
import { whyNoCuts } from '../../test/support/process-means.js';
import type { FileSystem } from '../../test/support/process-mounts.js';

const { values } = parseArgs({
  options: {
    cuts: { type: 'string', default: '20' },
    fs: { type: 'string', default: 'ext4,xfs' },
    seed: { type: 'string', default: '1' },
  },
});

const why = whyNoCuts();
if (why !== null) {
  console.log(`Not possible here: ${why}`);
  process.exitCode = 1;
} else {
  for (const fileSystem of values.fs.split(',') as FileSystem[]) {
    const report = await cutAgainAndAgain(fileSystem, Number(values.cuts), Number(values.seed));
    console.log(show(report));
    for (const line of report.wrong) console.log(`    ${line}`);
    if (report.wrong.length > 0) process.exitCode = 1;
  }
}
