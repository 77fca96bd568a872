// What a question is given, and what it is.

import type { Driver } from './drivers/contract.js';
import type { Answer } from './results.js';

export interface Context {
  isQuick: boolean;
  /** Those that were asked for; ours and the limits are always measured. */
  rivals: readonly Driver[];
  /** Directories are made here. */
  scratch: string;
  /** Of the soak. */
  soakS: number;
  onProgress(done: number, total: number, what: string): void;
}

export interface Question {
  /** For --only, and the name of its file of results. */
  id: string;
  title: string;
  run(context: Context): Promise<Answer>;
}

/** Of the length of a round: enough for the compiler, and not counted. */
export const WARM_SHARE = 0.3;

/** Rounds, from which the median is taken. */
export function roundsOf({ isQuick }: Context): number {
  return isQuick ? 3 : 5;
}

/** The same context for one of several parts of a question: progress goes on where the part before ended. */
export function portion(context: Context, at: number, of: number): Context {
  const onProgress: Context['onProgress'] = (done, total, what) =>
    context.onProgress(Math.round(((at + (total === 0 ? 1 : done / total)) / of) * 100), 100, what);
  return { ...context, onProgress };
}
