// The files at the end: straight from memory, on the main thread, as far as the time goes. When the process ends; and when a
// store is closed whose snapshot thread could not write them.

import type { Container } from '../change/plain.js';
import type { PublicDisk } from '../disk/disk.js';
import type { LogExtent } from '../journal/log-key.js';
import { Places } from '../journal/places.js';
import { projectLines } from '../projection/lines.js';
import { newPress, type Outcome, type Press } from '../projection/press.js';
import { publishDocument } from '../projection/publish.js';
import { type Removal, removeDocument } from '../projection/remove.js';
import { serialize } from '../projection/serialize.js';

export interface LastLog {
  key: string;
  extent: LogExtent;
}

export interface LastFile {
  name: string;
  state: Container;
  version: number;
  backups: number;
  adopts?: string;
  onDrift?: 'refuse' | 'replace';
}

export interface LastFiles {
  disk: PublicDisk;
  directory: string;
  storeId: Uint8Array;
  /** Everything up to here is durable. A document that changed after that is not in the list. */
  seq: number;
  files: readonly LastFile[];
  logs: readonly LastLog[];
  /** Documents that are no more. */
  removed: readonly string[];
  deadlineMs: number;
  /** Throws when another process has taken the store over: its files are newer. */
  assertOwner(): void;
}

export interface LastOutcome {
  name: string;
  outcome: Outcome | Removal | Error;
}

/** The caller holds the publish lock for good. */
export function writeLastFiles({ disk, directory, storeId, seq, deadlineMs, ...last }: LastFiles): LastOutcome[] {
  last.assertOwner();
  const id = Buffer.from(storeId);
  const critical = <R>(fn: () => R) => {
    last.assertOwner();
    return fn();
  };
  const press: Press = { ...newPress(disk, new Places(directory), id), critical };
  const jobs = [
    ...last.files.map((file) => ({ name: file.name, run: () => publishOne(press, file, seq) })),
    ...last.logs.map(({ key, extent }) => ({
      name: key,
      run: () => projectLines(press, id, { key, extent, seq, isNewest, deadlineMs }),
    })),
    ...last.removed.map((name) => ({ name, run: () => removeDocument(press, { name, isKept: false, isNewest }) })),
  ];
  const outcomes: LastOutcome[] = [];
  for (const { name, run } of jobs) {
    if (performance.now() > deadlineMs) break;
    outcomes.push({ name, outcome: attempt<Outcome | Removal>(run) });
  }
  press.record.close();
  return outcomes;
}

/** Nobody publishes after this. */
function isNewest(): boolean {
  return true;
}

function publishOne(press: Press, { state, ...file }: LastFile, seq: number) {
  const plan = { ...file, text: serialize(state), seq, changedSeq: seq, durableSeq: seq };
  return publishDocument(press, { ...plan, isNewest });
}

/** One file's trouble is not another's; at this point there is nobody left to retry. */
function attempt<R>(run: () => R): R | Error {
  try {
    return run();
  } catch (error) {
    return error as Error;
  }
}
