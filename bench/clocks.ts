// What something cost: the main thread alone, the whole process, the wall clock, and the bytes that went out.

import { readFileSync } from 'node:fs';

/**
 * CPU of the main thread. Its own clock, which a running thread's kernel brings up to date at every tick: a batch of
 * 100 ms is right to a few percent, and one that sleeps often is right to the microsecond.
 */
export function mainCpuUs(): number {
  return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1000;
}

export function processCpuUs(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

export interface Io {
  /** Handed to the kernel by write calls. */
  writtenBytes: number;
  /** Pages made dirty, memory-mapped ones too: what has to go to the disk, not counting the file system's own. */
  diskBytes: number;
}

export function processIo(): Io {
  const text = readFileSync('/proc/self/io', 'utf8');
  const of = (name: string) => Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(text)?.[1]);
  return { writtenBytes: of('wchar'), diskBytes: of('write_bytes') };
}

export interface Spent {
  count: number;
  mainUs: number;
  processUs: number;
  wallUs: number;
}

export interface BatchSize {
  /** Enough when the main thread has used so much … */
  cpuMs: number;
  /** … or when so much time has passed. */
  wallMs: number;
}

/** Looking at the clock costs as much as a step does: seldom, where steps are short. */
const CHUNK_MAX = 256;

/** Runs `step` until the batch is large enough, then `settle`; each figure is per step. */
export async function spend(
  step: () => undefined | Promise<void>,
  settle: () => Promise<void>,
  { cpuMs, wallMs }: BatchSize,
): Promise<Spent> {
  const before = [mainCpuUs(), processCpuUs(), performance.now()] as const;
  let count = 0;
  for (let chunk = 1; ; chunk = Math.min(chunk * 2, CHUNK_MAX)) {
    for (let n = 0; n < chunk; n++) {
      const wait = step();
      if (wait !== undefined) await wait;
    }
    count += chunk;
    if (mainCpuUs() - before[0] >= cpuMs * 1000 || performance.now() - before[2] >= wallMs) break;
    // A program lets its event loop turn now and then.
    await new Promise((resolve) => setImmediate(resolve));
  }
  await settle();
  return {
    count,
    mainUs: (mainCpuUs() - before[0]) / count,
    processUs: (processCpuUs() - before[1]) / count,
    wallUs: ((performance.now() - before[2]) * 1000) / count,
  };
}

/** A process that uses less than this share of one core has come to rest. */
const REST_SHARE = 0.1;
const LOOK_MS = 25;

/** Resolves when the threads of this process have nothing more to do, or after `maxMs`. */
export async function cpuAtRest(maxMs: number): Promise<void> {
  const end = performance.now() + maxMs;
  while (performance.now() < end) {
    const before = [processCpuUs(), performance.now()] as const;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    const share = (processCpuUs() - before[0]) / ((performance.now() - before[1]) * 1000);
    if (share < REST_SHARE) return;
  }
}
