// Subjects that hold no state of ours but what was done, in order: version n is the first n steps.

import { type LabState, stateOf } from '../state.js';

/** Steps that are missing, out of order or done twice come to no version. */
export function stateOfSteps(done: readonly string[], name: (step: number) => string): LabState | null {
  if (done.length === 0) return null;
  const wrongAt = done.findIndex((one, at) => one !== name(at + 1));
  if (wrongAt === -1) return stateOf(done.length);
  return { n: done.length, title: `step ${wrongAt + 1} is ${done[wrongAt]}`, items: [] };
}
