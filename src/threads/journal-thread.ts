// The journal thread, seen from the main thread: one per process, shared by all stores, started with the first and ended
// with the last. It keeps an idle program from ending only while somebody waits for it.
//
// J1. A successor starts only after the old thread's 'exit': two threads never write for one store at once.
// J2. Nothing is lost with a thread: what was not durable is still in shared memory, and the successor begins with it.

import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { type ErrorCode, HoldfastError } from '../errors.js';
import type { RecoveryNote } from '../journal/open.js';
import { Bell } from './bell.js';
import type { FromJournal, ToJournal } from './journal-loop.js';
import type { StationReport, StationStart } from './station.js';

/** A store, as its thread knows it. */
export interface JournalClient {
  /** How to begin: at first, and again after a thread has died. */
  start(): StationStart;
  /** Frames that travel apart and are not durable yet. */
  apart(): Iterable<[id: number, memory: SharedArrayBuffer]>;
  onReport(report: StationReport): void;
}

interface Registered {
  client: JournalClient;
  opening: Deferred<readonly RecoveryNote[]> | null;
  closing: Deferred<void> | null;
  /** Its client was told that saving fails, by this side of the thread. */
  isFaulty: boolean;
}

interface Deferred<T> {
  resolve: (value: T) => void;
  reject: (error: Error) => void;
}

// Captured at import: a program's fake timers must not freeze saving.
const { setTimeout, clearTimeout, setInterval } = globalThis;

const RESTART_MS = { first: 0, step: 50, most: 2000 } as const;
/** A thread that dies so often before it is of use will not get better by itself: whoever waits is told. */
const DEATHS_MAX = 3;
/** After this long without dying, a thread counts as healthy again. */
const HEALTHY_MS = 10_000;

const ALIVE_MS = 2 ** 30;
/** What follows it runs when this turn's other jobs have: cheaper than `queueMicrotask`. */
const settled = Promise.resolve();

const THREADS = Symbol.for('holdfast.journal-threads');

export class JournalThread {
  readonly #url: URL;
  readonly #stores = new Map<number, Registered>();
  #nextStore = 1;
  #worker: Worker | null = null;
  #port: MessagePort | null = null;
  #bell = new Bell();
  /** What keeps the program alive while somebody waits. Cheaper to switch on and off than a worker is. */
  readonly #alive = setInterval(() => undefined, ALIVE_MS).unref();
  #holds = 0;
  #isKept = false;
  #deaths = 0;
  /** Deaths since a thread last took a store over. */
  #failures = 0;
  #startedAt = 0;
  #restart: NodeJS.Timeout | null = null;

  private constructor(url: URL) {
    this.#url = url;
  }

  /** One thread per entry point and process, also when this module is loaded twice. */
  static of(url: URL): JournalThread {
    const shared = globalThis as { [THREADS]?: Map<string, JournalThread> };
    shared[THREADS] ??= new Map();
    let thread = shared[THREADS].get(url.href);
    if (thread === undefined) {
      thread = new JournalThread(url);
      shared[THREADS].set(url.href, thread);
    }
    return thread;
  }

  /** It has died, and its successor has not begun: nobody writes for any store. */
  get isGone(): boolean {
    return this.#worker === null;
  }

  /** Resolves when the store's new tail is durable. */
  async open(client: JournalClient): Promise<{ store: number; notes: readonly RecoveryNote[] }> {
    const store = this.#nextStore++;
    this.hold();
    try {
      const notes = await new Promise<readonly RecoveryNote[]>((resolve, reject) => {
        this.#stores.set(store, { client, opening: { resolve, reject }, closing: null, isFaulty: false });
        if (this.#worker === null) this.#begin();
        else this.#sendOpen(store, client);
      });
      return { store, notes };
    } catch (error) {
      this.#remove(store);
      throw error;
    } finally {
      this.letGo();
    }
  }

  /** Resolves when the store's tail is finished. Rejects when something could not be made durable; it stays open then. */
  async close(store: number): Promise<void> {
    const registered = this.#stores.get(store);
    if (registered === undefined) return;
    this.hold();
    try {
      await new Promise<void>((resolve, reject) => {
        registered.closing = { resolve, reject };
        this.send({ kind: 'close', store });
      });
      this.#remove(store);
    } finally {
      this.letGo();
    }
  }

  /** Forgets a store without finishing its tail, as after a kill. */
  abandon(store: number): void {
    this.send({ kind: 'abandon', store });
    this.#remove(store);
  }

  send(message: ToJournal): void {
    this.#port?.postMessage(message);
    this.#bell.ringNow();
  }

  /** There is work; `isWaitedFor`: now. */
  ring(isWaitedFor: boolean): void {
    if (isWaitedFor) this.#bell.ringNow();
    else this.#bell.ring();
  }

  /** While held, the program does not end by itself: somebody waits for this thread. */
  hold(): void {
    this.#holds++;
    if (this.#isKept) return;
    this.#isKept = true;
    this.#alive.ref();
  }

  /** A program that awaits one flush after another holds again before this turn is over: switched off only if it did not. */
  letGo(): void {
    if (--this.#holds === 0) settled.then(this.#switchOff, this.#switchOff);
  }

  readonly #switchOff = (): void => {
    if (this.#holds > 0 || !this.#isKept) return;
    this.#isKept = false;
    this.#alive.unref();
  };

  /** Takes the thread's mail while the event loop stands still. */
  takeMail(): void {
    const port = this.#port;
    if (port === null) return;
    for (let mail = receiveMessageOnPort(port); mail !== undefined; mail = receiveMessageOnPort(port)) {
      this.#handle(mail.message as FromJournal);
    }
  }

  /** Ends the thread as a crash would. For tests. */
  async terminate(): Promise<void> {
    await this.#worker?.terminate();
  }

  #begin(): void {
    this.#restart = null;
    const { port1, port2 } = new MessageChannel();
    this.#bell = new Bell();
    this.#port = port1;
    this.#startedAt = performance.now();
    port1.on('message', (message: FromJournal) => this.#handle(message));
    port1.unref();
    const worker = new Worker(new URL('journal.js', this.#url), {
      name: 'holdfast journal',
      workerData: { port: port2, bell: this.#bell.memory },
      transferList: [port2],
      // Loaders and inspectors of the program are not for this thread.
      execArgv: [],
    });
    this.#worker = worker;
    let reason: unknown = null;
    worker.once('error', (error) => {
      reason = error;
    });
    worker.once('exit', (code) => this.#onExit(worker, reason ?? new Error(`exit code ${code}`)));
    worker.unref();
    for (const [store, { client }] of this.#stores) this.#sendOpen(store, client);
  }

  #sendOpen(store: number, client: JournalClient): void {
    for (const [id, memory] of client.apart()) this.send({ kind: 'apart', store, id, memory });
    this.send({ kind: 'open', store, start: client.start() });
  }

  #onExit(worker: Worker, reason: unknown): void {
    if (this.#worker !== worker) return;
    this.takeMail();
    this.#worker = null;
    this.#port?.close();
    this.#port = null;
    if (this.#stores.size === 0) return;
    if (performance.now() - this.#startedAt > HEALTHY_MS) this.#deaths = 0;
    const delayMs = Math.min(RESTART_MS.first + this.#deaths * RESTART_MS.step, RESTART_MS.most);
    this.#deaths++;
    const why = reason instanceof Error ? reason.message : String(reason);
    const message = `The journal thread died (${why}) and is started again in ${delayMs} ms. Nothing is lost.`;
    const isHopeless = ++this.#failures >= DEATHS_MAX;
    for (const registered of [...this.#stores.values()]) {
      if (isHopeless) this.#tellWaiting(registered, new HoldfastError('HF_THREAD', message), 'HF_THREAD');
      else registered.client.onReport({ kind: 'fault', code: 'HF_THREAD', message, isPassing: true });
    }
    this.#restart = setTimeout(() => this.#begin(), delayMs);
    this.#restart.unref();
  }

  /** Nobody waits for ever for a thread that does not come up, or a disk that refuses. Both are tried again. */
  #tellWaiting(registered: Registered, error: Error, code: ErrorCode): void {
    const { client, opening, closing } = registered;
    registered.opening = null;
    registered.closing = null;
    closing?.reject(error);
    if (opening !== null) {
      opening.reject(error);
      return;
    }
    registered.isFaulty = true;
    client.onReport({ kind: 'fault', code, message: error.message });
  }

  #handle(message: FromJournal): void {
    const registered = this.#stores.get(message.store);
    if (registered === undefined) return;
    switch (message.kind) {
      case 'opened':
        registered.opening?.resolve(message.notes);
        registered.opening = null;
        this.#failures = 0;
        if (registered.isFaulty) registered.client.onReport({ kind: 'mended' });
        registered.isFaulty = false;
        // After a restart: a close that the dead thread did not get round to.
        if (registered.closing !== null) this.send({ kind: 'close', store: message.store });
        return;
      case 'refused':
        this.#refused(message.store, registered, toError(message));
        return;
      case 'closed':
        if (message.fault === null) registered.closing?.resolve();
        else registered.closing?.reject(toError(message.fault));
        registered.closing = null;
        return;
      case 'report':
        registered.client.onReport(message.report);
        return;
      default:
        message satisfies never;
    }
  }

  /** At first opening the caller is told; after a restart it is a fault, and the next attempt follows. */
  #refused(store: number, registered: Registered, error: Error & { code: string }): void {
    const isFirst = registered.opening !== null;
    const code = error instanceof HoldfastError ? error.code : 'HF_IO';
    this.#tellWaiting(registered, error, code);
    if (isFirst || code === 'HF_FENCED') return;
    const retry = setTimeout(() => {
      if (this.#stores.get(store) === registered) this.#sendOpen(store, registered.client);
    }, RESTART_MS.most / 4);
    retry.unref();
  }

  #remove(store: number): void {
    this.#stores.delete(store);
    if (this.#stores.size > 0) return;
    // The last store is gone: the thread ends by itself, its exit is expected.
    if (this.#restart !== null) clearTimeout(this.#restart);
    this.#restart = null;
    this.send({ kind: 'stop' });
    this.#worker?.unref();
    this.#worker = null;
    this.#port?.close();
    this.#port = null;
  }
}

function toError({ code, message }: { code: string; message: string }): Error & { code: string } {
  if (code.startsWith('HF_')) return new HoldfastError(code as HoldfastError['code'], message);
  return Object.assign(new Error(message), { code });
}
