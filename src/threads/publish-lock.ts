// Only one thread at a time gives files their names: the snapshot thread, or at exit the main thread, which takes the
// lock and never gives it back. A slow rename of an older version can then not come after that of a newer one.

const FREE = 0;
const TAKEN = 1;

export class PublishLock {
  readonly #word: Int32Array;
  #isOursForGood = false;

  constructor(readonly memory: SharedArrayBuffer = new SharedArrayBuffer(4)) {
    this.#word = new Int32Array(memory);
  }

  /** For the snapshot thread: waits as long as it takes. */
  run<R>(fn: () => R): R {
    while (Atomics.compareExchange(this.#word, 0, FREE, TAKEN) !== FREE) Atomics.wait(this.#word, 0, TAKEN);
    try {
      return fn();
    } finally {
      this.free();
    }
  }

  /** For the main thread at exit. False when the other side did not let go in time. */
  takeForGood(timeoutMs: number): boolean {
    if (this.#isOursForGood) return true;
    const deadline = performance.now() + timeoutMs;
    while (Atomics.compareExchange(this.#word, 0, FREE, TAKEN) !== FREE) {
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) return false;
      Atomics.wait(this.#word, 0, TAKEN, leftMs);
    }
    this.#isOursForGood = true;
    return true;
  }

  get isOursForGood(): boolean {
    return this.#isOursForGood;
  }

  /** For the main thread when the end did not come. */
  giveBack(): void {
    this.#isOursForGood = false;
    this.free();
  }

  /** Also for the main thread when the thread that held it has died. */
  free(): void {
    Atomics.store(this.#word, 0, FREE);
    Atomics.notify(this.#word, 0);
  }
}
