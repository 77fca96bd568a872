// What a lock file says: who holds the store, and everything that may later help to tell whether that process still runs.

import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { isCode } from './faults.js';

/** Where a process runs. A fact that this system does not give is empty, and an empty fact proves nothing. */
export interface Identity {
  pid: number;
  /** `pid:[4026531836]`: a pid means something only together with it. Every container has a process 1. */
  pidNamespace: string;
  /** In clock ticks since boot. Tells a process from a later one with the same pid. */
  startTime: string;
  /** One for each time a kernel starts, the same in all its containers. */
  bootId: string;
  machineId: string;
  host: string;
}

/** On disk, as JSON. Fields may be added, never renamed. */
export interface LockRecord extends Identity {
  state: 'held' | 'released';
  /** The owner's socket, in the same directory; null where there are no sockets. */
  socket: string | null;
  /** When it was taken. For people: it decides nothing. */
  since: string;
}

const SOCKET_NAME = /^owner-[0-9a-f]{16}\.sock$/;

export function isSocketName(name: string): boolean {
  return SOCKET_NAME.test(name);
}

export function ownIdentity(): Identity {
  return {
    pid: process.pid,
    pidNamespace: factFrom(() => readlinkSync('/proc/self/ns/pid')),
    startTime: factFrom(() => startTimeIn(readFileSync('/proc/self/stat', 'latin1'))),
    bootId: factFrom(() => readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()),
    machineId: factFrom(() => readFileSync('/etc/machine-id', 'latin1').trim()),
    host: hostname(),
  };
}

/** Empty when there is no such process, or no way to see it. */
export function startTimeOf(pid: number): string {
  // A /proc of another pid namespace numbers processes differently: /proc/7 is then not our 7.
  if (factFrom(() => readlinkSync('/proc/self')) !== String(process.pid)) return '';
  return factFrom(() => startTimeIn(readFileSync(`/proc/${pid}/stat`, 'latin1')));
}

/** Field 22. The name in field 2 may hold spaces and brackets: count from the last one, which closes it. */
export function startTimeIn(stat: string): string {
  const fromThird = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fromThird[22 - 3] ?? '';
}

/** ESRCH: the process ended between open and read. */
const NOT_GIVEN = ['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'ESRCH', 'EINVAL'];

function factFrom(read: () => string): string {
  try {
    return read();
  } catch (error) {
    if (!isCode(error, ...NOT_GIVEN)) throw error;
    return '';
  }
}

export function encodeRecord(record: LockRecord): Buffer {
  return Buffer.from(`${JSON.stringify(record)}\n`);
}

/** Null for what is not a whole record: nobody syncs a lock file, so a power cut may leave its name and not its content. */
export function parseRecord(bytes: Buffer): LockRecord | null {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return null;
  }
  return isRecord(value) ? value : null;
}

function isRecord(value: unknown): value is LockRecord {
  if (typeof value !== 'object' || value === null) return false;
  const { state, socket, pid, ...texts } = value as Record<keyof LockRecord, unknown>;
  return (
    (state === 'held' || state === 'released') &&
    (socket === null || (typeof socket === 'string' && isSocketName(socket))) &&
    // A pid of 0 or below means a whole group of processes.
    Number.isSafeInteger(pid) &&
    (pid as number) > 0 &&
    TEXTS.every((key) => typeof texts[key] === 'string')
  );
}

const TEXTS = ['pidNamespace', 'startTime', 'bootId', 'machineId', 'host', 'since'] as const;
