// What is known about one call: its step, where it came from, and the errors it may end with.

import { fileURLToPath } from 'node:url';
import type { PublicDisk } from '../../src/disk/disk.js';

/** A call as recorded, and as hooks see it before it is carried out. */
export interface Call {
  /** How many mutating and syncing calls there were, with this one. */
  step: number;
  name: keyof PublicDisk;
  /** For a handle, the path it was opened by. */
  path: string;
  /** Of a sync, the nearest functions in src/: 'publish<createTail<beginTail'. Empty when not captured. */
  site: string;
  /** Of a rename, its target. */
  to?: string;
  /** Of a read or write, what was asked for. */
  position?: number;
  length?: number;
}

/** The machine died. Deliberately nothing the library knows how to handle. */
export class Stopped extends Error {
  override name = 'Stopped';
  constructor(step: number) {
    super(`The machine stopped at step ${step}`);
  }
}

const MESSAGES: Record<string, string> = {
  EBADF: 'bad file descriptor',
  EBUSY: 'resource busy or locked',
  EEXIST: 'file already exists',
  EINVAL: 'invalid argument',
  EIO: 'i/o error',
  EISDIR: 'illegal operation on a directory',
  ENOENT: 'no such file or directory',
  ENOSPC: 'no space left on device',
  ENOTDIR: 'not a directory',
  ENOTEMPTY: 'directory not empty',
  EPERM: 'operation not permitted',
};

export interface DiskError extends Error {
  code: string;
  syscall: string;
  path?: string;
  dest?: string;
}

/** An error as Node makes it; like Node's, it has no path when the call was made on a handle. */
export function diskError(code: string, syscall: string, path?: string, dest?: string): DiskError {
  const places = path === undefined ? '' : dest === undefined ? ` '${path}'` : ` '${path}' -> '${dest}'`;
  const error = new Error(`${code}: ${MESSAGES[code] ?? 'failed'}, ${syscall}${places}`);
  return Object.assign(error, { code, syscall }, path !== undefined && { path }, dest !== undefined && { dest });
}

/** The system call a failed call names in its error. */
export const SYSCALLS: Record<keyof PublicDisk, string> = {
  open: 'open',
  close: 'close',
  read: 'read',
  write: 'write',
  size: 'fstat',
  truncate: 'ftruncate',
  syncData: 'fdatasync',
  sync: 'fsync',
  syncDirectory: 'fsync',
  rename: 'rename',
  link: 'link',
  unlink: 'unlink',
  makeDirectory: 'mkdir',
  list: 'scandir',
  entry: 'lstat',
  realPath: 'lstat',
  setMode: 'fchmod',
};

const BY_HANDLE: ReadonlySet<keyof PublicDisk> = new Set([
  'close',
  'read',
  'write',
  'size',
  'truncate',
  'syncData',
  'sync',
  'setMode',
]);

/** The error with which `call` would fail: `inject: (call) => call.name === 'sync' ? faultOf('EIO', call) : undefined`. */
export function faultOf(code: string, call: Call): DiskError {
  // A directory is synced by a handle too: Node's error for it has no path.
  const byHandle = BY_HANDLE.has(call.name) || call.name === 'syncDirectory';
  return byHandle ? diskError(code, SYSCALLS[call.name]) : diskError(code, SYSCALLS[call.name], call.path, call.to);
}

// By the root of this project, not by '/src/' alone: a checkout may lie in /usr/src.
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SOURCES = [`${ROOT}src/`, `${ROOT}dist/src/`];
const FRAMES_MAX = 60;

/** The names of the nearest `depth` named functions in src/ on the stack, innermost first. */
export function siteOf(depth: number): string {
  const names: string[] = [];
  for (const frame of framesHere()) {
    const name = nameInSources(frame);
    if (name !== undefined) names.push(name);
    if (names.length === depth) break;
  }
  return names.join('<');
}

function nameInSources(frame: NodeJS.CallSite): string | undefined {
  const file = frame.getFileName()?.replace(/^file:\/\//, '');
  if (file === undefined || !SOURCES.some((folder) => file.startsWith(folder))) return undefined;
  return frame.getFunctionName() ?? undefined;
}

function framesHere(): NodeJS.CallSite[] {
  const { prepareStackTrace, stackTraceLimit } = Error;
  try {
    Error.stackTraceLimit = FRAMES_MAX;
    Error.prepareStackTrace = (_error, frames) => frames;
    return new Error().stack as unknown as NodeJS.CallSite[];
  } finally {
    Error.prepareStackTrace = prepareStackTrace;
    Error.stackTraceLimit = stackTraceLimit;
  }
}
