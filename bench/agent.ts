// A loop that works: in a measured process, one step after the other on a subject that keeps its state.

import { agentState, itemId, output } from './agent-state.js';
import type { Session } from './drivers/contract.js';
import { driverOf } from './drivers/index.js';

export interface AgentStart {
  driver: string;
  directory: string;
  items: number;
  /** Of each item's output. @default 60 */
  outputBytes?: number;
  /** It works on one item all the time. @default one after the other */
  isHot?: boolean;
  /** The directory has a state of so many items already. @default false */
  isResumed?: boolean;
}

/** Made beforehand: building texts is not what is measured. */
const TEXTS = 1021;

export class Agent {
  readonly session: Session;
  readonly #ids: readonly string[];
  readonly #texts: readonly string[];
  #n = 0;

  private constructor(session: Session, ids: readonly string[], texts: readonly string[]) {
    this.session = session;
    this.#ids = ids;
    this.#texts = texts;
  }

  static async begin({
    driver,
    directory,
    items,
    outputBytes = 60,
    isHot = false,
    isResumed = false,
  }: AgentStart): Promise<Agent> {
    const initial = agentState(isResumed ? 0 : items, outputBytes);
    const ids = Array.from({ length: isHot ? 1 : items }, (_, n) => itemId(n));
    const session = await driverOf(driver).begin(directory, initial);
    const texts = Array.from({ length: TEXTS }, (_, n) => output(`text-${n}`, outputBytes));
    return new Agent(session, ids, texts);
  }

  update(): undefined | Promise<void> {
    const n = this.#n++;
    return this.session.update(this.#ids[n % this.#ids.length] as string, this.#texts[n % TEXTS] as string);
  }

  step(): Promise<void> {
    const n = this.#n++;
    return this.session.step(this.#ids[n % this.#ids.length] as string, this.#texts[n % TEXTS] as string);
  }

  /** Nothing of what it did is still going on. */
  async rest(): Promise<void> {
    await this.session.settle();
    await this.session.rest?.();
  }
}
