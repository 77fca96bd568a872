import { applyOps } from '../../src/change/apply.js';
import type { Container } from '../../src/change/plain.js';
import type { Tracked } from '../../src/change/tracked.js';
import { decodePayload, encodePayload } from '../../src/journal/payload.js';

/** A replica that follows a document through encoded ops only. Each call takes over what is pending. */
export function replicate(doc: Tracked): () => Container | undefined {
  let state = structuredClone(doc.raw) as Container | undefined;
  return () => {
    const { codec, bytes } = encodePayload([doc.takeOps()], doc.mayBeOdd);
    const [ops] = decodePayload(codec, bytes) as [unknown[]];
    state = applyOps(state, ops);
    return state;
  };
}
