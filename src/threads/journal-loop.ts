// What the journal thread does all day: a round over its stations, then sleep until the bell rings or something is due.
// It never returns to its event loop, so it takes its mail by hand.

import { availableParallelism } from 'node:os';
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { fenceOf } from '../disk/fence.js';
import { type ErrorCode, HoldfastError } from '../errors.js';
import type { RecoveryNote } from '../journal/open.js';
import { Station, type StationReport, type StationStart } from './station.js';
import type { SyncAside } from './sync-helper.js';

export type ToJournal =
  | { kind: 'open'; store: number; start: StationStart }
  /** A frame too large for the ring. */
  | { kind: 'apart'; store: number; id: number; memory: SharedArrayBuffer }
  | { kind: 'rotate'; store: number }
  | { kind: 'close'; store: number }
  /** As `close`, and nothing more is saved. */
  | { kind: 'abandon'; store: number }
  | { kind: 'stop' };

export type FromJournal =
  | { kind: 'opened'; store: number; notes: readonly RecoveryNote[] }
  | { kind: 'refused'; store: number; code: ErrorCode | string; message: string }
  | { kind: 'closed'; store: number; fault: { code: ErrorCode | string; message: string } | null }
  | { kind: 'report'; store: number; report: StationReport };

const BELL = 0;
const REST = 1;

/** What the thread does between rounds, as the bell knows it. */
const AWAKE = 0;
const NAPPING = 1;
const ASLEEP = 2;

/**
 * After work a thread naps for a while before it sleeps: what comes in bursts costs nobody a wake-up call. Each nap costs
 * this thread about as much as a call costs the other one, so few are worth it: changes that come further apart than this
 * call.
 */
const LINGER_MS = 2;
/** Work that nobody waits for is found this late at most while the thread naps. */
const NAP_MS = 0.5;

/**
 * Before it rests, the thread looks out for so long, if the last rest was shorter: to put it to sleep and wake it again costs
 * a loop that awaits each of its steps more than the update does. With one processor looking out would hold up what is
 * looked out for.
 */
const WATCH_MS = availableParallelism() > 1 ? 0.25 : 0;
/** Many changes at once share a wake-up call, and gather meanwhile: not worth the processor. An update and its flush ring twice. */
const WATCHED_RINGS_MAX = 16;
/** Between two looks at the clock. */
const LOOKS = 64;

/** The bell of one thread: two words of shared memory. */
export class Bell {
  readonly #words: Int32Array;

  constructor(readonly memory: SharedArrayBuffer = new SharedArrayBuffer(8)) {
    this.#words = new Int32Array(memory);
  }

  /** There is work. A nap goes on: waking the thread costs this one more than a whole update does. */
  ring(): void {
    Atomics.add(this.#words, BELL, 1);
    if (Atomics.load(this.#words, REST) === ASLEEP) this.#wake();
  }

  /** Somebody waits. */
  ringNow(): void {
    Atomics.add(this.#words, BELL, 1);
    this.#wake();
  }

  /** The thread says how it rests before it does, and rests only if the count is unchanged: it is woken once, or not at all. */
  #wake(): void {
    if (Atomics.exchange(this.#words, REST, AWAKE) !== AWAKE) Atomics.notify(this.#words, BELL);
  }

  get count(): number {
    return Atomics.load(this.#words, BELL);
  }

  /** Looks out for it, and does not rest. True when it has rung since `count`. */
  watch(count: number, timeoutMs: number): boolean {
    const end = performance.now() + timeoutMs;
    do {
      for (let look = 0; look < LOOKS; look++) if (this.count !== count) return true;
    } while (performance.now() < end);
    return false;
  }

  /** Until `ringNow` since `count`, or the nap is over. */
  nap(count: number, timeoutMs: number): void {
    this.#rest(NAPPING, count, Math.min(timeoutMs, NAP_MS));
  }

  /** Until the bell has rung since `count`. */
  sleep(count: number, timeoutMs: number): void {
    this.#rest(ASLEEP, count, timeoutMs);
  }

  #rest(how: number, count: number, timeoutMs: number): void {
    Atomics.store(this.#words, REST, how);
    Atomics.wait(this.#words, BELL, count, timeoutMs);
    Atomics.store(this.#words, REST, AWAKE);
  }
}

export class JournalLoop {
  readonly #port: MessagePort;
  readonly #bell: Bell;
  readonly #stations = new Map<number, Station>();
  readonly #apart = new Map<string, SharedArrayBuffer>();
  readonly #aside: SyncAside | undefined;
  #isStopped = false;

  /** Without `aside` every sync is done here, and nothing is written meanwhile. */
  constructor(port: MessagePort, bell: Bell, aside?: SyncAside) {
    this.#port = port;
    this.#bell = bell;
    this.#aside = aside;
  }

  run(): void {
    let heard = this.#bell.count;
    let busyUntil = 0;
    let restMs = Number.POSITIVE_INFINITY;
    while (!this.#isStopped) {
      // Before looking for work: what arrives after this is not slept through.
      const { count } = this.#bell;
      this.#takeMail();
      let dueMs = Number.POSITIVE_INFINITY;
      for (const station of this.#stations.values()) dueMs = Math.min(dueMs, station.step());
      if (this.#isStopped || dueMs <= 0) continue;
      const now = performance.now();
      if (count !== heard) busyUntil = now + LINGER_MS;
      const isWorthIt = restMs < WATCH_MS && ((count - heard) | 0) < WATCHED_RINGS_MAX;
      heard = count;
      if (isWorthIt && this.#bell.watch(count, Math.min(dueMs, WATCH_MS))) continue;
      if (now < busyUntil) this.#bell.nap(count, dueMs);
      else this.#bell.sleep(count, dueMs);
      restMs = this.#bell.count === count ? Number.POSITIVE_INFINITY : performance.now() - now;
    }
  }

  #takeMail(): void {
    for (let mail = receiveMessageOnPort(this.#port); mail !== undefined; mail = receiveMessageOnPort(this.#port)) {
      this.#handle(mail.message as ToJournal);
    }
  }

  #handle(message: ToJournal): void {
    switch (message.kind) {
      case 'open':
        this.#open(message.store, message.start);
        return;
      case 'apart':
        this.#apart.set(`${message.store}/${message.id}`, message.memory);
        return;
      case 'rotate':
        this.#attempt(message.store, (station) => station.rotate());
        return;
      case 'close':
        this.#close(message.store);
        return;
      case 'abandon':
        this.#abandon(message.store);
        return;
      case 'stop':
        this.#isStopped = true;
        return;
      default:
        message satisfies never;
    }
  }

  #open(store: number, start: StationStart): void {
    try {
      const station = new Station(start, {
        report: (report) => this.#send({ kind: 'report', store, report }),
        apart: (id) => this.#takeApart(store, id),
        assertOwner: fenceOf(start.directory, start.owner),
        ...(this.#aside !== undefined && { aside: this.#aside }),
      });
      this.#stations.set(store, station);
      this.#send({ kind: 'opened', store, notes: station.notes });
    } catch (error) {
      this.#send({ kind: 'refused', store, ...faultOf(error) });
    }
  }

  #close(store: number): void {
    const fault = this.#attempt(store, (station) => station.close());
    if (fault === null) this.#stations.delete(store);
    this.#send({ kind: 'closed', store, fault });
  }

  #abandon(store: number): void {
    this.#attempt(store, (station) => station.abandon());
    this.#stations.delete(store);
    for (const key of this.#apart.keys()) if (key.startsWith(`${store}/`)) this.#apart.delete(key);
  }

  #attempt(store: number, act: (station: Station) => void): { code: string; message: string } | null {
    const station = this.#stations.get(store);
    if (station === undefined) return null;
    try {
      act(station);
      return null;
    } catch (error) {
      return faultOf(error);
    }
  }

  /** Frames apart are posted before their note is in the ring: if it is not here yet, it is in the mail. */
  #takeApart(store: number, id: number): SharedArrayBuffer {
    const key = `${store}/${id}`;
    if (!this.#apart.has(key)) this.#takeMail();
    const memory = this.#apart.get(key);
    if (memory === undefined) throw new Error(`Frame ${id} of store ${store} was announced but not sent`);
    this.#apart.delete(key);
    return memory;
  }

  #send(message: FromJournal): void {
    this.#port.postMessage(message);
  }
}

function faultOf(error: unknown): { code: string; message: string } {
  if (error instanceof HoldfastError) return { code: error.code, message: error.message };
  const { code } = error as { code?: unknown };
  if (typeof code !== 'string') throw error;
  return { code, message: (error as Error).message };
}
