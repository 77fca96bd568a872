// The program of a user: work through items, save after each one. It has no idea when it will be killed.
//
// What it says goes to a pipe and straight out (`writeSync`): a kill right after a line must not take the line along.
//   opened 1,2,3     these items were done when the store was opened
//   run 4            item 4 begins
//   saved 4 <text>   item 4 is done with this output, and `flush` said so
//   meter …          what saving cost, see Meter

import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { open } from '../index.js';
import { say } from './say.js';

/** Stands for a model call or a build: takes this long and no CPU. */
const WORK_MS = 0.3;
const METER_MS = 100;
const TICK_MS = 5;
const BARE_STEPS = 300;

const Loop = z.object({
  current: z.string().nullable(),
  done: z.record(z.string(), z.object({ output: z.string() })),
});

export async function runLoop(directory: string, itemCount: number): Promise<void> {
  const store = await open(directory);
  const loop = await store.doc('loop', { schema: Loop, initial: { current: null, done: {} } });
  say(`opened ${Object.keys(loop.state.done).map(numberOf).join(',')}`);
  const meter = new Meter();

  for (let item = 1; item <= itemCount; item++) {
    const id = idOf(item);
    if (loop.state.done[id]) continue;
    loop.update((state) => {
      state.current = id;
    });
    say(`run ${item}`);
    const output = work(id);
    loop.update((state) => {
      state.done[id] = { output };
      state.current = null;
    });
    await store.flush();
    say(`saved ${item} ${output}`);
    meter.step();
  }

  meter.stop();
  say(`bare ${bareStepNs()}`);
  await store.close();
}

export function idOf(item: number): string {
  return `item-${String(item).padStart(4, '0')}`;
}

export function numberOf(id: string): number {
  return Number(id.slice('item-'.length));
}

const bed = new Int32Array(new SharedArrayBuffer(4));

/** Different every time it runs: a second run of the same item cannot pass for the first. */
function work(id: string): string {
  Atomics.wait(bed, 0, 0, WORK_MS);
  return `what-${id}-found-${Math.random().toString(36).slice(2, 10)}`;
}

/** What the loop costs without saving. */
function bareStepNs(): number {
  const before = cpuNow();
  for (let step = 0; step < BARE_STEPS; step++) {
    say('run 0');
    say(`bare-saved ${work('item-0000')}`);
  }
  return Math.round((cpuNow() - before) / BARE_STEPS);
}

// The main thread's own clock where the system has one; else that of the whole process, and it is labelled so.
const SCHEDSTAT = `/proc/self/task/${process.pid}/schedstat`;
const clock = hasThreadClock() ? 'thread' : 'process';

function hasThreadClock(): boolean {
  try {
    return Number(readFileSync(SCHEDSTAT, 'utf8').split(' ')[0]) > 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return false;
  }
}

/** CPU time so far, in ns. */
function cpuNow(): number {
  if (clock === 'thread') return Number(readFileSync(SCHEDSTAT, 'utf8').split(' ')[0]);
  const { user, system } = process.cpuUsage();
  return (user + system) * 1000;
}

/**
 * Every 100 ms: `meter <clock> <CPU ns> <steps> <ms late>,<ms late>,…`. How late the event loop is comes from a plain timer,
 * because `monitorEventLoopDelay` costs CPU that would be counted as ours.
 */
class Meter {
  readonly #ticks = setInterval(() => this.#tick(), TICK_MS);
  #lateMs: string[] = [];
  #steps = 0;
  #cpu = cpuNow();
  #lastTick = performance.now();
  #lastReport = performance.now();

  step(): void {
    this.#steps++;
  }

  stop(): void {
    clearInterval(this.#ticks);
    this.#report();
  }

  #tick(): void {
    const now = performance.now();
    this.#lateMs.push(Math.max(0, now - this.#lastTick - TICK_MS).toFixed(2));
    this.#lastTick = now;
    if (now - this.#lastReport >= METER_MS) this.#report();
  }

  #report(): void {
    const cpu = cpuNow();
    say(`meter ${clock} ${cpu - this.#cpu} ${this.#steps} ${this.#lateMs.join(',')}`);
    this.#cpu = cpu;
    this.#steps = 0;
    this.#lateMs = [];
    this.#lastReport = performance.now();
  }
}
