// The whole public surface.

export { append, type DeepReadonly, type Synchronous } from './change/tracked.js';
export { ERROR_CODES, type ErrorCode, HoldfastError, type Path } from './errors.js';
export type { DamagedDocument, DamageReport } from './journal/damage.js';
