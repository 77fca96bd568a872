// Does the lab tell right from wrong? SQLite says what each of its settings survives, and has been held to it for twenty
// years: whatever else is seen here is a fault of the lab.

import type { Driver } from '../contract.js';
import { deleteExtra, deleteFull, deleteOff, walFull, walNormal } from '../drivers/sqlite.js';
import type { LoaderPool } from '../loader-pool.js';
import { type Control, type Row, RowCounter } from '../report.js';
import { check, seen, violations, withRecording } from './check.js';
import type { Model } from './explore.js';

interface Expectation {
  driver: Driver;
  models: readonly Model[];
  expected: string;
  holds(row: Row): boolean;
}

const isSafe = (row: Row) => violations(row) === 0;
const isCorrupted = ({ outcomes }: Row) => outcomes.damaged + outcomes.wrong > 0;
const losesOnly = (row: Row) => violations(row) > 0 && !isCorrupted(row);

const EXPECTATIONS: readonly Expectation[] = [
  { driver: walFull, models: ['posix', 'journal'], expected: 'nothing is lost', holds: isSafe },
  { driver: walNormal, models: ['posix'], expected: 'commits are lost, nothing is corrupted', holds: losesOnly },
  { driver: deleteExtra, models: ['posix'], expected: 'nothing is lost', holds: isSafe },
  {
    driver: deleteFull,
    models: ['posix'],
    expected: 'the last commit is lost with the unsynced removal of the journal, nothing is corrupted',
    holds: (row) => losesOnly(row) && row.savesLost <= row.outcomes.lost,
  },
  { driver: deleteOff, models: ['posix'], expected: 'it is corrupted', holds: isCorrupted },
];

export interface Calibration {
  isRight: boolean;
  controls: Control[];
}

export async function calibrate(options: {
  size: number;
  seed: number;
  scratch: string;
  pool: LoaderPool;
}): Promise<Calibration> {
  const controls: Control[] = [];
  let isRight = true;
  for (const { driver, models, expected, holds } of EXPECTATIONS) {
    await withRecording(driver, options, async (recording, scratch) => {
      for (const model of models) {
        const counter = new RowCounter(driver, model);
        await check(counter, driver, recording, { ...options, scratch, model });
        const isMet = holds(counter.row);
        isRight &&= isMet;
        controls.push({ what: `calibration, ${driver.name}, ${model}`, expected, seen: seen(counter.row), isMet });
      }
    });
  }
  return { isRight, controls };
}
