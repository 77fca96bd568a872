// Calls for one file in the order they were made; calls for different files side by side.
//
// Q1. A call holds the place it got when it was made, in the line of each of its keys, and starts when it is first in all.
// Q2. Only the last in line can be replaced by a newer one, and only before it has started.

export interface Job<Payload, Result> {
  keys: readonly string[];
  payload: Payload;
  /** The payload of this and a newer job as one; null when both must be done. */
  merge?: (newer: Payload) => Payload | null;
  run(payload: Payload): Promise<Result>;
}

interface Entry<Payload, Result> {
  job: Job<Payload, Result>;
  blockedBy: number;
  phase: 'waiting' | 'running';
  promise: Promise<Result>;
  settle(outcome: Promise<Result>): void;
}

export class KeyedQueue<Payload, Result> {
  readonly #lines = new Map<string, Entry<Payload, Result>[]>();
  readonly #ready: Entry<Payload, Result>[] = [];
  readonly #runningMax: number;
  #running = 0;

  constructor(runningMax: number) {
    this.#runningMax = runningMax;
  }

  add(job: Job<Payload, Result>): Promise<Result> {
    const merged = this.#merge(job);
    if (merged !== null) return merged;
    let settle: Entry<Payload, Result>['settle'] = () => undefined;
    const promise = new Promise<Result>((resolve) => {
      settle = resolve;
    });
    const entry: Entry<Payload, Result> = { job, blockedBy: 0, phase: 'waiting', promise, settle };
    for (const key of job.keys) {
      const line = this.#lines.get(key);
      if (line === undefined) this.#lines.set(key, [entry]);
      else {
        line.push(entry);
        entry.blockedBy++;
      }
    }
    if (entry.blockedBy === 0) this.#ready.push(entry);
    this.#pump();
    return promise;
  }

  #merge({ keys, payload }: Job<Payload, Result>): Promise<Result> | null {
    const [key] = keys;
    if (key === undefined || keys.length > 1) return null;
    const last = this.#lines.get(key)?.at(-1);
    if (last === undefined || last.phase === 'running') return null;
    const merged = last.job.merge?.(payload) ?? null;
    if (merged === null) return null;
    last.job = { ...last.job, payload: merged };
    return last.promise;
  }

  #pump(): void {
    while (this.#running < this.#runningMax) {
      const entry = this.#ready.shift();
      if (entry === undefined) return;
      entry.phase = 'running';
      this.#running++;
      const { run, payload } = entry.job;
      const outcome = run(payload);
      entry.settle(outcome);
      const done = () => this.#done(entry);
      outcome.then(done, done);
    }
  }

  #done(entry: Entry<Payload, Result>): void {
    this.#running--;
    for (const key of entry.job.keys) {
      const line = this.#lines.get(key);
      line?.shift();
      const next = line?.[0];
      if (next === undefined) this.#lines.delete(key);
      else if (--next.blockedBy === 0) this.#ready.push(next);
    }
    this.#pump();
  }
}
