// Long work in features and steps. The history says what is done; files for people follow it in the same transaction.

import { Chronicle } from './chronicle.js';
import { idsOf, type MissionEvent } from './events.js';
import { assertHandoffs, type Handoff, handoffDisagreements, handoffStandings } from './handoffs.js';
import { type ImportSource, importedFrom } from './import.js';
import { bare, type MissionOptions } from './options.js';
import { assertFits, transitionError } from './refusals.js';
import {
  type Disagreement,
  describe,
  type Feature,
  type Milestone,
  type MissionState,
  type Validation,
} from './state.js';
import { standings } from './summaries.js';

export interface Work {
  id: string;
  step: string;
  /** Earlier attempts at this step. */
  attempts: number;
  /** It was being done when the last process died. */
  isInterrupted: boolean;
  failure: Feature['failure'];
  payload: unknown;
}

export interface Resumed {
  /** Exactly what is still to be done, interrupted work first. */
  todo: Work[];
  completed: number;
  /** What was found damaged, stale or edited, and what became of it. */
  notes: string[];
}

export class Mission {
  readonly #chronicle: Chronicle;
  readonly #state: MissionState;
  readonly #schema: NonNullable<MissionOptions['schema']>;
  #closing: Promise<void> | null = null;

  private constructor(chronicle: Chronicle, { schema = {} }: MissionOptions) {
    this.#chronicle = chronicle;
    this.#state = chronicle.state;
    this.#schema = schema;
  }

  /** Opens a mission, or begins one. Files that are there without a history are not believed: see `import`, `rebuild`. */
  static async open(directory: string, options: MissionOptions = {}): Promise<Mission> {
    return new Mission(await Chronicle.open(directory, options), options);
  }

  /** Takes a project over whose files were the truth so far. Refused when there is a history. */
  static async import(directory: string, source: ImportSource, options: MissionOptions = {}): Promise<Mission> {
    const mission = await Mission.open(directory, options);
    try {
      await mission.#import(source);
      return mission;
    } catch (error) {
      await mission.close();
      throw error;
    }
  }

  // ── What is known ──

  get features(): ReadonlyMap<string, Readonly<Feature>> {
    return this.#state.features;
  }

  get validation(): ReadonlyMap<string, Readonly<Validation>> {
    return this.#state.validation;
  }

  get milestones(): ReadonlyMap<string, Readonly<Milestone>> {
    return this.#state.milestones;
  }

  /** Nothing is scheduled while this is true. */
  get isRepairing(): boolean {
    return this.#chronicle.isDisputed;
  }

  get disagreements(): readonly Disagreement[] {
    return this.#chronicle.disagreements;
  }

  /** What was found damaged, stale or edited since this mission was opened. */
  get notes(): readonly string[] {
    return this.#chronicle.notes;
  }

  /** What can be done now, interrupted work first. Nothing while the mission is being repaired. */
  next({ limit = Number.POSITIVE_INFINITY }: { limit?: number } = {}): Work[] {
    if (this.isRepairing) return [];
    const work: Work[] = [];
    for (const feature of this.#state.features.values()) {
      const isInterrupted = this.#chronicle.interrupted.has(feature.id);
      if (feature.step === null || (feature.status === 'active' && !isInterrupted)) continue;
      const { id, step, attempts, failure, payload } = feature;
      work.push({ id, step, attempts, isInterrupted, failure, payload });
    }
    return work.sort((a, b) => Number(b.isInterrupted) - Number(a.isInterrupted)).slice(0, limit);
  }

  /** Events, oldest first, straight from disk. */
  async *history({ feature, since = 0 }: { feature?: string; since?: number } = {}): AsyncGenerator<MissionEvent> {
    for await (const event of this.#chronicle.read(since)) {
      if (feature === undefined || idsOf(event).includes(feature)) yield event;
    }
  }

  // ── What happens. Each is recorded in the call, on disk when its promise resolves, and rejects when it is refused. ──

  async add(id: string, payload?: unknown): Promise<void> {
    if (typeof id !== 'string' || id === '')
      throw new TypeError(`Expected \`id\` to be a name, got ${JSON.stringify(id)}`);
    if (this.#state.features.has(id)) throw transitionError(`Cannot add '${id}': it is there already.`);
    assertFits(this.#schema.feature, payload, `The payload of '${id}'`);
    return this.#chronicle.record({ type: 'added', id, payload });
  }

  async start(id: string, { worker }: { worker?: string } = {}): Promise<void> {
    const feature = this.#feature(id);
    this.#assertScheduling();
    if (feature.step === null) throw transitionError(`Cannot start '${id}': it is completed. To do it again: repair.`);
    if (feature.status === 'active' && !this.#chronicle.interrupted.has(id))
      throw transitionError(
        `Cannot start '${id}': ${feature.worker ?? 'somebody'} is at it. Fail or complete it first.`,
      );
    const done = this.#chronicle.record({ type: 'started', id, step: feature.step, worker });
    this.#chronicle.interrupted.delete(id);
    return done;
  }

  async complete(id: string, { worker, result }: { worker?: string; result?: unknown } = {}): Promise<void> {
    const step = this.#activeStep(id, 'complete');
    return this.#chronicle.record({ type: 'completed', id, step, worker, result });
  }

  async fail(id: string, reason: string, { worker }: { worker?: string } = {}): Promise<void> {
    const step = this.#activeStep(id, 'fail');
    return this.#chronicle.record({ type: 'failed', id, step, worker, reason });
  }

  /** What a validator found. It changes no step: work that is done is not reopened by it. */
  async validate(
    id: string,
    found: { ok: boolean; validator: string; sessionId?: string; evidence?: unknown; worker?: string },
  ): Promise<void> {
    this.#feature(id);
    assertFits(this.#schema.evidence, found.evidence, `The evidence for '${id}'`);
    return this.#chronicle.record({ ...found, type: 'validated', id });
  }

  /** Refused unless every feature of it is completed and none was last found wanting. */
  async milestone(
    name: string,
    { features, worker }: { features?: readonly string[]; worker?: string } = {},
  ): Promise<void> {
    if (this.#state.milestones.has(name)) throw transitionError(`Milestone '${name}' was reached already.`);
    const ids = features === undefined ? [...this.#state.features.keys()] : [...features];
    for (const id of ids) {
      if (this.#feature(id).status !== 'completed')
        throw transitionError(`Milestone '${name}' needs '${id}', which is ${this.#state.standingOf(id)}.`);
      if (this.#state.validation.get(id)?.ok === false)
        throw transitionError(
          `Milestone '${name}' needs '${id}', which ${this.#state.validation.get(id)?.validator} found wanting.`,
        );
    }
    return this.#chronicle.record({ type: 'milestone', name, features: ids, worker });
  }

  /** Something of the caller's own, for the history. */
  async note(data: unknown): Promise<void> {
    assertFits(this.#schema.note, data, 'The note');
    return this.#chronicle.record({ type: 'noted', data });
  }

  /** A document that scheduling depends on, written with its event. Name it in `files.artifacts`. */
  async setArtifact(name: string, value: unknown, { worker }: { worker?: string } = {}): Promise<void> {
    const doc = this.#chronicle.artifact(name);
    if (doc === undefined) throw new TypeError(`Expected one of files.artifacts, got ${JSON.stringify(name)}`);
    return this.#chronicle.record({ type: 'artifact', name: bare(name), worker }, () => doc.replace({ value }));
  }

  artifact(name: string): unknown {
    return this.#chronicle.artifact(name)?.state.value;
  }

  // ── After an interruption ──

  /**
   * Checks history, summaries and handoffs (what workers and validators say they finished) against each other. When they
   * agree: what is still to be done. Otherwise HF_REPAIR_REQUIRED with each disagreement in `details`.
   */
  async resume(options: { handoffs?: readonly Handoff[] } = {}): Promise<Resumed> {
    assertHandoffs(options, 'resume');
    const { handoffs = [] } = options;
    if (this.#chronicle.isLost) throw this.#chronicle.repairError();
    await this.#chronicle.dispute(handoffDisagreements(handoffs, this.#state));
    if (this.isRepairing) throw this.#chronicle.repairError();
    const completed = [...this.#state.features.values()].filter(({ status }) => status === 'completed').length;
    return { todo: this.next(), completed, notes: [...this.#chronicle.notes] };
  }

  /**
   * Settles what is disputed about a feature: `to` is a step to do next, 'pending' or 'completed'. The only way back. Of one
   * that history does not know, also 'unknown': there is none.
   */
  async repair(id: string, { to, reason, worker }: { to: string; reason: string; worker?: string }): Promise<void> {
    const { lifecycle } = this.#state;
    if (this.#chronicle.isLost) throw this.#chronicle.repairError();
    if (typeof reason !== 'string' || reason === '')
      throw new TypeError(`Expected \`reason\` to say why '${id}' is changed by hand`);
    const isKnown = this.#state.features.has(id);
    if (!isKnown && !this.#state.disputes.has(id)) this.#feature(id);
    if (!isKnown && to === 'unknown')
      return this.#chronicle.record({ type: 'repaired', id, done: 0, reason, worker, isDropped: true });
    const done = to === 'completed' ? lifecycle.length : to === 'pending' ? 0 : lifecycle.indexOf(to);
    if (done === -1)
      throw new TypeError(
        `Expected \`to\` to be one of ${[...lifecycle, 'pending', 'completed'].join(', ')}, got ${to}`,
      );
    const recorded = this.#chronicle.record({ type: 'repaired', id, done, reason, worker, lifecycle: [...lifecycle] });
    this.#chronicle.interrupted.delete(id);
    return recorded;
  }

  /** When history is lost: what handoffs can show to be done is done. What only a summary says is disputed. */
  async rebuild(options: { handoffs: readonly Handoff[]; reason: string }): Promise<void> {
    assertHandoffs(options, 'rebuild');
    const { handoffs, reason } = options;
    if (!this.#chronicle.isLost)
      throw transitionError('Nothing to rebuild: the history is there. Use repair for single features.');
    const { lifecycle } = this.#state;
    const shown = handoffStandings(handoffs, lifecycle);
    const claimed = standings(this.#chronicle.summaryPath, lifecycle);
    const ids = new Set([...claimed.keys(), ...shown.keys()]);
    const features = [...ids].map((id) => {
      // Only the summary has it. Nothing is scheduled by it, and without it nobody would know what there is to do.
      const payload = claimed.get(id)?.payload;
      const isRefused = this.#schema.feature?.safeParse(payload).success === false;
      return { id, done: shown.get(id) ?? 0, payload: isRefused ? undefined : payload };
    });
    const disputed = features.flatMap(({ id, done }): Disagreement[] => {
      const says = claimed.get(id)?.done ?? 0;
      if (says <= done) return [];
      return [{ id, source: 'summary', says: describe(says, lifecycle), history: describe(done, lifecycle) }];
    });
    await this.#chronicle.beginWith([
      { type: 'rebuilt', features, reason, lifecycle: [...lifecycle] },
      ...disputed.map((one) => ({ type: 'disputed' as const, ...one })),
    ]);
  }

  async flush(): Promise<void> {
    await this.#chronicle.store.flush({ projected: true });
  }

  /** Another mission of the same directory in this process stays open. */
  close(): Promise<void> {
    this.#closing ??= this.#chronicle.store.close().catch((error) => {
      // Still open, and the caller knows: a second attempt may succeed.
      this.#closing = null;
      throw error;
    });
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // ── Inside ──

  async #import(source: ImportSource): Promise<void> {
    const { events, lifecycle } = this.#state;
    if (events > 0)
      throw transitionError(
        `${this.#chronicle.store.directory} has a history of ${events} events. Import into a new one.`,
      );
    await this.#chronicle.beginWith([importedFrom(source, lifecycle, this.#schema)]);
  }

  #feature(id: string): Feature {
    const feature = this.#state.features.get(id);
    if (feature === undefined) throw transitionError(`There is no feature '${id}'. Add it first.`);
    return feature;
  }

  #activeStep(id: string, what: string): string {
    const { status, step } = this.#feature(id);
    if (status !== 'active' || step === null || this.#chronicle.interrupted.has(id))
      throw transitionError(`Cannot ${what} '${id}': it was not started. It is ${this.#state.standingOf(id)}.`);
    return step;
  }

  #assertScheduling(): void {
    if (this.isRepairing) throw this.#chronicle.repairError();
  }
}
