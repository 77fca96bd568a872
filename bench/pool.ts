// Whether anything goes through libuv's pool: its threads sleep until somebody hands them something to do, and the kernel
// counts how often each was put on a core. What the main thread and other programs do meanwhile changes nothing about it.

import { pbkdf2 } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';

const THREADS = 4;
/** Some milliseconds on each of them: nobody else does that meanwhile. */
const ROUNDS = 60_000;
/** They are at rest when nothing has happened for so long. */
const REST_MS = 50;
const REST_MAX_MS = 5000;

/** Of this process, as the kernel numbers them: those on which hashing takes place. Nothing else may be going on. */
export async function poolThreads(): Promise<string[]> {
  const before = clocks();
  await Promise.all(Array.from({ length: THREADS }, () => promisify(pbkdf2)('secret', 'salt', ROUNDS, 32, 'sha256')));
  const used = [...clocks()].map(([thread, { cpuNs }]) => ({ thread, ns: cpuNs - (before.get(thread)?.cpuNs ?? 0) }));
  const threads = used
    .filter(({ thread }) => thread !== `${process.pid}`)
    .sort((a, b) => b.ns - a.ns)
    .slice(0, THREADS)
    .map(({ thread }) => thread);
  await atRest(threads);
  return threads;
}

/** Whoever has handed in its result has still to lie down. */
async function atRest(threads: readonly string[]): Promise<void> {
  const end = performance.now() + REST_MAX_MS;
  for (let before = -1, now = timesRun(threads); now !== before && performance.now() < end; ) {
    await new Promise((resolve) => setTimeout(resolve, REST_MS));
    before = now;
    now = timesRun(threads);
  }
}

/** How often they were put on a core, all together. */
export function timesRun(threads: readonly string[]): number {
  const all = clocks();
  return threads.reduce((sum, thread) => sum + (all.get(thread)?.timesRun ?? 0), 0);
}

function clocks(): Map<string, { cpuNs: number; timesRun: number }> {
  return new Map(readdirSync('/proc/self/task').map((thread) => [thread, clockOf(thread)]));
}

function clockOf(thread: string): { cpuNs: number; timesRun: number } {
  const [cpuNs = 0, , timesRun = 0] = readFileSync(`/proc/self/task/${thread}/schedstat`, 'utf8')
    .split(' ')
    .map(Number);
  return { cpuNs, timesRun };
}
