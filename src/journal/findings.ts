// What a check of a store's files can find, and what follows from it.

/** On which side of "the store is whole" a finding stands. */
export type Effect =
  /** Commits that were durable cannot be read: the store does not open. */
  | 'refused'
  /** It opens, and something that was saved in it is gone: entries of a log. */
  | 'lost'
  /** It opens without loss: what is damaged is kept only in case something else is. */
  | 'spare'
  /** A JSON file, JSON Lines or a backup: the truth is whole, and the next open writes the file anew or leaves it. */
  | 'file'
  /** A JSON file holds something else than was written, and could be meant: somebody has to choose. */
  | 'choice'
  /** What an ordinary crash leaves. */
  | 'harmless';

export interface Finding {
  effect: Effect;
  file: string;
  /** What is wrong, as it goes on behind the file's name: "is damaged at byte 512". */
  what: string;
}

/** Read so far, for whoever shows progress. A check stops here every few milliseconds. */
export type Pause = { kind: 'read'; bytes: number } | { kind: 'wait'; delayMs: number };
