// What workers and validators say they did, held against the history.

import { z } from 'zod';
import { assertOptions } from '../misuse.js';
import { type Disagreement, describe, describeCheck, type MissionState } from './state.js';

export interface Handoff {
  id: string;
  /** Of a worker: the step. @default the last one */
  step?: string;
  /** Of a validator. */
  validator?: string;
  /** It was finished; of a validator: it passed. */
  ok: boolean;
}

const Handoffs = z.array(
  z.looseObject({
    id: z.string(),
    step: z.string().optional(),
    validator: z.string().optional(),
    // Read from somebody's file it may be 'false', which passes for true.
    ok: z.boolean(),
  }),
);

const OPTIONS = {
  resume: z.strictObject({ handoffs: Handoffs.optional() }),
  // A reason is for the history, and what it must be is decided there.
  rebuild: z.strictObject({ handoffs: Handoffs, reason: z.unknown().optional() }),
};

/** They come from files of workers. One that cannot be read must not pass for one that says nothing. */
export function assertHandoffs(options: unknown, what: 'resume' | 'rebuild'): void {
  assertOptions(OPTIONS[what], options, what);
}

export function handoffDisagreements(handoffs: readonly Handoff[], state: MissionState): Disagreement[] {
  return handoffs.flatMap((handoff) => {
    const says = saysOf(handoff, state.lifecycle);
    const history = contradiction(handoff, state);
    return history === null ? [] : [{ id: handoff.id, source: 'handoff' as const, says, history }];
  });
}

/** What history says, when that is something else. */
function contradiction(handoff: Handoff, state: MissionState): string | null {
  const { id, validator, ok } = handoff;
  const feature = state.features.get(id);
  if (feature === undefined) return 'unknown';
  if (validator !== undefined) {
    const known = state.validation.get(id);
    if (known === undefined) return 'not validated';
    // A later validator may have found otherwise: only its own word is held against it.
    if (known.validator !== validator || known.ok === ok) return null;
    return describeCheck(known.ok);
  }
  const isDone = feature.done.length >= stepNumber(handoff, state.lifecycle);
  return isDone === ok ? null : state.standingOf(id);
}

/** Steps that handoffs show to be done, per feature. */
export function handoffStandings(handoffs: readonly Handoff[], lifecycle: readonly string[]): Map<string, number> {
  const found = new Map<string, number>();
  for (const handoff of handoffs) {
    if (handoff.validator !== undefined || !handoff.ok) continue;
    const done = stepNumber(handoff, lifecycle);
    found.set(handoff.id, Math.max(found.get(handoff.id) ?? 0, done));
  }
  return found;
}

function stepNumber({ id, step }: Handoff, lifecycle: readonly string[]): number {
  if (step === undefined) return lifecycle.length;
  const at = lifecycle.indexOf(step);
  if (at === -1)
    throw new TypeError(`Expected the handoff of '${id}' to name one of ${lifecycle.join(', ')}, got ${step}`);
  return at + 1;
}

function saysOf(handoff: Handoff, lifecycle: readonly string[]): string {
  const { validator, ok } = handoff;
  if (validator !== undefined) return describeCheck(ok);
  const done = stepNumber(handoff, lifecycle);
  return ok ? describe(done, lifecycle) : `${lifecycle[done - 1]} not done`;
}
