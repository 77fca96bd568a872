// What does one update cost the thread that makes it, and does that depend on how much state there is?
//
// One update: push an id, set a record entry, set a field; validate, collect, encode, checksum. No disk.

import { Changes } from '../../src/change/changes.js';
import { Checker } from '../../src/change/checker.js';
import { Tracked } from '../../src/change/tracked.js';
import { encodeFrame } from '../../src/journal/frame.js';
import { KIND_COMMIT } from '../../src/journal/layout.js';
import { encodePayload } from '../../src/journal/payload.js';
import { type AgentState, agentState, itemId, output, schema } from '../agent-state.js';
import type { Prepared } from '../child.js';
import { type Latency, measureCalls } from './measure.js';

const OUTPUT_BYTES = 60;
/** At most this share is added to a document in one round. */
const GROWTH_MAX = 0.2;
/** Until the compiler has settled. */
const WARM_ROUNDS = 3;

export interface UpdatesStart {
  items: number;
  hasSchema: boolean;
  iterations: number;
}

export async function prepareUpdates(start: UpdatesStart): Promise<Prepared<null, Latency>> {
  const round = async () => measureCalls(updates(start), start.iterations);
  for (let n = 0; n < WARM_ROUNDS; n++) await round();
  return { round, end: async () => undefined };
}

function updates({ items, hasSchema, iterations }: UpdatesStart): () => void {
  const share = Math.floor(items * GROWTH_MAX);
  const docs = Array.from({ length: Math.ceil(iterations / share) }, () => makeDocument(items, hasSchema));
  const added = Array.from({ length: share }, (_, n) => itemId(items + n));
  const outputs = added.map((id) => output(id, OUTPUT_BYTES));
  let n = 0;
  let prevCrc = 0;
  return () => {
    const doc = docs[Math.floor(n / share) % docs.length] as Tracked<AgentState>;
    const at = n++ % share;
    prevCrc = updateOnce(doc, added[at] as string, outputs[at] as string, n, prevCrc);
  };
}

function makeDocument(items: number, hasSchema: boolean): Tracked<AgentState> {
  const checker = hasSchema ? new Checker(schema, 'loop') : null;
  return new Tracked<AgentState>('loop', new Changes(), agentState(items, OUTPUT_BYTES), 1, checker);
}

function updateOnce(doc: Tracked<AgentState>, id: string, text: string, seq: number, prevCrc: number): number {
  const from = doc.version;
  doc.update((state) => {
    state.order.push(id);
    state.done[id] = { output: text };
    state.current = id;
  });
  const payload = encodePayload([doc.takeOps()], doc.mayBeOdd);
  const documents = [{ name: doc.name, from, version: doc.version }];
  const header = { kind: KIND_COMMIT, codec: payload.codec, seq, timeMs: 1, prevCrc, durableSeq: seq - 1, documents };
  const frame = encodeFrame(header, payload.bytes);
  return frame.readUInt32LE(frame.length - 4);
}
