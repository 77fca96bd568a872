// How the journal thread is told that there is work, and how it rests until then.

const BELL = 0;
const REST = 1;

/** What the thread does between rounds, as the bell knows it. */
const AWAKE = 0;
const NAPPING = 1;
const ASLEEP = 2;

/** Work that nobody waits for is found this late at most while the thread naps. */
const NAP_MS = 0.5;

/** The bell of one thread: two words of shared memory. */
export class Bell {
  readonly #words: Int32Array;

  constructor(readonly memory: SharedArrayBuffer = new SharedArrayBuffer(8)) {
    this.#words = new Int32Array(memory);
  }

  /** There is work. A nap goes on: waking the thread costs this one more than a whole update does. */
  ring(): void {
    Atomics.add(this.#words, BELL, 1);
    if (Atomics.load(this.#words, REST) === ASLEEP) this.#wake();
  }

  /** Somebody waits. */
  ringNow(): void {
    Atomics.add(this.#words, BELL, 1);
    this.#wake();
  }

  /** The thread says how it rests before it does, and rests only if the count is unchanged: it is woken once, or not at all. */
  #wake(): void {
    if (Atomics.exchange(this.#words, REST, AWAKE) !== AWAKE) Atomics.notify(this.#words, BELL);
  }

  get count(): number {
    return Atomics.load(this.#words, BELL);
  }

  /** Until `ringNow` since `count`, or the nap is over. */
  nap(count: number, timeoutMs: number): void {
    this.#rest(NAPPING, count, Math.min(timeoutMs, NAP_MS));
  }

  /** Until the bell has rung since `count`. */
  sleep(count: number, timeoutMs: number): void {
    this.#rest(ASLEEP, count, timeoutMs);
  }

  #rest(how: number, count: number, timeoutMs: number): void {
    Atomics.store(this.#words, REST, how);
    Atomics.wait(this.#words, BELL, count, timeoutMs);
    Atomics.store(this.#words, REST, AWAKE);
  }
}
