// The program in the picture: a loop whose steps take now more, now less time, and sometimes fail.

import { runLoop } from '../../src/loop/index.js';

const [file = '', count = ''] = process.argv.slice(2);
const FAILS_EVERY = 53;

const items = Array.from(
  { length: Number(count) },
  (_, index) => `src/routes/page-${String(index + 1).padStart(4, '0')}.ts`,
);
const startedMs = performance.now();

await runLoop(
  items,
  file,
  async (item) => {
    const wave = 1 + 0.8 * Math.sin((performance.now() - startedMs) / 4000);
    await new Promise((resolve) => setTimeout(resolve, 60 + 120 * wave * Math.random()));
    if ((items.indexOf(item) + 1) % FAILS_EVERY === 0) throw new Error('no such column: users.handle');
  },
  { concurrency: 3 },
);
