// A thread may be ended at any moment of its life, also while it is still loading its code: the program goes on.

import { expect, it } from 'vitest';
import { run } from '../support/process-child.js';

const DEATHS = 60;

// In a process of its own: what this is about ends the process, and no handler hears of it. With an ES module as entry point
// Node aborted about one run in six of these.
const program = (file: string) => `
  import { once } from 'node:events';
  import { Piscina } from 'piscina';
  for (let death = 0; death < ${DEATHS}; death++) {
    const pool = new Piscina({ filename: ${JSON.stringify(file)}, minThreads: 1, maxThreads: 1, atomics: 'disabled' });
    pool.on('error', () => undefined);
    await once(pool.threads[0], 'online');
    await new Promise((resolve) => setTimeout(resolve, (death % 30) * 2));
    await pool.destroy().catch(() => undefined);
  }
  console.log('alive');
`;

it.each(['snapshot.cjs', 'file.cjs'])('%s', async (worker) => {
  const file = new URL(`../../dist/workers/${worker}`, import.meta.url).pathname;
  const { code, stdout, stderr } = await run(program(file));
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'alive\n', stderr: '' });
});
