// The state file, as other programs know it: what is done, what has failed, and what is being worked on.
//
// `attempts` and `total` are ours. A program that knows only the other three reads past them, and a file without them is
// complete: they are there only while an item is in progress, or was when an earlier run died. They are in the same document so that an
// item and how often it was tried are saved together or not at all.

import { z } from 'zod';

export const LoopShape = z
  // Strict: a file of another shape, taken for one in which nothing is done yet, would have everything done again.
  .strictObject({
    completed: z.array(z.string()).default([]),
    failed: z.array(z.looseObject({ id: z.string(), reason: z.string() })).default([]),
    inProgress: z.union([z.string(), z.array(z.string())]).optional(),
    attempts: z.array(z.strictObject({ id: z.string(), tries: z.int(), beganAt: z.string().optional() })).optional(),
    total: z.int().optional(),
  });

export type LoopFile = z.output<typeof LoopShape>;

export interface Failed {
  readonly id: string;
  readonly reason: string;
}

/** An item that was in progress when an earlier run ended, and that nobody has worked on since. */
export interface Interrupted {
  readonly id: string;
  /** How often it was begun and not ended. */
  readonly tries: number;
  /** The last time; null when the file does not say. */
  readonly beganAt: Date | null;
}

export type LoopResult =
  | { readonly status: 'success'; readonly output?: unknown }
  /** The item is at fault: it is recorded, and not run again. `failure` means the same. */
  | { readonly status: 'error' | 'failure'; readonly reason: string }
  /** Something else is at fault: nothing is recorded, the item stays outstanding. */
  | { readonly status: 'glitch'; readonly reason?: string };

/** What a result leaves behind. */
export type Outcome = { kind: 'completed' } | { kind: 'failed'; reason: string } | { kind: 'nothing' };

export function outcomeOf(result: LoopResult): Outcome {
  if (typeof result !== 'object' || result === null)
    throw new TypeError(`Expected a result like { status: 'success' }, got ${String(result)}`);
  switch (result.status) {
    case 'success':
      return { kind: 'completed' };
    case 'error':
    case 'failure':
      if (typeof result.reason !== 'string')
        throw new TypeError(`Expected \`reason\` of an ${result.status} to be a string, got ${typeof result.reason}`);
      return { kind: 'failed', reason: result.reason };
    case 'glitch':
      return { kind: 'nothing' };
    default: {
      const { status } = result satisfies never as { status: unknown };
      throw new TypeError(`Expected \`status\` to be success, error, failure or glitch, got ${String(status)}`);
    }
  }
}

export function assertId(id: unknown): asserts id is string {
  if (typeof id !== 'string' || id === '')
    throw new TypeError(`Expected an id to be a string that is not empty, got ${JSON.stringify(id) ?? typeof id}`);
}

export function interruptedIn({ inProgress, attempts }: LoopFile): Map<string, Interrupted> {
  const found = new Map<string, Interrupted>();
  for (const id of inProgress === undefined ? [] : [inProgress].flat()) found.set(id, { id, tries: 1, beganAt: null });
  for (const { id, tries, beganAt } of attempts ?? []) found.set(id, { id, tries, beganAt: asDate(beganAt) });
  return found;
}

function asDate(text: string | undefined): Date | null {
  const date = new Date(text ?? '');
  return Number.isNaN(date.getTime()) ? null : date;
}
