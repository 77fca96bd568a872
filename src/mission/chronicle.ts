// The history of a mission and everything that follows it: the state folded from it, the summaries and the artifacts. One
// transaction writes an event and what follows from it; what it does not know of is lost, and nothing is recorded then.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { copyIn } from '../change/copy-in.js';
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
import { featureClaims, isBlank, Summaries, validationClaims } from './summaries.js';

/** One for all that have a mission open in this process: each sees at once what the others did. By the name of the history. */
const shared = new WeakMap<Store, Map<string, { facts: string; opening: Promise<Chronicle> }>>();

export class Chronicle {
  readonly store: Store;
  readonly state: MissionState;
  /** Being done when the last process died, and not started again since. */
  readonly interrupted = new Set<string>();
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
      return await Chronicle.#shared(store, options);
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  static #shared(store: Store, options: MissionOptions): Promise<Chronicle> {
    const names = namesOf(options);
    const facts = JSON.stringify({ lifecycle: lifecycleOf(options), files: names });
    const open = shared.get(store) ?? new Map();
    shared.set(store, open);
    const known = open.get(names.history);
    if (known === undefined) {
      const opening = Chronicle.#openFresh(store, options);
      open.set(names.history, { facts, opening });
      opening.catch(() => open.delete(names.history));
      return opening;
    }
    if (known.facts === facts) return known.opening;
    throw new TypeError(`Expected what the mission in ${store.directory} is open with, ${known.facts}, got ${facts}`);
  }

  static async #openFresh(store: Store, options: MissionOptions): Promise<Chronicle> {
    const chronicle = new Chronicle(store, await openHistory(store, namesOf(options).history), options);
    await chronicle.#begin();
    return chronicle;
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
    return this.#pathOf(this.#names.features);
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

  /** Puts on record what somebody says otherwise, and is not there yet. */
  async dispute(found: readonly Disagreement[]): Promise<void> {
    const news = found.filter((one) => this.state.isNews(one));
    if (news.length === 0) return;
    const once = new Map(news.map((one) => [JSON.stringify(one), one]));
    this.#append([...once.values()].map((one) => ({ type: 'disputed' as const, ...one })));
    await this.store.flush();
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
    this.store.on('drift', ({ document }) => {
      this.notes.push(
        `${document}.json was changed by somebody else; it does not follow until the mission is opened again`,
      );
    });
    for await (const event of this.read(0)) this.state.fold(event);
    for (const { id, status } of this.state.features.values()) if (status === 'active') this.interrupted.add(id);
    for (const name of this.#names.artifacts)
      this.#artifacts.set(name, await this.store.doc<{ value: unknown }>(name, { initial: { value: null } }));
    this.#isLost = this.state.events === 0 && (await this.#hasTraces());
    if (!this.#isLost) await this.#openSummaries();
  }

  /** Something that came from a history is there. A summary of no events did not: a mission may be opened and left. */
  async #hasTraces(): Promise<boolean> {
    if (hasLostHistory(this.store, this.#log.name)) return true;
    for (const name of [this.#names.features, this.#names.validation]) {
      const isSaved = this.store.documents().some((one) => one.name === name && one.version > 0);
      if (isSaved ? !(await isBlank(this.store, name)) : existsSync(this.#pathOf(name))) return true;
    }
    return false;
  }

  #pathOf(name: string): string {
    return join(this.store.directory, `${name}.json`);
  }

  async #openSummaries(): Promise<void> {
    this.#summaries = await Summaries.open(this.store, this.#names, this.state, {
      onNote: (note) => this.notes.push(note),
      // One of ours, however old, is simply written anew. One that somebody changed may say otherwise: that is on record
      // before the file is written anew and no longer says it.
      onDrift: (name) => {
        const claimsOf = name === this.#names.features ? featureClaims : validationClaims;
        return this.dispute(claimsOf(this.#pathOf(name), this.state));
      },
    });
  }

  #append(events: readonly NewEvent[], also?: () => void): void {
    const at = Date.now();
    const made = events.map((event) => dated(event, at));
    // Folded last: what is refused has changed nothing.
    const kept = this.store.transaction(() => {
      for (const event of made) this.#log.append(event);
      also?.();
      // As the log has them: what callers do with their own objects later has not happened.
      const copies = made.map(copied);
      const after = this.state.ahead(copies);
      this.#summaries?.follow(after, new Set(copies.flatMap(idsOf)));
      return copies;
    });
    for (const event of kept) this.state.fold(event);
  }
}

function copied(event: MissionEvent): MissionEvent {
  return copyIn(event, { depth: 0, path: () => [], noteOdd: () => undefined }) as MissionEvent;
}
