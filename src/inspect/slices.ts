// Programs have other things to do than to wait for a long history: reading it gives them a turn again and again.

// Captured at import: a program's fake timers must not freeze it.
const { setImmediate } = globalThis;

const SLICE_MS = 10;

export class Slices {
  #endMs = performance.now() + SLICE_MS;

  get isOver(): boolean {
    return performance.now() > this.#endMs;
  }

  async next(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.#endMs = performance.now() + SLICE_MS;
  }
}
