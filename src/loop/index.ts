// holdfast/loop: many items, each done once, whatever happens in between.

export type { Items } from './claims.js';
export type { InterruptedItem, ResumableOptions, RunOptions } from './options.js';
export { type Counts, Glitch, type ItemStatus, type LoopSummary, type Progress } from './progress.js';
export type { Recovered } from './recovered.js';
export { type Job, resumable } from './resumable.js';
export { runLoop, type Work, type WorkContext } from './run.js';
export type { Failed, Interrupted, LoopResult } from './shape.js';
export { LoopState, type LoopStateOptions } from './state.js';
