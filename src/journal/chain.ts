// The chain of commits, where frames are encoded: each names the checksum of the one before it. Writing them down is
// somebody else's work (journal.ts), perhaps on another thread.

import { encodeFrame, type FrameDocument, frameCrc } from './frame.js';
import { KIND_COMMIT } from './layout.js';
import type { Payload } from './payload.js';

/** A place in the chain. */
export interface Link {
  seq: number;
  crc: number;
}

export interface Encoded extends Link {
  bytes: Buffer;
}

export class Chain {
  #last: Link;

  constructor(last: Link) {
    this.#last = last;
  }

  get last(): Link {
    return this.#last;
  }

  /** The next commit. `durableSeq` is what is known to be synced at this moment: a lower bound will do. */
  encode(documents: FrameDocument[], payload: Payload, durableSeq: number, timeMs: number): Encoded {
    const seq = this.#last.seq + 1;
    const prevCrc = this.#last.crc;
    const header = { kind: KIND_COMMIT, codec: payload.codec, seq, timeMs, prevCrc, durableSeq, documents };
    const bytes = encodeFrame(header, payload.bytes);
    const crc = frameCrc(bytes);
    this.#last = { seq, crc };
    return { seq, crc, bytes };
  }
}
