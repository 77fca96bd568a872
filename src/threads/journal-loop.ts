// What the journal thread does all day: a round over its stations, then sleep until the bell rings or something is due.
// It never returns to its event loop, so it takes its mail by hand.

import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { fenceOf } from '../disk/fence.js';
import { type ErrorCode, HoldfastError } from '../errors.js';
import type { RecoveryNote } from '../journal/open.js';
import type { Bell } from './bell.js';
import { Lookout } from './lookout.js';
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

/**
 * After work a thread naps for a while before it sleeps: what comes in bursts costs nobody a wake-up call. Each nap costs
 * this thread about as much as a call costs the other one, so few are worth it: changes that come further apart than this
 * call.
 */
const LINGER_MS = 2;

export class JournalLoop {
  readonly #port: MessagePort;
  readonly #bell: Bell;
  readonly #stations = new Map<number, Station>();
  readonly #apart = new Map<string, SharedArrayBuffer>();
  readonly #aside: SyncAside | undefined;
  readonly #lookout = new Lookout();
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
      const isWorthIt = this.#lookout.isWorthIt(restMs, (count - heard) | 0);
      heard = count;
      if (isWorthIt && this.#lookout.watch(this.#bell, count, dueMs)) continue;
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
