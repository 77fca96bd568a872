// How a store is, for whoever looks at it from time to time.

import type { HoldfastError } from './errors.js';

export interface Health {
  phase: 'open' | 'degraded' | 'fenced' | 'closing' | 'closed';
  /** Handed over and not yet on disk, and about what is not handed over yet. */
  pendingBytes: number;
  /** How long the oldest change that is not on disk has been waiting. */
  lagMs: number;
  lastFault: HoldfastError | null;
  /** The newest commit handed over, and the newest one that would survive a power cut. */
  lastSeq: number;
  durableSeq: number;
  /** How often commits were made durable since the store was opened, and how long the disk took. */
  syncs: { count: number; lastMs: number; maxMs: number };
}

export interface LogStatus {
  name: string;
  length: number;
  /** Its JSON Lines. */
  path: string;
}
