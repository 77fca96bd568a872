// In frames and records a log stands among the documents, under a name that no document can have: Windows refuses ':' in
// file names, so document names may not contain it. A document and a log of one name have nothing to do with each other.

const PREFIX = 'log:';

export function logKey(name: string): string {
  return PREFIX + name;
}

export function isLogKey(key: string): boolean {
  return key.startsWith(PREFIX);
}

export function logNameOf(key: string): string {
  return key.slice(PREFIX.length);
}

/** Entries by index: the first one, and the first one behind them. */
export interface Range {
  from: number;
  to: number;
}

/** All that is held in memory of a log. */
export interface LogExtent {
  /** How many entries it has; the next one gets this index. */
  count: number;
  /** Entries that were given up in a salvage, in order. */
  lost: readonly Range[];
}
