// The state of a loop that works through many items, as the benchmarks use it.

import { z } from 'zod';

export const schema = z.object({
  done: z.record(z.string(), z.object({ output: z.string() })),
  order: z.array(z.string()),
  current: z.string().nullable(),
  steps: z.number(),
});

export type AgentState = z.infer<typeof schema>;

export function agentState(items: number, outputBytes: number): AgentState {
  const state: AgentState = { done: {}, order: [], current: null, steps: 0 };
  for (let n = 0; n < items; n++) {
    const id = itemId(n);
    state.done[id] = { output: output(id, outputBytes) };
    state.order.push(id);
  }
  return state;
}

/**
 * One step of the loop: an item is worked on once more, a field and a counter say so. The state stays as large as it is,
 * however often this is measured.
 */
export function finish(state: AgentState, id: string, text: string): void {
  state.done[id] = { output: text };
  state.current = id;
  state.steps++;
}

export function itemId(n: number): string {
  return `item-${String(n).padStart(7, '0')}`;
}

/** Of an item in the larger states: an id twice, some punctuation, and this much output. */
export const OUTPUT_BYTES = 180;
const ITEM_BYTES = OUTPUT_BYTES + 45;

/** How many of them make a state of this size as JSON. */
export function itemsIn(mb: number): number {
  return Math.round((mb * 1e6) / ITEM_BYTES);
}

/** Text of about this size, no two alike. */
export function output(id: string, bytes: number): string {
  const text = `Finished ${id}: compiled, tested and committed without warnings; nothing else is left to do here. `;
  // Flat, as text from a file or a socket is: building it is not what is measured.
  return Buffer.from(text.repeat(Math.ceil(bytes / text.length)).slice(0, bytes)).toString();
}
