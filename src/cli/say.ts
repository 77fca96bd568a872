// Lines for another process that must not be lost when this one is killed: what was said is in the pipe before anything
// else happens.

import { writeSync } from 'node:fs';

const bed = new Int32Array(new SharedArrayBuffer(4));
const FULL_PIPE_MS = 1;

export function say(line: string): void {
  const bytes = Buffer.from(`${line}\n`);
  for (let at = 0; at < bytes.length; ) at += writeSome(bytes, at);
}

/** A pipe whose reader is slow says EAGAIN as soon as anything in this process has made it non-blocking. */
function writeSome(bytes: Buffer, at: number): number {
  try {
    return writeSync(1, bytes, at);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    Atomics.wait(bed, 0, 0, FULL_PIPE_MS);
    return 0;
  }
}
