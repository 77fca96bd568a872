// What runs in the processes that are measured: something is prepared once, then asked for one round after the other.
//
// Prints `ready`, `round <n> <figures>` for each line `<order>` that comes in, and `ended` after the line `end`.

import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { say } from '../src/cli/say.js';

/** What a question prepares in a process of its own. */
export interface Prepared<Order, Figures> {
  round(order: Order): Promise<Figures>;
  end(): Promise<void>;
}

export async function serve<Start, Order, Figures>(
  prepare: (start: Start) => Promise<Prepared<Order, Figures>>,
  start: Start,
): Promise<void> {
  const prepared = await prepare(start);
  const lines = createInterface({ input: process.stdin });
  const orders: string[] = [];
  let wake: () => void = () => undefined;
  lines.on('line', (line) => {
    orders.push(line);
    wake();
  });
  say('ready');
  for (let n = 0; ; n++) {
    while (orders.length === 0) await new Promise<void>((resolve) => (wake = resolve));
    const order = orders.shift() as string;
    if (order === 'end') break;
    say(`round ${n} ${JSON.stringify(await prepared.round(JSON.parse(order) as Order))}`);
  }
  const closed = once(lines, 'close');
  lines.close();
  await closed;
  await prepared.end();
  say('ended');
  process.stdin.destroy();
}
