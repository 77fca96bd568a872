// Remembers what the killed program acknowledged, outside of it, and checks everything it says later against that.

/** What the loop cost the program, by its own measurement. */
export interface Cost {
  /** CPU of the main thread, or of the whole process where a thread has no clock. */
  clock: 'thread' | 'process';
  /** Per saved step, less what the same step costs without saving. Null: nothing was measured. */
  saveUs: number | null;
  lateP99Ms: number | null;
}

export class Oracle {
  /** Item to output, as acknowledged. */
  readonly acknowledged = new Map<number, string>();
  /** Acknowledged, and not there when the store was opened again, or with another output. */
  readonly lost = new Set<number>();
  /** Acknowledged, and begun again. */
  readonly repeated = new Set<number>();
  /** Begun again because a kill cut them short: they were never acknowledged. */
  readonly cutShort = new Set<number>();
  readonly #begun = new Set<number>();
  /** Saved, and killed before it could say so. */
  readonly #found = new Set<number>();
  #clock: Cost['clock'] = 'thread';
  #life = { cpuNs: 0, steps: 0, lateMs: [] as number[] };
  #bareNs = 0;

  get doneCount(): number {
    return new Set([...this.acknowledged.keys(), ...this.#found]).size;
  }

  get isClean(): boolean {
    return this.lost.size === 0 && this.repeated.size === 0;
  }

  /** One whole line from the program. */
  hear(line: string): void {
    const [word, ...rest] = line.split(' ');
    if (word === 'opened') this.#opened(rest[0] ?? '');
    else if (word === 'run') this.#run(Number(rest[0]));
    else if (word === 'saved') this.acknowledged.set(Number(rest[0]), rest[1] ?? '');
    else if (word === 'meter') this.#meter(rest);
    else if (word === 'bare') this.#bareNs = Number(rest[0]);
  }

  /** The end: what is on disk now. */
  checkOutputs(outputOf: (item: number) => string | undefined): void {
    for (const [item, output] of this.acknowledged) if (outputOf(item) !== output) this.lost.add(item);
  }

  cost(): Cost {
    const { cpuNs, steps, lateMs } = this.#life;
    const late = lateMs.toSorted((a, b) => a - b);
    return {
      clock: this.#clock,
      saveUs: steps === 0 ? null : Math.max(0, cpuNs / steps - this.#bareNs) / 1000,
      lateP99Ms: late[Math.floor(late.length * 0.99)] ?? null,
    };
  }

  #opened(list: string): void {
    const found = new Set(list === '' ? [] : list.split(',').map(Number));
    for (const item of this.acknowledged.keys()) if (!found.has(item)) this.lost.add(item);
    for (const item of found) this.#found.add(item);
    // The cost of the last life counts: the others are too short for anything but warming up.
    this.#life = { cpuNs: 0, steps: 0, lateMs: [] };
  }

  #run(item: number): void {
    if (item === 0) return;
    if (this.acknowledged.has(item)) this.repeated.add(item);
    else if (this.#begun.has(item)) this.cutShort.add(item);
    this.#begun.add(item);
  }

  #meter([clock, cpuNs, steps, late]: string[]): void {
    this.#clock = clock === 'process' ? 'process' : 'thread';
    this.#life.cpuNs += Number(cpuNs);
    this.#life.steps += Number(steps);
    if (late) this.#life.lateMs.push(...late.split(',').map(Number));
  }
}
