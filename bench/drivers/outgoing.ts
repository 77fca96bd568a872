// Writes that nobody waits for, so many and no more: a queue without a bound measures the size of memory.

/** As many as are under way at once. */
const OUTGOING_MAX = 1000;

export class Outgoing {
  #count = 0;
  #failure: unknown = null;
  #wakers: (() => void)[] = [];

  /** Returns a promise when whoever adds more has to wait. */
  add(write: Promise<unknown>): undefined | Promise<void> {
    this.#count++;
    write.then(
      () => this.#end(),
      (error: unknown) => {
        this.#failure ??= error;
        this.#end();
      },
    );
    return this.#count < OUTGOING_MAX ? undefined : this.#until(OUTGOING_MAX / 2);
  }

  /** Rejects when one of them failed. */
  all(): Promise<void> {
    return this.#until(0);
  }

  async #until(count: number): Promise<void> {
    while (this.#count > count) await new Promise<void>((resolve) => this.#wakers.push(resolve));
    if (this.#failure !== null) throw this.#failure;
  }

  #end(): void {
    this.#count--;
    for (const wake of this.#wakers.splice(0)) wake();
  }
}
