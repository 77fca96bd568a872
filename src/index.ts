// The whole public surface.

export { append, type DeepReadonly, type Synchronous } from './change/tracked.js';
export { Collection, type CollectionEntry, type CollectionOptions, type Keys } from './collection.js';
export type { DocOptions, LogOptions } from './doc-options.js';
export { type Change, Document, type FlushOptions } from './document.js';
export { ERROR_CODES, type ErrorCode, HoldfastError, type Path } from './errors.js';
export type { StoreEvents } from './events.js';
export type { Health, LogStatus } from './health.js';
export type { DamagedDocument, DamageReport } from './journal/damage.js';
export type { RecoveryNote } from './journal/open.js';
export { Log, type LogEntry, type ReadOptions } from './log.js';
export { type OpenDocOptions, type OpenDocument, openDoc } from './open-doc.js';
export { open } from './opening.js';
export type { ExitOptions, StoreOptions } from './options.js';
export type { DocumentStatus } from './projection/statuses.js';
export {
  openReadOnly,
  type ReadOnlyDocument,
  type ReadOnlyHealth,
  ReadOnlyStore,
} from './read-only.js';
export { Store } from './store.js';
