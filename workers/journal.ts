// Entry point of the journal thread.

import { type MessagePort, Worker, workerData } from 'node:worker_threads';
import { Bell } from '../src/threads/bell.js';
import { JournalLoop } from '../src/threads/journal-loop.js';
import { SyncHelper } from '../src/threads/sync-helper.js';

const { port, bell } = workerData as { port: MessagePort; bell: SharedArrayBuffer };

const helper = new SyncHelper((memory) => {
  const worker = new Worker(new URL('sync.js', import.meta.url), {
    name: 'holdfast sync',
    workerData: { memory, bell },
    execArgv: [],
  });
  // It ends with this thread, which never waits for it at its own end.
  worker.unref();
});
new JournalLoop(port, new Bell(bell), helper).run();
