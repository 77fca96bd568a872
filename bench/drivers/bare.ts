// The limit: what a step costs when nothing is kept but its bytes. No library can be faster than its disk.

import { closeSync, fdatasyncSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Driver, Session } from './contract.js';

/** Zeros, written beforehand: then a sync has no file size to write. */
const PREALLOCATED_BYTES = 64 * 2 ** 20;
/** Of a holdfast frame beside its data. */
const FRAME_BYTES = 100;

function bareDriver(id: string, name: string, isPreallocated: boolean): Driver {
  return {
    id,
    name,
    awaited: 'durable',
    writes: 'changes',
    how: `the bytes of one step, \`writeSync\`, \`fdatasyncSync\`${isPreallocated ? ', in a file that has its size already' : ''}; nothing can be read back from it`,
    async begin(directory) {
      const file = openSync(join(directory, 'tail'), 'w');
      if (isPreallocated) writeSync(file, Buffer.alloc(PREALLOCATED_BYTES));
      fsyncSync(file);
      return bareSession(file, isPreallocated);
    },
  };
}

function bareSession(file: number, isPreallocated: boolean): Session {
  let at = 0;
  const step = async (id: string, text: string) => {
    const bytes = Buffer.alloc(FRAME_BYTES + id.length + text.length, text);
    if (isPreallocated && at + bytes.length > PREALLOCATED_BYTES) at = 0;
    at += writeSync(file, bytes, 0, bytes.length, at);
    fdatasyncSync(file);
  };
  return { update: step, step, settle: async () => undefined, close: async () => closeSync(file) };
}

export const bare = bareDriver('bare', 'append + fdatasync', false);
export const barePreallocated = bareDriver('bare-preallocated', 'the same, preallocated', true);
