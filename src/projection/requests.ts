// What the main thread asks of the snapshot thread, and what comes back. Plain data only: it is cloned on the way.

import type { PublicDisk } from '../disk/disk.js';
import type { ErrorCode } from '../errors.js';
import type { Outcome } from './press.js';
import type { Critical } from './record-writer.js';
import type { Removal } from './remove.js';

export interface StationRequest {
  directory: string;
  storeId: Uint8Array;
  /** The number of this opening of the store: nothing is taken over from an earlier one. */
  owner: number;
  /** Everything up to this commit is durable. */
  toSeq: number;
}

export interface ProjectRequest extends StationRequest {
  /** Those that truth does not know (any more) are removed. */
  documents: DocumentRequest[];
  /**
   * Also remove the files of every document that the record knows and truth does not, into quarantine, and temps that a
   * kill left beside files. For the first task after an open: a kill may have come between a removal and the end of its
   * files. Never after a salvage: what truth has lost then is not removed.
   */
  sweep?: boolean;
  /** Report what every document serializes to. */
  audit?: boolean;
}

export interface DocumentRequest {
  name: string;
  /** How many versions before the present one are kept: 0 to 9. */
  backups: number;
  /** SHA-256 of the file that truth was just taken from (import, or drift resolved by 'adopt'). */
  adopts?: string;
  /** 'replace' resolves drift by 'restore': the file goes to quarantine. @default 'refuse' */
  onDrift?: 'refuse' | 'replace';
  /** The version that settled it: an earlier one must not take the place of that file. */
  fromVersion?: number;
}

/** The version that was asked for is not durable yet. Nothing was touched. */
export interface Early {
  kind: 'early';
}

export interface Fault {
  kind: 'fault';
  code: ErrorCode;
  message: string;
  /** What the disk said. */
  errno: string | null;
}

export type DocumentOutcome =
  | { name: string; version: number; seq: number; outcome: Outcome | Early | Fault }
  /** Version 0: truth does not know it. */
  | { name: string; version: 0; seq: number; outcome: Removal | Fault };

export interface ProjectReport {
  /** The commit whose state was published. */
  seq: number;
  /** Why that is not the one asked for. */
  problem: string | null;
  /** The journal or the record cannot be read at all: nothing was published. */
  fault: Fault | null;
  documents: DocumentOutcome[];
  /** With `audit`: every document of the store. */
  digests: { name: string; version: number; sha256: string }[];
}

export interface CompactRequest extends StationRequest {
  /** The number of the base, taken from the journal: numbers are never used twice. */
  number: number;
  timeMs: number;
}

export type CompactReport =
  | { kind: 'compacted'; seq: number; baseBytes: number; deleted: string[] }
  /** Nothing was written: the journal could be read only up to `seq`. */
  | { kind: 'behind'; seq: number; problem: string }
  | Fault;

/** What cannot cross between threads; each thread brings its own. */
export interface StationTools {
  disk: PublicDisk;
  /** Takes the store's publish lock. */
  critical: Critical;
  /** False once a state of this document at a later commit was published, or its removal. */
  isNewest(name: string, seq: number): boolean;
}
