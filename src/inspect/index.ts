// `holdfast/inspect`: looks into a store, also a running one, without a lock and without writing. The path is the folder of
// a store, or the file of a document that `openDoc` or a loop keeps.

export type { Holder } from '../disk/lock.js';
export type { Path } from '../errors.js';
export type { DamageReport } from '../journal/damage.js';
export type { Effect, Finding } from '../journal/findings.js';
export type { Change, ChangedDocument } from '../journal/frame-changes.js';
export { at, type Past } from './at.js';
export { type ExportFormat, exported } from './export.js';
export { type FollowOptions, follow } from './follow.js';
export { type HistoryOptions, type HistoryStep, history } from './history.js';
export type { Moment } from './moment.js';
export { type DocumentSummary, type FileState, type Generation, inspect, type Summary } from './summary.js';
export { type Verdict, type VerifyOptions, verify } from './verify.js';
