// The history of a mission and everything that follows it: the state folded from it, the summaries and the artifacts. One
// transaction writes an event and what follows from it; what it does not know of is lost, and nothing is recorded then.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Document } from '../document.js';
import type { HoldfastError } from '../errors.js';
import type { Log } from '../log.js';
import { open } from '../opening.js';
import type { Store } from '../store.js';
import { dated, idsOf, type MissionEvent, type NewEvent } from './events.js';
import { hasLostHistory, openHistory } from './history.js';
import { assertMissionOptions, bare, lifecycleOf, type MissionNames, type MissionOptions, namesOf } from './options.js';
import { disagreementError, lostError } from './refusals.js';
import { type Disagreement, MissionState } from './state.js';
import { claimsOf, isBlank, Summaries } from './summaries.js';

export class Chronicle {
  readonly store: Store;
  readonly state: MissionState;
  /** What was found damaged, stale or edited since it was opened. */
  readonly notes: string[] = [];
  readonly #log: Log<MissionEvent>;
  readonly #names: MissionNames;
  readonly #artifacts = new Map<string, Document<{ value: unknown }>>();
  #summaries: Summaries | null = null;
  #isLost = false;

  private constructor(store: Store, log: Log<MissionEvent>, options: MissionOptions) {
    this.store = store;
    this.#log = log;
    this.state = new MissionState(lifecycleOf(options));
    this.#names = namesOf(options);
  }

  static async open(directory: string, options: MissionOptions): Promise<Chronicle> {
    const { lifecycle: _, files: __, schema: ___, ...storeOptions } = options;
    assertMissionOptions(options);
    const store = await open(directory, storeOptions);
    try {
      const log = await openHistory(store, namesOf(options).history);
      const chronicle = new Chronicle(store, log, options);
      await chronicle.#begin();
      return chronicle;
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  /** Something is known to have been done, and the history does not know it. */
  get isLost(): boolean {
    return this.#isLost;
  }

  get isDisputed(): boolean {
    return this.#isLost || this.state.disputes.size > 0;
  }

  get disagreements(): Disagreement[] {
    return [...this.state.disputes.values()].flat();
  }

  repairError(): HoldfastError {
    return this.#isLost ? lostError(this.store.directory) : disagreementError(this.disagreements);
  }

  get summaryPath(): string {
    return join(this.store.directory, `${this.#names.features}.json`);
  }

  artifact(name: string): Document<{ value: unknown }> | undefined {
    return this.#artifacts.get(bare(name));
  }

  /** Events, oldest first, straight from disk. */
  async *read(since: number): AsyncGenerator<MissionEvent> {
    for await (const { entry } of this.#log.read({ since })) yield entry as MissionEvent;
  }

  /** One event, the summaries that follow it, and what belongs to it: all or none. */
  record(event: NewEvent, also?: () => void): Promise<void> {
    if (this.#isLost) throw this.repairError();
    this.#append([event], also);
    return this.store.flush();
  }

  /** What somebody says otherwise, and is not on record yet. */
  isNews({ id, source, says }: Disagreement): boolean {
    return !(this.state.disputes.get(id) ?? []).some((one) => one.source === source && one.says === says);
  }

  dispute(found: readonly Disagreement[]): Promise<void> {
    this.#append(found.map((one) => ({ type: 'disputed' as const, ...one })));
    return this.store.flush();
  }

  /** A history where there was none, or none any more. It comes first: a damaged summary is then only a file to be written anew. */
  async beginWith(events: readonly NewEvent[]): Promise<void> {
    this.#append(events);
    // Only now: what is refused leaves the mission as lost as it was.
    this.#isLost = false;
    await this.store.flush();
    await this.#openSummaries();
    await this.store.flush();
  }

  async #begin(): Promise<void> {
    this.store.on('recovered', ({ projections }) => {
      for (const { document, found } of projections)
        this.notes.push(`${document}.json was ${found}; it follows the saved state again`);
    });
    for await (const event of this.read(0)) this.state.fold(event);
    for (const name of this.#names.artifacts)
      this.#artifacts.set(name, await this.store.doc<{ value: unknown }>(name, { initial: { value: null } }));
    if (this.state.events === 0 && (await this.#hasTraces())) {
      this.#isLost = true;
      return;
    }
    const claims = await this.#openSummaries();
    if (claims.length > 0) await this.dispute(claims);
  }

  /** Something that came from a history is there. A summary of no events did not: a mission may be opened and left. */
  async #hasTraces(): Promise<boolean> {
    if (hasLostHistory(this.store, this.#log.name)) return true;
    const { features } = this.#names;
    const isSaved = this.store.documents().some(({ name, version }) => name === features && version > 0);
    return isSaved ? !(await isBlank(this.store, features)) : existsSync(this.summaryPath);
  }

  /** Returns what a summary that somebody changed says otherwise. One of ours, however old, is simply written anew. */
  async #openSummaries(): Promise<Disagreement[]> {
    const claims: Disagreement[] = [];
    this.#summaries = await Summaries.open(this.store, this.#names, this.state, {
      onNote: (note) => this.notes.push(note),
      onDrift: (path) => {
        if (path === this.summaryPath) claims.push(...claimsOf(path, this.state));
      },
    });
    return claims.filter((one) => this.isNews(one));
  }

  #append(events: readonly NewEvent[], also?: () => void): void {
    const at = Date.now();
    const made = events.map((event) => dated(event, at));
    // Folded last: what is refused has changed nothing.
    this.store.transaction(() => {
      for (const event of made) this.#log.append(event);
      also?.();
      const after = this.state.ahead(made);
      this.#summaries?.follow(after, new Set(made.flatMap(idsOf)));
    });
    for (const event of made) this.state.fold(event);
  }
}
