// Which files are behind, and from when on each may be written. A list and nothing else: no timer, no thread.
//
// G1. What was settled about a file (its content was adopted, or it may be replaced) stays with its document until it was
//     written: without that the file would pass for somebody else's.
// G2. A document that was removed stays until its removal has reached the files, also when one of its name was made anew.

import { HoldfastError } from '../errors.js';
import type { DocumentOutcome } from './requests.js';

// Captured at import: a program's fake timers must not freeze saving.
const { performance } = globalThis;

/** About as long as a commit takes. */
const EARLY_MS = 5;
const RETRY_MS = { first: 250, most: 10_000 } as const;

export interface LaggingHost {
  /** Of the newest commit handed over. */
  lastSeq(): number;
  /** The version in memory; 0 when there is no such document. */
  versionOf(name: string): number;
  onOutcome(outcome: DocumentOutcome): void;
  onFault(error: HoldfastError): void;
}

export interface LaggingSettings {
  projectDelayMs: number;
  projectBytesPerSecMax: number;
}

export interface Lagging {
  /** Not before. */
  dueAt: number;
  adopts?: string;
  onDrift?: 'refuse' | 'replace';
  fromVersion?: number;
  /** How long it was last put off because that version was not durable. */
  waitMs?: number;
}

export class LaggingFiles {
  readonly #host: LaggingHost;
  readonly #settings: LaggingSettings;
  readonly #lagging = new Map<string, Lagging>();
  /** Until when a document rests. */
  readonly #resting = new Map<string, number>();
  /** Documents that were removed, and the commit that does it. */
  readonly #removedBy = new Map<string, number>();
  #retryMs: number = RETRY_MS.first;

  constructor(host: LaggingHost, settings: LaggingSettings) {
    this.#host = host;
    this.#settings = settings;
  }

  get names(): string[] {
    return [...this.#lagging.keys()];
  }

  /** When the first of them is due. */
  get dueAt(): number {
    let dueAt = Number.POSITIVE_INFINITY;
    for (const lagging of this.#lagging.values()) dueAt = Math.min(dueAt, lagging.dueAt);
    return dueAt;
  }

  dueBy(now: number): string[] {
    return [...this.#lagging].filter(([, { dueAt }]) => dueAt <= now).map(([name]) => name);
  }

  /** When what has just failed may be tried again. */
  get retryAt(): number {
    return performance.now() + this.#retryMs;
  }

  /** Returns when it is due; null in the common case, once per update: it is on the list already. */
  add(name: string): number | null {
    if (this.#lagging.has(name)) return null;
    const soonest = performance.now() + this.#settings.projectDelayMs;
    const dueAt = Math.max(soonest, this.#resting.get(name) ?? 0);
    this.#lagging.set(name, { dueAt });
    return dueAt;
  }

  /** The commit that says so is the next one. */
  noteRemoved(name: string): void {
    this.#removedBy.set(name, this.#host.lastSeq() + 1);
  }

  settle(name: string, how: { adopts: string } | { onDrift: 'replace' }): void {
    this.#lagging.set(name, { dueAt: 0, ...how, fromVersion: this.#host.versionOf(name) });
  }

  /** What was settled about the file that is there, if anything was; `taken` is how it stood before a task took it. */
  howOf(name: string, taken?: Lagging): { adopts?: string; onDrift?: 'refuse' | 'replace' } {
    const { adopts, onDrift }: Partial<Lagging> = { ...taken, ...this.#lagging.get(name) };
    return { ...(adopts !== undefined && { adopts }), ...(onDrift !== undefined && { onDrift }) };
  }

  /** Off the list before the task that writes it: what changes meanwhile comes back onto it. */
  take(name: string): Lagging {
    const lagging = this.#lagging.get(name) as Lagging;
    this.#lagging.delete(name);
    return lagging;
  }

  noteWritten(name: string): void {
    this.#lagging.delete(name);
  }

  /** How a task ended for one document; `taken` is how it stood on the list before. Returns why it failed, if it did. */
  conclude(result: DocumentOutcome, taken: Lagging | undefined): HoldfastError | null {
    const { name, outcome } = result;
    let fault: HoldfastError | null = null;
    switch (outcome.kind) {
      case 'published':
        this.#retryMs = RETRY_MS.first;
        this.#rest(name, outcome.bytes);
        break;
      case 'early':
        this.#waitForDurable(name, taken);
        return null;
      case 'fault':
        if (taken !== undefined) this.putBack(name, taken);
        fault = new HoldfastError(outcome.code, outcome.message);
        this.#host.onFault(fault);
        break;
      default:
        break;
    }
    // It was not durable yet when the thread looked, and was on the list already when it changed.
    if (outcome.kind !== 'fault' && this.#isBehind(result)) this.add(name);
    this.#host.onOutcome(result);
    return fault;
  }

  /** It could not be written. */
  putBack(name: string, taken: Lagging): void {
    const dueAt = this.retryAt;
    // It may be on the list again because it changed; what was settled about its file still holds.
    this.#lagging.set(name, { ...taken, dueAt, ...this.#lagging.get(name) });
  }

  /** It can not be written for now. False when it is not behind. */
  putOff(name: string): boolean {
    const lagging = this.#lagging.get(name);
    if (lagging === undefined) return false;
    lagging.dueAt = this.retryAt;
    return true;
  }

  /** Once per task, however many documents failed in it. */
  backOff(): void {
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MS.most);
  }

  /** By its version, which begins anew with a document that is made anew: the thread may have seen the one before. */
  #isBehind({ name, version, seq }: DocumentOutcome): boolean {
    const removedBy = this.#removedBy.get(name);
    if (removedBy !== undefined && seq < removedBy) return true;
    this.#removedBy.delete(name);
    return this.#host.versionOf(name) > version;
  }

  #waitForDurable(name: string, taken: Lagging | undefined): void {
    if (taken === undefined || this.#host.versionOf(name) < (taken.fromVersion ?? 0)) {
      // Removed meanwhile.
      this.add(name);
      return;
    }
    const waitMs = Math.min((taken.waitMs ?? EARLY_MS / 2) * 2, RETRY_MS.most);
    this.#lagging.set(name, { ...taken, waitMs, dueAt: performance.now() + waitMs });
  }

  /** A large document lags rather than cost more than its share. */
  #rest(name: string, bytes: number): void {
    const restMs = (bytes / this.#settings.projectBytesPerSecMax) * 1000;
    const until = performance.now() + restMs;
    if (restMs > this.#settings.projectDelayMs) this.#resting.set(name, until);
    else this.#resting.delete(name);
    const lagging = this.#lagging.get(name);
    if (lagging !== undefined) lagging.dueAt = Math.max(lagging.dueAt, until);
  }
}
