// Names for what a disk can say no with.

import { type ErrorCode, HoldfastError } from '../errors.js';

export function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : undefined;
}

export function isCode(error: unknown, ...codes: string[]): boolean {
  const code = codeOf(error);
  return code !== undefined && codes.includes(code);
}

/** A call on an open file fails without a word about which one: whoever reads the error has to know. */
export function withPath(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || !('syscall' in error) || 'path' in error) return error;
  error.message += ` '${path}'`;
  return Object.assign(error, { path });
}

/** What file systems without hard links answer to `link`. */
export function hasNoLinks(error: unknown): boolean {
  return isCode(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV');
}

const FULL = ['ENOSPC', 'EDQUOT', 'EFBIG'];

export function isDiskFull(error: unknown): boolean {
  return isCode(error, ...FULL);
}

/** A failed write or sync, as callers see it. Nothing is dropped by it: the frames stay pending. */
export function writeFault(error: unknown, what: string, path: string): HoldfastError {
  if (error instanceof HoldfastError) return error;
  // Not the disk's doing: a mistake in this library must not pass for a fault of the machine.
  if (codeOf(error) === undefined) throw error;
  const isFull = isDiskFull(error);
  const code: ErrorCode = isFull ? 'HF_DISK_FULL' : 'HF_IO';
  const next = isFull ? 'Free some space, then save again' : 'Mend the cause, then save again';
  const reason = error instanceof Error ? error.message : String(error);
  return new HoldfastError(code, `${what} ${path} failed: ${reason}. Nothing is dropped. ${next}.`, { cause: error });
}
