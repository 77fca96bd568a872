// Entry point of the thread that syncs for the journal thread.

import { workerData } from 'node:worker_threads';
import { Bell } from '../src/threads/bell.js';
import { serveSyncs } from '../src/threads/sync-helper.js';

const { memory, bell } = workerData as { memory: SharedArrayBuffer; bell: SharedArrayBuffer };
const journal = new Bell(bell);
serveSyncs(memory, () => journal.ringNow());
