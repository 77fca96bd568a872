// What a rival is to the benchmarks: an agent's state that it keeps, changed step by step.
//
// Everyone does the same work, and each in the way that its documentation recommends: what keeps documents writes the
// document, what keeps rows writes the rows that changed.

import type { AgentState } from '../agent-state.js';

/**
 * What has happened when a step was awaited. 'durable': it survives a power cut. 'synced': the file's content is synced
 * and its name is not. 'written': the kernel has it.
 */
export type Awaited = 'durable' | 'synced' | 'written';

export interface Driver {
  /** For --rivals. */
  id: string;
  /** For tables. */
  name: string;
  /** Of the registry; its version is printed. */
  package?: string;
  /** Null when nothing can be awaited: that is what it is for. */
  awaited: Awaited | null;
  /** What a save writes: what changed, or everything. */
  writes: 'changes' | 'everything';
  /** How it is used, in one line. */
  how: string;
  /** Begun in a directory that has a state already, it goes on with that one. @default it expects an empty directory */
  resumes?: boolean;
  /** Begins in an empty directory with this state, and has saved it. */
  begin(directory: string, initial: AgentState): Promise<Session>;
  /** What is in the directory comes back into memory, verified as far as it can be. */
  load?(directory: string): Promise<Loaded>;
}

export interface Loaded {
  items: number;
  /** Who opens first and gives documents afterwards: how long opening took. */
  openMs?: number;
}

export interface Session {
  /** As a program does that goes on. A promise is to be awaited: it can take no more, or knows no other way. */
  update(id: string, text: string): undefined | Promise<void>;
  /** As a program does that goes on only when it is saved. */
  step(id: string, text: string): Promise<void>;
  /** Resolves when all that was changed is saved. */
  settle(): Promise<void>;
  /** Resolves when nothing is left to be done in the background. @default settle */
  rest?(): Promise<void>;
  close(): Promise<void>;
}
