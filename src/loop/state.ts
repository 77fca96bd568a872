// Which items of a loop are done.
//
// L1. What `end` has acknowledged never runs again: its promise resolves when the result would survive a power cut.
// L2. What was begun and not ended is known after a kill: the begin is in the journal file as soon as the journal thread
//     is not busy with a sync, so within milliseconds. It is not waited for, and not synced: what takes it away leaves an
//     item that is outstanding, as it would be anyway.
// L3. Membership is a look into a Set, however long the history is.

import { HoldfastError } from '../errors.js';
import { type OpenDocument, openDoc } from '../open-doc.js';
import type { StoreOptions } from '../options.js';
import { forgetTries, listed, noteAll, noteTry, setListed } from './attempts.js';
import { describe, openHearing, type Recovered } from './recovered.js';
import {
  assertId,
  type Failed,
  type Interrupted,
  interruptedIn,
  type LoopFile,
  type LoopResult,
  LoopShape,
  outcomeOf,
} from './shape.js';

export interface LoopStateOptions extends StoreOptions {
  /** How many items there are, for whoever watches: the file says so while one is in progress. @default not said */
  total?: number | undefined;
  /** The file or what is saved beside it had to be mended, or was taken over. Called before `create` resolves. */
  onRecovered?: (recovered: Recovered) => void;
  /** Gets the few lines that a person may want to read, such as `console.log`. @default none */
  log?: (line: string) => void;
}

/** Shared by all that have the same file open in this process. */
interface Index {
  readonly done: Set<string>;
  /** Begun in this process and not ended, and by whom. */
  readonly running: Map<string, LoopState>;
  readonly interrupted: Map<string, Interrupted>;
}

const indexes = new WeakMap<OpenDocument<LoopFile>, Index>();

function indexOf(document: OpenDocument<LoopFile>): Index {
  const known = indexes.get(document);
  if (known !== undefined) return known;
  const state = document.state as LoopFile;
  const index = {
    done: new Set([...state.completed, ...state.failed.map(({ id }) => id)]),
    running: new Map<string, LoopState>(),
    interrupted: interruptedIn(state),
  };
  // Begun, ended, and killed before the file was cleared cannot be: both are one change. In a file of others it can.
  for (const id of index.done) index.interrupted.delete(id);
  indexes.set(document, index);
  return index;
}

export class LoopState implements AsyncDisposable {
  readonly #document: OpenDocument<LoopFile>;
  readonly #index: Index;
  readonly #total: number | undefined;
  #closing: Promise<void> | null = null;

  private constructor(document: OpenDocument<LoopFile>, total: number | undefined) {
    this.#document = document;
    this.#total = total;
    this.#index = indexOf(document);
  }

  /** Opens the state file at `path`, or makes it. One that is already there is taken over. */
  static async create(path: string, options: LoopStateOptions = {}): Promise<LoopState> {
    const { onRecovered, log, total, ...rest } = options;
    const open = () => openDoc(path, { ...rest, schema: LoopShape, initial: {} });
    const { document, heard } = await openHearing(path, open);
    const state = new LoopState(document, total);
    if (heard === null) return state;
    const message = describe(path, heard, state.#index.done.size);
    try {
      log?.(message);
      onRecovered?.({ path, ...heard, message });
    } catch (error) {
      // Nobody else could close it.
      await state.close();
      throw error;
    }
    return state;
  }

  /** Neither completed nor failed. */
  isOutstanding(id: string): boolean {
    return !this.#index.done.has(id);
  }

  /** Completed or failed: it will not run again. */
  isDone(id: string): boolean {
    return this.#index.done.has(id);
  }

  /** Begun in this process and not ended. */
  isRunning(id: string): boolean {
    return this.#index.running.has(id);
  }

  /** Live, in the order in which they ended. */
  get completed(): readonly string[] {
    return this.#document.state.completed;
  }

  /** Live, in the order in which they ended. They are not run again until `reopen`. */
  get failed(): readonly Failed[] {
    return this.#document.state.failed;
  }

  /** As in the file: absent when idle, a string for one item, an array for several. */
  get inProgress(): string | readonly string[] | undefined {
    return this.#document.state.inProgress;
  }

  /** In progress when an earlier run died, and not begun since. */
  get interrupted(): readonly Interrupted[] {
    return [...this.#index.interrupted.values()];
  }

  /**
   * The item is being worked on. Synchronous: when it returns, the change is on its way to disk, and survives a kill of
   * the process a few milliseconds later. It is not waited for, because losing it costs nothing but the note.
   */
  begin(id: string): void {
    assertId(id);
    const { done, running, interrupted } = this.#index;
    if (done.has(id)) {
      const how = this.failed.some((one) => one.id === id) ? 'failed; reopen(id) makes it outstanding' : 'completed';
      throw loopError(`Cannot begin '${id}': it has ${how}.`, id);
    }
    if (running.has(id)) throw loopError(`Cannot begin '${id}': it is in progress. End it first.`, id);
    this.#document.update((draft) => {
      draft.inProgress = listed([...running.keys(), id]);
      if (this.#total !== undefined && draft.total !== this.#total) draft.total = this.#total;
      noteAll(draft, interrupted);
      noteTry(draft, id);
    });
    running.set(id, this);
    interrupted.delete(id);
  }

  /** One more try of an item in progress. */
  beginAgain(id: string): void {
    assertId(id);
    if (!this.#index.running.has(id)) throw loopError(`Cannot try '${id}' again: it is not in progress.`, id);
    this.#document.update((draft) => noteTry(draft, id));
  }

  /**
   * The item is no longer being worked on. Resolves when that is durable: after a success or an error it never runs
   * again. An item that an earlier run left in progress may be ended without beginning it.
   */
  async end(id: string, result: LoopResult): Promise<void> {
    assertId(id);
    const outcome = outcomeOf(result);
    const { done, running, interrupted } = this.#index;
    if (done.has(id))
      throw loopError(`Cannot end '${id}': it has ended. If saving that failed, flush() tries again.`, id);
    if (!running.has(id) && !interrupted.has(id)) throw loopError(`Cannot end '${id}': it was never begun.`, id);
    const others = [...running.keys()].filter((one) => one !== id);
    this.#document.update((draft) => {
      if (outcome.kind === 'completed') draft.completed.push(id);
      else if (outcome.kind === 'failed') draft.failed.push({ id, reason: outcome.reason });
      setListed(draft, others);
      noteAll(draft, interrupted);
      forgetTries(draft, id);
    });
    running.delete(id);
    interrupted.delete(id);
    if (outcome.kind !== 'nothing') done.add(id);
    await this.#document.flush();
  }

  /** Failed items become outstanding: these, or all of them. */
  reopen(ids?: Iterable<string>): void {
    const chosen = ids === undefined ? null : new Set(ids);
    const isChosen = ({ id }: Failed) => chosen === null || chosen.has(id);
    const reopened = this.failed.filter(isChosen);
    const ready = new Set(reopened.map(({ id }) => id));
    const missing = [...(chosen ?? [])].find((id) => !ready.has(id));
    if (missing !== undefined) throw loopError(`Cannot reopen '${missing}': it has not failed.`, missing);
    if (reopened.length === 0) return;
    const rest = (this.#document.snapshot((state) => state.failed) as LoopFile['failed']).filter(
      (one) => !isChosen(one),
    );
    this.#document.update((draft) => {
      draft.failed = rest;
    });
    // In a file of others an item may be in both lists. What was completed never runs again.
    const completed = new Set(this.completed);
    for (const { id } of reopened) if (!completed.has(id)) this.#index.done.delete(id);
  }

  /** Resolves when everything up to this call survives a power cut. */
  flush(): Promise<void> {
    return this.#document.flush();
  }

  /** Saves everything, the file too, and lets go. What was begun and not ended is interrupted, for whoever has it open still. */
  close(): Promise<void> {
    this.#interrupt();
    this.#closing ??= this.#document.close().catch((error) => {
      // Still open, and the caller knows: a second attempt may succeed.
      this.#closing = null;
      throw error;
    });
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #interrupt(): void {
    const { running, interrupted } = this.#index;
    const noted = interruptedIn(this.#document.state as LoopFile);
    for (const [id, by] of running) {
      if (by !== this) continue;
      running.delete(id);
      interrupted.set(id, noted.get(id) ?? { id, tries: 1, beganAt: null });
    }
  }
}

function loopError(message: string, id: string): HoldfastError {
  return new HoldfastError('HF_LOOP', message, { details: { id } });
}
