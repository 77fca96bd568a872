// Who is at work in a directory, proven by a socket that answers as long as its thread lives.

import { judge, type Verdict } from '../disk/lock-liveness.js';
import { type LockRecord, ownIdentity } from '../disk/lock-record.js';
import { listenIn } from '../disk/lock-socket.js';
import { tempName } from './temps.js';

export interface Presence {
  record: LockRecord;
  close(): Promise<void>;
}

/** Injected, so that tests without threads and sockets decide who lives. */
export interface Liveness {
  /** From now on `judge` says of this record that its owner is alive, in every process. */
  announce(directory: string): Promise<Presence>;
  judge(directory: string, record: LockRecord): Promise<Verdict>;
  sleep(ms: number): Promise<void>;
  now(): number;
}

// Captured at import: a program's fake timers must not freeze saving.
const { setTimeout } = globalThis;

export const liveness: Liveness = {
  announce: async (directory) => {
    const listener = await listenIn(directory, tempName('sock'));
    const socket = listener?.name ?? null;
    const record: LockRecord = { state: 'held', socket, ...ownIdentity(), since: new Date().toISOString() };
    return { record, close: async () => listener?.close() };
  },
  judge,
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  now: () => performance.now(),
};
