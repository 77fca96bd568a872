// What can happen in a mission. The history is a list of these and the only truth: everything else is folded from it.

import { z } from 'zod';

const base = { at: z.number() };
const feature = { ...base, id: z.string(), worker: z.string().optional() };
const step = { ...feature, step: z.string() };

/** The steps that `done` counts. Not said by what was recorded before it was asked. */
const counting = { ...base, lifecycle: z.array(z.string()).optional() };

/** Where a feature stands: how many steps of the lifecycle are done. */
const standing = z.object({ id: z.string(), done: z.number(), payload: z.unknown().optional() });

export const eventSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('added'), ...feature, payload: z.unknown().optional() }),
  z.object({ type: z.literal('started'), ...step }),
  z.object({ type: z.literal('completed'), ...step, result: z.unknown().optional() }),
  z.object({ type: z.literal('failed'), ...step, reason: z.string() }),
  z.object({
    type: z.literal('validated'),
    ...feature,
    ok: z.boolean(),
    validator: z.string(),
    sessionId: z.string().optional(),
    evidence: z.unknown().optional(),
  }),
  z.object({
    type: z.literal('milestone'),
    ...base,
    name: z.string(),
    features: z.array(z.string()),
    worker: z.string().optional(),
  }),
  z.object({ type: z.literal('artifact'), ...base, name: z.string(), worker: z.string().optional() }),
  z.object({ type: z.literal('noted'), ...base, data: z.unknown() }),
  /** Taken over from files that were the truth before there was a history. */
  z.object({
    type: z.literal('imported'),
    ...counting,
    features: z.array(standing),
    validation: z.array(
      z.object({ id: z.string(), ok: z.boolean(), validator: z.string(), evidence: z.unknown().optional() }),
    ),
  }),
  /** History was lost; this is what could be shown to be done. */
  z.object({ type: z.literal('rebuilt'), ...counting, features: z.array(standing), reason: z.string() }),
  /** Somebody says otherwise. Nothing is scheduled until each of these is repaired. */
  z.object({
    type: z.literal('disputed'),
    ...base,
    id: z.string(),
    source: z.enum(['summary', 'handoff']),
    says: z.string(),
    history: z.string(),
  }),
  z.object({
    type: z.literal('repaired'),
    ...feature,
    ...counting,
    done: z.number(),
    reason: z.string(),
    /** What was said of it is settled, and there is no such feature. */
    isDropped: z.literal(true).optional(),
  }),
]);

export type MissionEvent = z.output<typeof eventSchema>;
export type EventOf<T extends MissionEvent['type']> = Extract<MissionEvent, { type: T }>;
/** Before it has happened. */
export type NewEvent = MissionEvent extends infer E ? (E extends MissionEvent ? Omit<E, 'at'> : never) : never;

export function dated(event: NewEvent, at: number): MissionEvent {
  return Object.fromEntries(
    Object.entries({ ...event, at }).filter(([, value]) => value !== undefined),
  ) as MissionEvent;
}

/** The features that it speaks of. */
export function idsOf(event: MissionEvent): string[] {
  if (event.type === 'imported' || event.type === 'rebuilt') return event.features.map(({ id }) => id);
  return 'id' in event ? [event.id] : [];
}
