// What recovery comes to: a state, or a report. Nothing in between.

import type { Link } from './chain.js';
import type { DamageReport } from './damage.js';
import type { Replica } from './replica.js';
import type { Run } from './salvaged-logs.js';
import type { TruthFile } from './survey.js';

/** Where the last accepted frame of a tail ends and something else follows. */
export interface Cut {
  file: TruthFile;
  offset: number;
}

export interface Sound {
  kind: 'sound';
  storeId: Buffer;
  replica: Replica;
  /** Up to here everything is known to be durable. */
  durable: Link;
  /** Accepted frames beyond it. */
  beyond: Buffer[];
  /** The last accepted commit. */
  last: Link;
  /** The newest tail, and where its last accepted frame ends; null when no tail was needed. */
  end: Cut | null;
  cut: Cut | null;
  damagedBases: TruthFile[];
  /** Tails of a process that had lost the store. */
  fenced: TruthFile[];
  /** The highest owner number in any header: the next owner must be above it. */
  ownerMax: number;
  nextNumber: number;
}

export interface Damaged {
  kind: 'damaged';
  storeId: Buffer | null;
  report: DamageReport;
  salvaged: Replica;
  /** Entries of logs that have no file of their own yet. */
  runs: Run[];
  /** Above every sequence seen anywhere. */
  freshSeq: number;
  files: TruthFile[];
  ownerMax: number;
  nextNumber: number;
}

export type Recovery = { kind: 'new' } | Sound | Damaged;
