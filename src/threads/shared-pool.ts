// A piscina pool that outlives its threads. An idle one does not keep the program alive.
//
// What a thread holds in memory it gives back only by ending: between two tasks nothing runs there, no garbage collection
// either.

import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';

// Captured at import: a program's fake timers must not freeze saving.
const { setImmediate, setTimeout, clearTimeout } = globalThis;

export class SharedPool {
  readonly #url: string;
  readonly #threadsMax: number;
  pool: Piscina;
  users = 0;
  #running = 0;
  /** Why pools were given up. What their tasks are told is only that they were ended. */
  readonly #causes = new WeakMap<Piscina, unknown>();
  #dismissal: NodeJS.Timeout | null = null;

  constructor(url: string, threadsMax: number) {
    this.#url = url;
    this.#threadsMax = threadsMax;
    this.pool = this.#start();
  }

  async run(task: unknown): Promise<unknown> {
    this.#keep();
    this.#running++;
    const { pool } = this;
    try {
      return await pool.run(task);
    } catch (error) {
      throw this.#causes.get(pool) ?? error;
    } finally {
      this.#running--;
    }
  }

  /** Lets the threads go unless `run` is called within this time. The next call starts new ones. */
  dismissAfter(idleMs: number): void {
    this.#keep();
    if (this.#running > 0) return;
    this.#dismissal = setTimeout(() => this.#replace(this.pool), idleMs);
    this.#dismissal.unref();
  }

  destroy(): Promise<void> {
    this.#keep();
    return this.pool.destroy();
  }

  #keep(): void {
    if (this.#dismissal !== null) clearTimeout(this.#dismissal);
    this.#dismissal = null;
  }

  #start(): Piscina {
    const pool = new Piscina({
      filename: fileURLToPath(this.#url),
      minThreads: 0,
      maxThreads: this.#threadsMax,
      // Longer than between two tasks of a busy program: what a thread knows lives in it.
      idleTimeout: 60_000,
      execArgv: [],
      atomics: 'disabled',
    });
    // Unheard, it would end the program. Whoever waits for a task hears of it.
    pool.on('error', (error) => {
      this.#causes.set(pool, error);
      this.#replace(pool);
    });
    // A worker that dies while it starts leaves its task in the queue, and nothing takes it out again.
    pool.on('workerDestroy', () => setImmediate(() => isStranded(pool) && this.#replace(pool)));
    return pool;
  }

  #replace(former: Piscina): void {
    if (this.pool !== former || this.users === 0) return;
    this.pool = this.#start();
    // Refuses what is queued there: it is tried again in the new pool.
    former.destroy().catch(() => undefined);
  }
}

function isStranded(pool: Piscina): boolean {
  return pool.threads.length === 0 && pool.queueSize > 0;
}
