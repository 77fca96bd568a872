// node .build/bench/campaign/faults.js [--most 1000] [--every 1] [--calls openat,fsync,…] [--errors EIO,ENOSPC,EMFILE]
//
// For each call and error: the n-th fails once, and from the n-th on all fail, for every n that the program reaches.

import { parseArgs } from 'node:util';
import { CALLS, type Call, ERRORS, type FaultCase, runFault, showCase } from '../../test/support/process-faults.js';

const { values } = parseArgs({
  options: {
    most: { type: 'string', default: '1000' },
    every: { type: 'string', default: '1' },
    calls: { type: 'string', default: Object.keys(CALLS).join() },
    errors: { type: 'string', default: ERRORS.join() },
  },
});

let runs = 0;
let bad = 0;
for (const call of values.calls.split(',') as Call[]) {
  for (const error of values.errors.split(',') as FaultCase['error'][]) {
    for (const isOnce of [true, false]) {
      let n = 1;
      for (; n <= Number(values.most); n += Number(values.every)) {
        const fault = { call, error, n, isOnce };
        const { isReached, wrong, said } = await runFault(fault);
        if (!isReached) break;
        runs++;
        if (wrong.length === 0) continue;
        bad++;
        console.log(`${showCase(fault)}: ${wrong.join('; ')}\n    ${said.join(', ')}`);
      }
      console.log(`${call} ${error} ${isOnce ? 'once' : 'for ever'}: up to ${n - 1}`);
    }
  }
}
console.log(`${runs} runs, ${bad} bad`);
if (bad > 0) process.exitCode = 1;
