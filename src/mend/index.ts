// `holdfast/mend`: what the commands that write do, for programs. Each takes the store like any program that opens it
// (HF_LOCKED when another one has it), and keeps what has to give way in quarantine.

export type { DamageReport } from '../journal/damage.js';
export { type Adopted, adopt } from './adopt.js';
export { type Imported, type ImportOptions, importFile } from './import.js';
export { type FileTrouble, isWhole, type Kept, type Leftover, planRepair, type RepairPlan } from './plan.js';
export { type Repaired, repair } from './repair.js';
export { type Restored, restore } from './restore.js';
export { planSweep, sweep, type Waste } from './sweep.js';
export type { Unreadable } from './unreadable.js';
export type { MendOptions } from './writing.js';
