// What callers are told when a file could not be written: what, where, in which state it is now, what to do next.

import { codeOf, isDiskFull } from '../disk/faults.js';
import { HoldfastError } from '../errors.js';

export const AS_IT_WAS = 'What was there is as it was.';

export function fileFault(error: unknown, what: string, path: string, state = AS_IT_WAS): Error {
  if (error instanceof HoldfastError) return error;
  // Not the disk's doing: a mistake in this library must not pass for a fault of the machine.
  if (codeOf(error) === undefined) return error as Error;
  const isFull = isDiskFull(error);
  const next = isFull ? 'Free some space, then try again.' : 'Mend the cause, then try again.';
  const reason = error instanceof Error ? error.message : String(error);
  const code = isFull ? 'HF_DISK_FULL' : 'HF_IO';
  return new HoldfastError(code, `${what} ${path} failed: ${reason}. ${state} ${next}`, { cause: error });
}
