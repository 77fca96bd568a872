// A process that does with locks what it is told, over its message channel.
// Arguments: the built lock module, and optionally a directory to lock with nothing else to do.

import { mkdirSync, rmdirSync } from 'node:fs';
import { Server } from 'node:net';
import { join } from 'node:path';

const [module, directory, afterwards] = process.argv.slice(2);
const { acquireLock } = await import(module);

let lock;

const commands = {
  /** At a given time, so that many processes do it at once. */
  async acquire({ hidden, options, atMs = 0 }) {
    while (Date.now() < atMs);
    lock = await acquireLock(hidden, options);
    return { owner: lock.owner };
  },
  async release() {
    await lock.release();
    return {};
  },
  async assertHighest() {
    lock.assertHighest();
    return {};
  },
  async withoutSockets() {
    Server.prototype.listen = function () {
      const error = Object.assign(new Error('listen ENOTSUP'), { code: 'ENOTSUP' });
      process.nextTick(() => this.emit('error', error));
      return this;
    };
    return {};
  },
  /** Takes the lock, is alone, lets go, again and again. */
  async churn({ hidden, untilMs }) {
    let turns = 0;
    let clashes = 0;
    while (Date.now() < untilMs) {
      const mine = await acquireLock(hidden).catch((error) => {
        if (error.code !== 'HF_LOCKED') throw error;
        return null;
      });
      if (mine === null) continue;
      turns += 1;
      try {
        mkdirSync(join(hidden, 'critical'));
        rmdirSync(join(hidden, 'critical'));
        mine.assertHighest();
      } catch {
        clashes += 1;
      }
      await mine.release();
    }
    return { turns, clashes };
  },
  /** Answers first: afterwards it cannot. */
  async block() {
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
    return {};
  },
};

if (directory === undefined) {
  process.on('message', ({ command, ...settings }) => {
    commands[command](settings)
      .catch(({ code, message, details }) => ({ code, message, details }))
      .then((answer) => process.send(answer));
  });
  process.on('disconnect', () => process.exit());
  process.send({ ready: true });
} else {
  lock = await acquireLock(directory);
  if (afterwards === 'release') await lock.release();
  console.log(afterwards);
}
