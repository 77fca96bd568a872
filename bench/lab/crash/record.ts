// A subject's life as the system calls it made, its acknowledgements among them.

import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DirectoryNode } from '../../../test/support/recording-nodes.js';
import type { Found } from '../contract.js';
import { loadApart, Saving } from '../subject.js';
import { READS, TRACED } from './system-calls.js';
import { parseTrace, type TracedCall } from './trace-text.js';

export interface Recording {
  /** The folder that is the root of the model; the subject's is `s` in it, and was there, durable, from the start. */
  base: string;
  /** One process after the other, on one folder. */
  lives: TracedCall[][];
}

export const FOLDER = 's';

/** No write is longer, or the replay says that it was cut short. */
const STRING_BYTES_MAX = 4_200_000;

// What goes through a ring is not seen as a call.
const ENV = { UV_USE_IO_URING: '0' };
const TIMEOUT_MS = 120_000;

/** Eight saves and a clean end, then four more by a process that opens what the first one closed, and just ends. */
export async function record(driver: string, base: string, seed: number): Promise<Recording> {
  const directory = join(base, FOLDER);
  mkdirSync(directory, { recursive: true });
  const lives: TracedCall[][] = [];
  for (const order of [
    // Long enough for what is done in a quiet moment.
    { from: 1, saves: 8, paceMs: 60, isLeft: false },
    { from: 9, saves: 4, paceMs: 10, isLeft: true },
  ]) {
    lives.push(
      await traced(base, async (wrapper) => {
        const options = { wrapper, env: ENV, timeoutMs: TIMEOUT_MS };
        const saving = new Saving({ driver, directory, seed, ...order }, options);
        const { stderr } = await saving.ended;
        const isWhole = saving.lines.includes('closed') && saving.failures.length === 0;
        if (!isWhole || saving.acked !== order.from + order.saves - 1)
          throw new Error(`${driver} did not save ${order.saves} versions: ${saving.failures.join('; ')} ${stderr}`);
      }),
    );
  }
  return { base, lives };
}

/** What opening, loading and closing does to what is in the folder. */
export async function recordLoad(driver: string, base: string): Promise<{ found: Found; calls: TracedCall[] }> {
  let found: Found = { kind: 'nothing' };
  const calls = await traced(base, async (wrapper) => {
    found = await loadApart(driver, join(base, FOLDER), { wrapper, env: ENV, timeoutMs: TIMEOUT_MS });
  });
  return { found, calls };
}

async function traced(base: string, run: (wrapper: string[]) => Promise<void>): Promise<TracedCall[]> {
  const log = `${base}.trace`;
  const strings = ['-xx', '-s', `${STRING_BYTES_MAX}`, '-e', `raw=${[...READS].join()}`];
  await run(['strace', '-f', '-o', log, ...strings, '-e', 'signal=none', '-e', `trace=${TRACED}`]);
  const calls = parseTrace(readFileSync(log, 'latin1'));
  rmSync(log);
  return calls;
}

/** The model's root before the first life. */
export function emptyRoot(): DirectoryNode {
  return new DirectoryNode(new Map([[FOLDER, new DirectoryNode()]]));
}
