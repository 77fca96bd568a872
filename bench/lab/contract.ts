// What the lab asks of everything it puts through a crash: save a state and say when it is saved, load what is there, and
// say what is promised.

import type { LabState } from './state.js';

/**
 * Of a save that was acknowledged. 'durable': it survives a power cut. 'atomic': after a power cut there is some earlier
 * or later state, whole. 'neither': nothing is promised.
 */
export type Promised = 'durable' | 'atomic' | 'neither';

export interface Driver {
  /** For --only. */
  id: string;
  /** For tables. */
  name: string;
  /** Of the registry; its version is printed. */
  package?: string;
  promised: Promised;
  /** It says that it saves at exit what nobody waited for. */
  savesAtExit?: boolean;
  /** It says that it gives no state that its files do not bear out. */
  detectsRot?: boolean;
  /** How it is used, in one line: as its documentation recommends for durability. */
  how: string;
  /** Opens what is in the directory, or begins. May throw: the subject refuses what it finds. */
  open(directory: string): Promise<Session>;
}

export interface Session {
  /** Null when nothing was ever saved. Throws when the subject refuses what it finds. */
  load(): Promise<LabState | null>;
  /** Resolves when the subject's documentation says that it is saved. */
  save(state: LabState): Promise<void>;
  /** As a program does that saves and does not wait. */
  saveSoon(state: LabState): void;
  close(): Promise<void>;
}

/** What a load gave. 'wrong': a state that was never saved, given without a word. */
export type Found =
  | { kind: 'intact'; n: number }
  | { kind: 'nothing' }
  | { kind: 'refused'; message: string }
  | { kind: 'wrong'; why: string };

/** What a trial came to: found, held against what was acknowledged. */
export type Verdict =
  | { kind: 'intact' }
  /** Whole, and older than what was acknowledged by so many saves. */
  | { kind: 'lost'; saves: number }
  /** Nothing there, although something was acknowledged. */
  | { kind: 'missing' }
  /** The subject itself says that it cannot read it. */
  | { kind: 'damaged'; message: string }
  | { kind: 'wrong'; why: string };

export function judge(found: Found, { acked, issued }: { acked: number; issued: number }): Verdict {
  switch (found.kind) {
    case 'refused':
      return { kind: 'damaged', message: found.message };
    case 'wrong':
      return found;
    case 'nothing':
      return acked === 0 ? { kind: 'intact' } : { kind: 'missing' };
    case 'intact':
      if (found.n > issued) return { kind: 'wrong', why: `version ${found.n}, and only ${issued} were begun` };
      return found.n >= acked ? { kind: 'intact' } : { kind: 'lost', saves: acked - found.n };
    default:
      return found satisfies never;
  }
}
