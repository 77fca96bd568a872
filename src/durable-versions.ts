// Which version of each document would survive a power cut: the one in the newest frame that is durable.

import type { FrameDocument } from './journal/frame.js';

/** Versions that a frame carried, until it is durable. */
interface Carried {
  seq: number;
  documents: readonly FrameDocument[];
}

export class DurableVersions {
  readonly #versions = new Map<string, number>();
  readonly #carried: Carried[] = [];

  /** As it was found when the store was opened. */
  begin(name: string, version: number): void {
    this.#versions.set(name, version);
  }

  /** A frame was encoded. In the order of their sequences. */
  carry(seq: number, documents: readonly FrameDocument[], durableSeq: number): void {
    this.#settle(durableSeq);
    this.#carried.push({ seq, documents });
  }

  /** 0 when there is none. */
  of(name: string, durableSeq: number): number {
    this.#settle(durableSeq);
    return this.#versions.get(name) ?? 0;
  }

  /** Made anew it counts from 1 again: what is known of this one must not pass for that one's. */
  forget(name: string): void {
    this.#versions.delete(name);
    for (const carried of this.#carried) carried.documents = carried.documents.filter((one) => one.name !== name);
  }

  #settle(durableSeq: number): void {
    let done = 0;
    for (const { seq, documents } of this.#carried) {
      if (seq > durableSeq) break;
      for (const { name, version } of documents) this.#versions.set(name, version);
      done++;
    }
    if (done > 0) this.#carried.splice(0, done);
  }
}
