// The program that the demo starts and kills: `node demo-loop.js DIRECTORY ITEMS`.

import { runLoop } from './demo-child.js';

const [directory = '', items] = process.argv.slice(2);
await runLoop(directory, Number(items));
