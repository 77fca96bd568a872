// Every subject, in the order of the tables. Each imports its library when it is opened: some listen to signals from then
// on, and a process has only one subject.

import type { Driver } from '../contract.js';
import { classicLevel } from './classic-level.js';
import { conf } from './conf.js';
import { holdfastStore } from './holdfast.js';
import { holdfastFiles } from './holdfast-files.js';
import { holdfastLoop } from './holdfast-loop.js';
import { holdfastMission } from './holdfast-mission.js';
import { holdfastCompacting, holdfastMigrating } from './holdfast-scenarios.js';
import { holdfastTransaction } from './holdfast-transaction.js';
import { lmdb } from './lmdb.js';
import { lowdb } from './lowdb.js';
import { nedb } from './nedb.js';
import { atomically, fsWriteFile, holdfastFile, steno, writeFileAtomic } from './plain-file.js';
import { deleteExtra, deleteFull, deleteOff, walFull, walNormal } from './sqlite.js';

export const SUBJECTS: readonly Driver[] = [
  holdfastStore,
  holdfastCompacting,
  holdfastMigrating,
  holdfastTransaction,
  holdfastLoop,
  holdfastMission,
  holdfastFile,
  holdfastFiles,
  fsWriteFile,
  writeFileAtomic,
  atomically,
  steno,
  lowdb,
  conf,
  nedb,
  walFull,
  walNormal,
  deleteExtra,
  lmdb,
  classicLevel,
];

/** Used by single campaigns, not compared. */
const CONTROLS: readonly Driver[] = [deleteFull, deleteOff];

export function driverOf(id: string): Driver {
  const driver = [...SUBJECTS, ...CONTROLS].find((one) => one.id === id);
  if (driver === undefined)
    throw new TypeError(`Expected one of ${SUBJECTS.map((one) => one.id).join(', ')}, got '${id}'`);
  return driver;
}
