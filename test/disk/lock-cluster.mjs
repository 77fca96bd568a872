// A worker of a cluster takes the lock and never comes back to its event loop; its primary is killed.
// Arguments: the built lock module, the directory.

import cluster from 'node:cluster';
import { once } from 'node:events';

const [module, directory] = process.argv.slice(2);
const { acquireLock } = await import(module);

if (cluster.isPrimary) {
  const worker = cluster.fork();
  const [answer] = await once(worker, 'message');
  process.send(answer, () => process.kill(process.pid, 'SIGKILL'));
} else {
  const { owner } = await acquireLock(directory);
  process.send({ owner, pid: process.pid }, () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
}
