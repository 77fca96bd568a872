// The last chance: one synchronous path for every way in which a process ends and code still runs.
//
// E1. Hooks are installed once per process, with the first store, and removed with the last. They hold their stores
//     strongly: a store must not be forgotten because nobody else remembers it.
// E2. On a signal, ours is not the only voice: when the program has a listener of its own it decides what happens, and
//     we only save. Listeners of signal-exit wait for everybody else to be gone, so they do not count.
// E3. On a signal ours comes first: a listener that was added with `once` is gone when it has been called, and a program
//     that shuts down by itself would pass for one that has no listener.
// E4. A process may outlive the signal that should have ended it: the kernel spares process 1 of a container, and whoever
//     listens through signal-exit may say no. Then everything goes on as before, this file too.

// Captured at import: a program's fake timers must not freeze it.
const { setTimeout, setImmediate } = globalThis;

/** So long after the signal that was to end the process it has been survived. */
const SURVIVED_MS = 500;

const HOOKS = Symbol.for('holdfast.exit-hooks');
/** Of version 4. */
const SIGNAL_EXIT = Symbol.for('signal-exit emitter');

export interface Saver {
  readonly signals: readonly NodeJS.Signals[];
  /**
   * Everything pending to disk, now, within this store's own time limit. Reports its own faults and never throws.
   * `isLast`: nothing comes after it, and the files are written too.
   */
  saveNow(isLast: boolean): void;
  /** It was not the last. */
  goOn(): void;
}

export class ExitHooks {
  readonly #savers = new Set<Saver>();
  readonly #installed = new Map<NodeJS.Signals, () => void>();
  readonly #onExit = () => this.#saveAll(true);

  static get shared(): ExitHooks {
    const holder = globalThis as { [HOOKS]?: ExitHooks };
    holder[HOOKS] ??= new ExitHooks();
    return holder[HOOKS];
  }

  add(saver: Saver): void {
    if (this.#savers.size === 0) process.on('exit', this.#onExit);
    this.#savers.add(saver);
    for (const signal of saver.signals) this.#listen(signal);
  }

  remove(saver: Saver): void {
    this.#savers.delete(saver);
    if (this.#savers.size > 0) return;
    process.off('exit', this.#onExit);
    for (const signal of [...this.#installed.keys()]) this.#silence(signal);
  }

  listensTo(signal: NodeJS.Signals): boolean {
    return this.#installed.has(signal);
  }

  #listen(signal: NodeJS.Signals): void {
    if (this.#installed.has(signal)) return;
    const listener = () => this.#onSignal(signal);
    this.#installed.set(signal, listener);
    process.prependListener(signal, listener);
  }

  #silence(signal: NodeJS.Signals): void {
    const listener = this.#installed.get(signal);
    if (listener !== undefined) process.off(signal, listener);
    this.#installed.delete(signal);
  }

  #onSignal(signal: NodeJS.Signals): void {
    const others = process.listenerCount(signal) - 1 - signalExitListeners();
    // Before saving: a second signal, while or after we save, takes its default action.
    if (others <= 0) this.#silence(signal);
    this.#saveAll(others <= 0);
    if (others > 0) return;
    // With our listener gone this ends the process with the right code, or lets signal-exit have its turn.
    process.kill(process.pid, signal);
    // After a look for signals: should the event loop have stood still, signal-exit has had its turn by then.
    setTimeout(() => setImmediate(() => this.#goOn(signal)), SURVIVED_MS).unref();
  }

  #goOn(signal: NodeJS.Signals): void {
    if ([...this.#savers].some(({ signals }) => signals.includes(signal))) this.#listen(signal);
    for (const saver of this.#savers) saver.goOn();
  }

  #saveAll(isLast: boolean): void {
    for (const saver of this.#savers) saver.saveNow(isLast);
  }
}

/** Versions 3 and 4 each keep their own count, and a program may have both. */
export function signalExitListeners(): number {
  const { [SIGNAL_EXIT]: newer } = globalThis as { [SIGNAL_EXIT]?: unknown };
  const { __signal_exit_emitter__: older } = process as { __signal_exit_emitter__?: unknown };
  return countOf(newer) + countOf(older);
}

function countOf(emitter: unknown): number {
  const { count } = (emitter ?? {}) as { count?: unknown };
  return typeof count === 'number' ? count : 0;
}
