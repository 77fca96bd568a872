// Counts and records calls, lets tests interfere with them, and stops the machine.

import type { PublicDisk } from '../../src/disk/disk.js';
import { type Call, Stopped, siteOf } from './recording-calls.js';

/** An error fails the call; 'short' lets a read or write do half of what was asked. */
export type Verdict = Error | 'short' | undefined;

export interface RecordingOptions {
  /** How many function names make up the `site` of a sync. Capturing costs some µs each. @default 0 (not captured) */
  siteDepth?: number;
  /** A matched sync reports success and makes nothing durable. */
  ignoreSync?: (call: Call) => boolean;
  /** Asked before every call, reads too. A sync failed this way leaves its file as fsyncgate does. */
  inject?: (call: Call) => Verdict;
}

interface Stop {
  steps: number;
  bytesOfNext: number | undefined;
}

type Details = Pick<Call, 'to' | 'position' | 'length'>;

const SYNCS: ReadonlySet<keyof PublicDisk> = new Set(['sync', 'syncData', 'syncDirectory']);

export class Recorder {
  /** Every step, in order. Calls that change nothing are not kept. */
  readonly calls: Call[] = [];
  siteDepth: number;
  ignoreSync: ((call: Call) => boolean) | undefined;
  inject: ((call: Call) => Verdict) | undefined;
  #stop: Stop = { steps: Number.POSITIVE_INFINITY, bytesOfNext: undefined };

  constructor({ siteDepth = 0, ignoreSync, inject }: RecordingOptions = {}) {
    this.siteDepth = siteDepth;
    this.ignoreSync = ignoreSync;
    this.inject = inject;
  }

  get steps(): number {
    return this.calls.length;
  }

  get isStopped(): boolean {
    const { steps, bytesOfNext } = this.#stop;
    return this.isDying || (this.steps === steps && bytesOfNext === undefined);
  }

  /**
   * After `steps` steps, counted from the first, every call throws `Stopped`. With `bytesOfNext` the machine dies within
   * the step after them: if that is a write, so many of its bytes are done; of any other call, nothing.
   */
  stopAfter(steps: number, { bytesOfNext }: { bytesOfNext?: number } = {}): void {
    this.#stop = { steps, bytesOfNext };
  }

  protected copyRecordTo(other: Recorder): void {
    other.#stop = this.#stop;
    other.siteDepth = this.siteDepth;
    for (const call of this.calls) other.calls.push(call);
  }

  /** A call that changes nothing. */
  protected look(name: keyof PublicDisk, path: string, details?: Details): Call {
    if (this.isStopped) throw new Stopped(this.steps);
    return { step: this.steps, name, path, site: '', ...details };
  }

  /** A call that changes or syncs something. */
  protected step(name: keyof PublicDisk, path: string, details?: Details): Call {
    if (this.isStopped) throw new Stopped(this.steps);
    const site = this.siteDepth > 0 && SYNCS.has(name) ? siteOf(this.siteDepth) : '';
    const call: Call = { step: this.steps + 1, name, path, site, ...details };
    this.calls.push(call);
    if (this.isDying && name !== 'write') throw new Stopped(this.steps);
    return call;
  }

  /** How many bytes the call is to do, by the verdict on it. Throws the error it is to fail with. */
  protected judge(call: Call): number {
    const length = call.length ?? 0;
    const verdict = this.inject?.(call);
    if (verdict === undefined) return length;
    if (verdict instanceof Error) throw verdict;
    if (call.name === 'read' || call.name === 'write') return Math.max(Math.min(1, length), Math.floor(length / 2));
    throw new TypeError(`Expected 'short' for a read or a write only, got it for ${call.name}`);
  }

  /** The machine dies within the last recorded step. */
  protected get isDying(): boolean {
    return this.steps > this.#stop.steps;
  }

  /** How much of `bytes` is written: all of it, unless the machine dies within this write. */
  protected untilStop(bytes: number): number {
    return this.isDying ? Math.min(bytes, this.#stop.bytesOfNext ?? 0) : bytes;
  }
}
