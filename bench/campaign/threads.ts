// node .build/bench/campaign/threads.js [--deaths 100] [--seed 1]

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { show, type Thread, terminateAgainAndAgain } from '../../test/support/process-threads.js';

const { values } = parseArgs({
  options: { deaths: { type: 'string', default: '100' }, seed: { type: 'string', default: '1' } },
});

const workersUrl = new URL('../../workers/', import.meta.url);
for (const thread of ['journal', 'snapshot'] satisfies Thread[]) {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-threads-'));
  const report = await terminateAgainAndAgain(
    directory,
    thread,
    Number(values.deaths),
    Number(values.seed),
    workersUrl,
  );
  console.log(show(thread, report));
  for (const line of report.wrong) console.log(line);
  if (report.wrong.length > 0) process.exitCode = 1;
  rmSync(directory, { recursive: true, force: true });
}
