// How often a process syncs, as the kernel is asked: counted from outside, and without slowing anything else down.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const CALLS = ['fsync', 'fdatasync', 'msync', 'sync_file_range', 'syncfs'];
const CALL = new RegExp(`\\b(?:${CALLS.join('|')})\\(`, 'g');

/** Null when it can be done here. */
export function whyNoSyncs(): string | null {
  try {
    // A filter in the kernel stops the process at these calls only: all others run as fast as ever.
    execFileSync('strace', ['-f', '--seccomp-bpf', '-e', 'trace=fsync', '-o', '/dev/null', 'true'], {
      stdio: 'ignore',
    });
    return null;
  } catch (error) {
    return `syncs were not counted, strace does not run here (${(error as Error).message.split('\n')[0]})`;
  }
}

/** In front of node. */
export function syncWrapper(log: string): string[] {
  return ['strace', '-f', '--seccomp-bpf', '-qq', '-e', 'signal=none', '-e', `trace=${CALLS.join(',')}`, '-o', log];
}

export function syncsIn(log: string): number {
  return readFileSync(log, 'utf8').match(CALL)?.length ?? 0;
}
