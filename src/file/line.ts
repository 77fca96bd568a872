// From a call to a thread: in line with all others for the same file.

import { keyOf } from './keys.js';
import { type Done, runInPool, THREADS_MAX } from './pool.js';
import { type Job, KeyedQueue } from './queue.js';
import type { FileTask } from './task.js';

interface Line {
  queue: KeyedQueue<FileTask, Done>;
  /** Settles when the call before has its place. */
  last: Promise<unknown>;
}

const LINE = Symbol.for('holdfast.file-line');

/** One per process, also when the package is there twice. */
function line(): Line {
  const holder = globalThis as { [LINE]?: Line };
  holder[LINE] ??= { queue: new KeyedQueue(THREADS_MAX), last: Promise.resolve() };
  return holder[LINE];
}

/** `keys`: of what else must not be under way at the same time. */
export async function enqueue(
  task: FileTask,
  paths: readonly string[],
  keys: (realPaths: string[]) => string[] = (same) => same,
  merge?: Job<FileTask, Done>['merge'],
): Promise<Done> {
  const shared = line();
  // Looked up side by side, placed in the order of the calls.
  const placed = Promise.all([Promise.all(paths.map(keyOf)), shared.last]).then(([found]) => {
    const job: Job<FileTask, Done> = { keys: [...new Set(keys(found))], payload: task, run: runInPool };
    // In an object: the next call waits for the place, not for the file.
    return { done: shared.queue.add(merge === undefined ? job : { ...job, merge }) };
  });
  shared.last = placed.catch(() => undefined);
  return (await placed).done;
}
