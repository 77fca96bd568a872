// System calls that fail under a running program. bench/campaign/faults.ts does every call of the program.

import { describe, expect, it } from 'vitest';
import { type FaultCase, runFault, showCase } from '../support/process-faults.js';
import { because, whyNoFaults } from '../support/process-means.js';

const why = whyNoFaults();

/** One of each kind, early and late: at opening, at the first save, at a mark, at close. */
const CASES: FaultCase[] = [
  { call: 'pwrite64', error: 'ENOSPC', n: 1, isOnce: true },
  { call: 'pwrite64', error: 'EIO', n: 4, isOnce: true },
  { call: 'pwrite64', error: 'ENOSPC', n: 3, isOnce: false },
  { call: 'fsync', error: 'EIO', n: 2, isOnce: true },
  { call: 'fsync', error: 'EIO', n: 3, isOnce: false },
  { call: 'fdatasync', error: 'EIO', n: 1, isOnce: true },
  { call: 'fdatasync', error: 'EIO', n: 2, isOnce: false },
  { call: 'rename', error: 'EIO', n: 1, isOnce: true },
  { call: 'link', error: 'ENOSPC', n: 1, isOnce: true },
  { call: 'openat', error: 'EMFILE', n: 20, isOnce: true },
  { call: 'openat', error: 'EMFILE', n: 30, isOnce: false },
];

describe.skipIf(why !== null)(because('a call that fails', why), () => {
  it.each(CASES.map((fault) => ({ name: showCase(fault), fault })))(
    '$name: nothing acknowledged is lost, it is said by code, and mended when it is over',
    async ({ fault }) => {
      const { isReached, wrong } = await runFault(fault);
      expect(wrong).toEqual([]);
      expect(isReached).toBe(true);
    },
    120_000,
  );
});
