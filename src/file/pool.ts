// The threads that write and read files: one pool per process, made with the first call. A call under way keeps the program
// alive, an idle pool does not.

import { HoldfastError } from '../errors.js';
import { SharedPool } from '../threads/shared-pool.js';
import type { RecoveryReport } from './recover.js';
import { type FileResult, type FileTask, toError } from './task.js';
import { describeConflicts } from './transaction.js';

/** Most of the time they wait for the disk. */
export const THREADS_MAX = 4;

const POOLS = Symbol.for('holdfast.file-pools');

let workersUrl = new URL('../../workers/', import.meta.url);

/** Where the worker files are, when a bundler moved this module. For calls from now on. */
export function setWorkersUrl(url: URL): void {
  workersUrl = url.href.endsWith('/') ? url : new URL(`${url.href}/`);
}

function sharedPool(): SharedPool {
  const holder = globalThis as { [POOLS]?: Map<string, SharedPool> };
  holder[POOLS] ??= new Map();
  const url = new URL('file.cjs', workersUrl).href;
  let shared = holder[POOLS].get(url);
  if (shared === undefined) {
    shared = new SharedPool(url, THREADS_MAX);
    // For as long as the program runs.
    shared.users = 1;
    holder[POOLS].set(url, shared);
  }
  return shared;
}

export interface Done {
  bytes: Uint8Array | null;
  report: RecoveryReport;
}

export async function runInPool(task: FileTask): Promise<Done> {
  const result = await send(task);
  const { report } = result;
  if (report.conflicts.length > 0 && task.kind !== 'recover') {
    // Not the fault of this call, and not to be missed either.
    const message = `${describeConflicts(report.conflicts)} (Found while recovering from a crash.)`;
    process.emitWarning(message, { type: 'HoldfastWarning', code: 'HF_CONFLICT' });
  }
  if (result.kind === 'failed') throw toError(result.fault);
  return { bytes: result.bytes, report };
}

async function send(task: FileTask): Promise<FileResult> {
  try {
    // The bytes are copies of ours: they need not be copied again.
    return (await sharedPool().pool.run(task, { transferList: buffersOf(task) })) as FileResult;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const message = `A file thread died (${why}). Each file is old or new, and whole. Call again.`;
    throw new HoldfastError('HF_THREAD', message, { cause: error });
  }
}

function buffersOf(task: FileTask): ArrayBuffer[] {
  const all = task.kind === 'write' ? [task] : task.kind === 'write-all' ? task.files : [];
  return all.flatMap(({ data }) => ('text' in data ? [] : [data.buffer as ArrayBuffer]));
}
