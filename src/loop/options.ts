// Options of a run, their defaults in one table. Misuse is a TypeError before anything is touched; options of the store
// are checked where it is opened.

import { z } from 'zod';
import { assertOptions, isFunction, withoutUndefined } from '../misuse.js';
import type { Progress } from './progress.js';
import type { Interrupted } from './shape.js';
import type { LoopStateOptions } from './state.js';

export interface InterruptedItem<T> extends Interrupted {
  /** Where `items` could be looked through beforehand: an array, a Set, anything that can be walked twice. */
  readonly item?: T;
}

export interface ResumableOptions<T> extends LoopStateOptions {
  /** What an item is known by, now and in later runs. @default the item itself if it is a string, else its `id` */
  key?: (item: T) => string;
  /** How often an item that failed is tried again before it is recorded as failed. Minimum 0. @default 0 */
  retries?: number;
  /** Before the first retry; doubles with each one, less up to half of it by chance. Minimum 0. @default 1000 */
  retryDelayMs?: number;
  /** The longest wait before a retry. Minimum 0. @default 60000 */
  retryDelayMaxMs?: number;
  /** Items that failed in earlier runs are run again. @default false */
  retryFailed?: boolean;
  /** Stops the run: what is being worked on is awaited, nothing more is begun. */
  signal?: AbortSignal;
  /** How many items there are, when `items` does not say. */
  total?: number;
  /** Before anything is run: what was in progress when the last run died. Awaited. */
  onInterrupted?: (items: readonly InterruptedItem<T>[]) => unknown;
  /** After each item, once its result is durable. Awaited. */
  onProgress?: (progress: Progress) => unknown;
}

export interface RunOptions<T> extends ResumableOptions<T> {
  /** How many items are worked on at a time. Minimum 1. @default 1 */
  concurrency?: number;
}

const LOOP_DEFAULTS = {
  concurrency: 1,
  retries: 0,
  retryDelayMs: 1000,
  retryDelayMaxMs: 60_000,
  retryFailed: false,
} as const satisfies RunOptions<never>;

type Given = 'key' | 'signal' | 'total' | 'onInterrupted' | 'onProgress' | 'log';

export interface LoopSettings<T> extends Record<keyof typeof LOOP_DEFAULTS, unknown> {
  concurrency: number;
  retries: number;
  retryDelayMs: number;
  retryDelayMaxMs: number;
  retryFailed: boolean;
  /** What was given, and has no default. */
  given: Pick<ResumableOptions<T>, Given>;
  /** For the state. */
  state: LoopStateOptions;
}

const delayMs = z.number().min(0).max(86_400_000);
const Options = z.object({
  concurrency: z.int().min(1).optional(),
  retries: z.int().min(0).optional(),
  retryDelayMs: delayMs.optional(),
  retryDelayMaxMs: delayMs.optional(),
  retryFailed: z.boolean().optional(),
  total: z.int().min(0).optional(),
  signal: z.instanceof(AbortSignal).optional(),
  key: isFunction.optional(),
  onInterrupted: isFunction.optional(),
  onProgress: isFunction.optional(),
  onRecovered: isFunction.optional(),
  log: isFunction.optional(),
});

export function settleLoop<T>(options: RunOptions<T>): LoopSettings<T> {
  assertOptions(Options, options, 'a loop');
  const { key, signal, total, onInterrupted, onProgress, ...rest } = options;
  const { concurrency, retries, retryDelayMs, retryDelayMaxMs, retryFailed, ...state } = rest;
  const given = withoutUndefined({ key, signal, total, onInterrupted, onProgress, log: options.log });
  const counts = withoutUndefined({ concurrency, retries, retryDelayMs, retryDelayMaxMs, retryFailed });
  return { ...LOOP_DEFAULTS, ...counts, given, state } as LoopSettings<T>;
}
