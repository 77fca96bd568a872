// Where a store stands: open, saving with trouble, taken over by another process, on its way out; and what was last heard of
// its disk. One state, not many flags.

import { HoldfastError } from './errors.js';
import type { Events } from './events.js';
import type { Health } from './health.js';

export class Standing {
  readonly #directory: string;
  readonly #events: Events;
  #phase: Health['phase'] = 'open';
  /** Where a close that fails goes back to. */
  #phaseBefore: Health['phase'] = 'open';
  #lastFault: HoldfastError | null = null;

  constructor(directory: string, events: Events) {
    this.#directory = directory;
    this.#events = events;
  }

  get phase(): Health['phase'] {
    return this.#phase;
  }

  get lastFault(): HoldfastError | null {
    return this.#lastFault;
  }

  assertOpen(): void {
    if (this.#phase === 'closed' || this.#phase === 'closing') throw this.closedError();
  }

  /** Another process that took the store over writes it now. */
  assertOwned(): void {
    if (this.#phase === 'fenced') throw this.#lastFault as HoldfastError;
  }

  closedError(): HoldfastError {
    return new HoldfastError('HF_CLOSED', `The store ${this.#directory} is closed. Open it again.`);
  }

  noteFault(error: HoldfastError): void {
    // Whatever else fails after that follows from it.
    if (this.#phase !== 'fenced') this.#lastFault = error;
    // One that is closed stays that, whatever the last look at its files finds.
    if (error.code === 'HF_FENCED' && this.#phase !== 'closed') this.#phase = 'fenced';
    this.#events.emit('fault', error);
  }

  setDegraded(isDegraded: boolean): void {
    const [from, to] = isDegraded ? (['open', 'degraded'] as const) : (['degraded', 'open'] as const);
    if (this.#phase === from) this.#phase = to;
    else if (this.#phase === 'closing' && this.#phaseBefore === from) this.#phaseBefore = to;
    else return;
    this.#events.emit('degraded', { isDegraded });
  }

  /** Nothing is accepted while `end` runs. When it fails the store is what it was before, unless it was lost meanwhile. */
  async closeAfter(end: () => Promise<void>): Promise<void> {
    this.#phaseBefore = this.#phase;
    this.#phase = 'closing';
    try {
      await end();
    } catch (error) {
      if (this.phase === 'closing') this.#phase = this.#phaseBefore;
      throw error;
    }
    this.#phase = 'closed';
  }

  /** Whether everything was saved or not. */
  noteClosed(): void {
    this.#phase = 'closed';
  }
}
