// What someone reads who may not have the store: who has it, since when, and the way out.

import { dirname } from 'node:path';
import { HoldfastError } from '../errors.js';
import type { LockRecord } from './lock-record.js';

/** `details` of HF_LOCKED. */
export interface LockHolder {
  /** Null when the lock file cannot be read. */
  pid: number | null;
  host: string | null;
  since: string | null;
  /** Whether `takeover: true` would help. It never does against an owner that is known to run. */
  canTakeOver: boolean;
}

const ONE_WRITER = 'Only one process at a time may write to a store';

export function isOpenElsewhere(hidden: string, record: LockRecord): HoldfastError {
  const message =
    `${dirname(hidden)} is open in ${nameOf(record)}. ${ONE_WRITER}: ` +
    'close it there, or open it for reading only with `openReadOnly`.';
  return new HoldfastError('HF_LOCKED', message, { details: holder(record, false) });
}

export function isOpenSomewhere(hidden: string): HoldfastError {
  const message =
    `${dirname(hidden)} is open: a process answers on a socket in ${hidden}, and no lock file there tells which one. ` +
    `${ONE_WRITER}: find it, for example with \`ss -xlp\`, and close the store there.`;
  return new HoldfastError('HF_LOCKED', message, { details: holder(null, false) });
}

export function mayBeOpen(hidden: string, record: LockRecord | null, why: string): HoldfastError {
  const message =
    `${dirname(hidden)} was opened by ${record === null ? 'a process unknown' : nameOf(record)} and may still be open: ` +
    `${why}. ${ONE_WRITER}: close it there. If you are certain that it no longer runs, open with \`takeover: true\`.`;
  return new HoldfastError('HF_LOCKED', message, { details: holder(record, true) });
}

export function changesHands(hidden: string): HoldfastError {
  const message = `${dirname(hidden)} keeps changing hands between other processes. ${ONE_WRITER}: try again later.`;
  return new HoldfastError('HF_LOCKED', message, { details: holder(null, false) });
}

export function isFenced(hidden: string, owner: number, highest: number): HoldfastError {
  const happened =
    highest > owner
      ? `was taken over by another process (lock.${highest} stands above our lock.${owner})`
      : `is no longer ours: somebody removed lock.${owner}`;
  const message = `${dirname(hidden)} ${happened}. Nothing more is saved from here: open the store again.`;
  return new HoldfastError('HF_FENCED', message, { details: { owner, highest } });
}

function nameOf({ pid, host, since }: LockRecord): string {
  const who = pid === process.pid ? `process ${pid} (the pid of this process, too)` : `process ${pid}`;
  return `${who} on host ${host}, since ${since}`;
}

function holder(record: LockRecord | null, canTakeOver: boolean): LockHolder {
  return { pid: record?.pid ?? null, host: record?.host ?? null, since: record?.since ?? null, canTakeOver };
}
