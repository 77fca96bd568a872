// A mission as its history gives it. `fold` is all there is: no other code changes a state.
//
// M1. Forward only: a step that is done stays done. The one way back is an event that says so and why.
// M2. What fails is the step that was being done. Those before it are not touched: a failed finalization or validation
//     never reopens implementation work.

import { type EventOf, idsOf, type MissionEvent } from './events.js';
import { transitionError } from './refusals.js';

export interface Feature {
  id: string;
  /** 'completed': every step of the lifecycle is done. */
  status: 'pending' | 'active' | 'completed';
  /** The step to do or being done; null when all are done. */
  step: string | null;
  /** Steps that are done, in order. */
  done: string[];
  /** How often the present step was started. */
  attempts: number;
  worker: string | null;
  /** Of the last attempt at the present step. */
  failure: { reason: string; at: number } | null;
  result: unknown;
  payload: unknown;
}

export interface Validation {
  id: string;
  ok: boolean;
  validator: string;
  sessionId: string | null;
  evidence: unknown;
  at: number;
}

export interface Milestone {
  name: string;
  features: string[];
  at: number;
}

export interface Disagreement {
  id: string;
  source: 'summary' | 'handoff';
  /** What it says of the feature, and what history does. */
  says: string;
  history: string;
}

interface Counting {
  type: string;
  lifecycle?: readonly string[] | undefined;
  features: readonly { id: string; done: number }[];
}

export class MissionState {
  readonly features = new Map<string, Feature>();
  readonly validation = new Map<string, Validation>();
  readonly milestones = new Map<string, Milestone>();
  readonly disputes = new Map<string, Disagreement[]>();
  /** Handoffs that said otherwise and were repaired, until more happens to the feature: they may be shown again. */
  readonly #settled = new Map<string, Disagreement[]>();
  /** Events folded so far. */
  events = 0;

  constructor(readonly lifecycle: readonly string[]) {}

  fold(event: MissionEvent): void {
    this.events++;
    switch (event.type) {
      case 'added':
        this.#place(event.id, 0, event.payload);
        return;
      case 'started':
        this.#start(event);
        return;
      case 'completed':
        this.#complete(event);
        return;
      case 'failed':
        this.#fail(event);
        return;
      case 'validated':
        this.#settled.delete(event.id);
        this.#validate(event, event.sessionId ?? null);
        return;
      case 'milestone':
        this.milestones.set(event.name, { name: event.name, features: [...event.features], at: event.at });
        return;
      case 'imported':
        this.#assertSteps(event);
        for (const { id, done, payload } of event.features) this.#place(id, done, payload);
        for (const one of event.validation) this.#validate({ ...one, at: event.at }, null);
        return;
      case 'rebuilt':
        this.#assertSteps(event);
        for (const { id, done, payload } of event.features) this.#place(id, done, payload);
        return;
      case 'disputed':
        this.#dispute(event);
        return;
      case 'repaired':
        this.#repair(event);
        return;
      case 'artifact':
      case 'noted':
        return;
      default:
        event satisfies never;
    }
  }

  /** The state after these events, for the summaries; shares what does not change. */
  ahead(events: readonly MissionEvent[]): MissionState {
    const ahead = new MissionState(this.lifecycle);
    ahead.events = this.events;
    for (const id of events.flatMap(idsOf)) {
      const feature = this.features.get(id);
      if (feature !== undefined) ahead.features.set(id, structuredClone(feature));
      const validation = this.validation.get(id);
      if (validation !== undefined) ahead.validation.set(id, validation);
    }
    for (const event of events) ahead.fold(event);
    return ahead;
  }

  /** It is neither in dispute nor was it settled. */
  isNews({ id, source, says }: Disagreement): boolean {
    const known = [...(this.disputes.get(id) ?? []), ...(this.#settled.get(id) ?? [])];
    return !known.some((one) => one.source === source && one.says === says);
  }

  /** In words, for people and for comparing. */
  standingOf(id: string): string {
    const feature = this.features.get(id);
    if (feature === undefined) return 'unknown';
    return describe(feature.done.length, this.lifecycle);
  }

  #place(id: string, done: number, payload: unknown): void {
    const count = Math.min(done, this.lifecycle.length);
    const step = this.lifecycle[count] ?? null;
    this.features.set(id, {
      id,
      status: step === null ? 'completed' : 'pending',
      step,
      done: this.lifecycle.slice(0, count),
      attempts: 0,
      worker: null,
      failure: null,
      result: null,
      payload: payload ?? null,
    });
  }

  #repair(event: EventOf<'repaired'>): void {
    const { id, done, isDropped } = event;
    const handoffs = (this.disputes.get(id) ?? []).filter(({ source }) => source === 'handoff');
    this.#settled.set(id, [...(this.#settled.get(id) ?? []), ...handoffs]);
    this.disputes.delete(id);
    if (isDropped) return;
    this.#assertSteps({ ...event, features: [event] });
    this.#place(id, done, this.features.get(id)?.payload);
  }

  /** These count steps. Counted in another lifecycle, work that is done would be done again. */
  #assertSteps({ type, lifecycle, features }: Counting): void {
    const wrong = features.find(
      ({ done }) => lifecycle?.slice(0, done).join('\n') !== this.lifecycle.slice(0, done).join('\n'),
    );
    if (lifecycle === undefined || wrong === undefined) return;
    throw transitionError(
      `The history says that '${wrong.id}' was ${type} with the steps ${lifecycle.join(', ')}, of which ${wrong.done} are done, and this lifecycle has ${this.lifecycle.join(', ')}. Nothing was touched. Open the mission with the lifecycle it was made with; new steps go at its end.`,
    );
  }

  #start({ id, worker }: EventOf<'started'>): void {
    const feature = this.#known(id);
    this.#settled.delete(id);
    feature.status = 'active';
    feature.attempts++;
    feature.worker = worker ?? null;
  }

  #complete({ id, step, result }: EventOf<'completed'>): void {
    const feature = this.#known(id);
    const expected = this.lifecycle[feature.done.length];
    // Counted as another step, work that is done would be done again.
    if (step !== expected)
      throw transitionError(
        `The history says that '${step}' of '${id}' was done where this lifecycle (${this.lifecycle.join(', ')}) has ${expected === undefined ? 'nothing more' : `'${expected}'`}. Nothing was touched. Open the mission with the lifecycle it was made with; new steps go at its end.`,
      );
    feature.done.push(step);
    feature.step = this.lifecycle[feature.done.length] ?? null;
    feature.status = feature.step === null ? 'completed' : 'pending';
    feature.attempts = 0;
    feature.failure = null;
    feature.result = result ?? null;
  }

  #fail({ id, reason, at }: EventOf<'failed'>): void {
    const feature = this.#known(id);
    feature.status = 'pending';
    feature.failure = { reason, at };
  }

  #validate({ id, ok, validator, evidence, at }: Omit<EventOf<'validated'>, 'type'>, sessionId: string | null): void {
    this.validation.set(id, { id, ok, validator, sessionId, evidence: evidence ?? null, at });
  }

  #dispute({ id, source, says, history }: EventOf<'disputed'>): void {
    const list = this.disputes.get(id) ?? [];
    list.push({ id, source, says, history });
    this.disputes.set(id, list);
  }

  /** The history was checked before it was written: an event for a feature that never was is damage. */
  #known(id: string): Feature {
    const feature = this.features.get(id);
    if (feature === undefined) throw new Error(`The history speaks of '${id}' before it was added`);
    return feature;
  }
}

export function describe(done: number, lifecycle: readonly string[]): string {
  if (done <= 0) return 'pending';
  if (done >= lifecycle.length) return 'completed';
  return `${lifecycle[done - 1]} done`;
}

/** What a validator found. */
export function describeCheck(ok: boolean): string {
  return ok ? 'passed' : 'not passed';
}
