// Every rival, in the order of the tables. Each imports its library when it begins: a process has only one of them.

import { bare, barePreallocated } from './bare.js';
import { classicLevel } from './classic-level.js';
import { conf } from './conf.js';
import type { Driver } from './contract.js';
import { atomically, debounced, fsWriteFile, steno, writeFileAtomic } from './files.js';
import { holdfast, holdfastBusy, holdfastCoalescing, holdfastZod } from './holdfast.js';
import { lmdb } from './lmdb.js';
import { lowdb } from './lowdb.js';
import { nedb } from './nedb.js';
import { nothing } from './nothing.js';
import { sqliteFull, sqliteNormal } from './sqlite.js';

export const RIVALS: readonly Driver[] = [
  sqliteFull,
  sqliteNormal,
  lmdb,
  classicLevel,
  nedb,
  fsWriteFile,
  writeFileAtomic,
  debounced,
  atomically,
  steno,
  lowdb,
  conf,
];

/** Ours, and what is measured to hold the others against: never left out. */
const ALWAYS: readonly Driver[] = [
  holdfast,
  holdfastZod,
  holdfastBusy,
  holdfastCoalescing,
  bare,
  barePreallocated,
  nothing,
];

export const DRIVERS: readonly Driver[] = [...ALWAYS, ...RIVALS];

export function driverOf(id: string): Driver {
  const driver = DRIVERS.find((one) => one.id === id);
  if (driver !== undefined) return driver;
  throw new TypeError(`Expected a subject of ${DRIVERS.map((one) => one.id).join(', ')}, got '${id}'`);
}

/** Of these subjects, those that were asked for. */
export function among(ids: readonly string[], rivals: readonly Driver[]): Driver[] {
  return ids.map(driverOf).filter((driver) => ALWAYS.includes(driver) || rivals.includes(driver));
}
