// The snapshot thread, seen from the main thread: a piscina pool of one, shared by all stores of the process, made with
// the first and destroyed with the last. An idle one does not keep the program alive.

import { HoldfastError } from '../errors.js';
import type { CompactReport, CompactRequest, ProjectReport, ProjectRequest } from '../projection/requests.js';
import type { PublishLock } from './publish-lock.js';
import { SharedPool } from './shared-pool.js';
import type { SnapshotResult, SnapshotTask } from './snapshot-task.js';

const POOLS = Symbol.for('holdfast.snapshot-pools');

/**
 * A thread that holds more than this is let go when it has nothing to do for a while. All of it is on disk, and a large
 * document rests longer after each file (P2 of the projector) than its replica takes to be read again.
 */
const HELD_BYTES_MAX = 64 * 1024 * 1024;
const IDLE_MS = 1000;

function pools(): Map<string, SharedPool> {
  const holder = globalThis as { [POOLS]?: Map<string, SharedPool> };
  holder[POOLS] ??= new Map();
  return holder[POOLS];
}

export class SnapshotThread {
  readonly #key: string;
  readonly #shared: SharedPool;

  constructor(workersUrl: URL) {
    this.#key = new URL('snapshot.cjs', workersUrl).href;
    const known = pools().get(this.#key);
    this.#shared = known ?? new SharedPool(this.#key, 1);
    this.#shared.users++;
    pools().set(this.#key, this.#shared);
  }

  project(request: ProjectRequest, lock: PublishLock): Promise<ProjectReport> {
    return this.#run({ kind: 'project', request, lock: lock.memory }, lock) as Promise<ProjectReport>;
  }

  compact(request: CompactRequest, lock: PublishLock): Promise<CompactReport> {
    return this.#run({ kind: 'compact', request, lock: lock.memory }, lock) as Promise<CompactReport>;
  }

  /** Lets go of the store's replica, and of the thread if this was its last store. */
  async release(storeId: Uint8Array): Promise<void> {
    if (--this.#shared.users > 0) {
      // A thread that died meanwhile has forgotten everything.
      await this.#shared.run({ kind: 'forget', storeId } satisfies SnapshotTask).catch(() => undefined);
      return;
    }
    pools().delete(this.#key);
    await this.#shared.destroy();
  }

  /** Ends the thread as a crash would. For tests. */
  async terminate(): Promise<void> {
    await Promise.all(this.#shared.pool.threads.map((thread) => thread.terminate()));
  }

  async #run(task: SnapshotTask, lock: PublishLock): Promise<unknown> {
    try {
      const { report, heldBytes } = (await this.#shared.run(task)) as SnapshotResult;
      if (heldBytes > HELD_BYTES_MAX) this.#shared.dismissAfter(IDLE_MS);
      return report;
    } catch (error) {
      // It may have died inside. Its successor rebuilds the replica from disk.
      lock.free();
      const why = error instanceof Error ? error.message : String(error);
      throw new HoldfastError(
        'HF_THREAD',
        `The snapshot thread died (${why}). Nothing is lost; the files lag behind.`,
        {
          cause: error,
        },
      );
    }
  }
}
