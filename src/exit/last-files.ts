// The files at the end of a process: straight from memory, on the main thread, as far as the time goes.

import type { Container } from '../change/plain.js';
import { nodeDisk } from '../disk/node-disk.js';
import type { LogExtent } from '../journal/log-key.js';
import { Places } from '../journal/places.js';
import { projectLines } from '../projection/lines.js';
import { newPress, type Outcome, type Press } from '../projection/press.js';
import { publishDocument } from '../projection/publish.js';
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

/**
 * The caller holds the publish lock for good, and everything up to `seq` is durable. A document that changed after that
 * is not in the list.
 */
export function writeLastFiles(
  directory: string,
  storeId: Uint8Array,
  seq: number,
  files: readonly LastFile[],
  deadlineMs: number,
  logs: readonly LastLog[] = [],
): { name: string; outcome: Outcome | Error }[] {
  const places = new Places(directory);
  const press = newPress(nodeDisk, places, Buffer.from(storeId));
  const outcomes: { name: string; outcome: Outcome | Error }[] = [];
  for (const file of files) {
    if (performance.now() > deadlineMs) break;
    outcomes.push({ name: file.name, outcome: attempt(() => publishOne(press, file, seq)) });
  }
  for (const { key, extent } of logs) {
    if (performance.now() > deadlineMs) break;
    const plan = { key, extent, seq, isNewest: () => true, deadlineMs };
    outcomes.push({ name: key, outcome: attempt(() => projectLines(press, Buffer.from(storeId), plan)) });
  }
  press.record.close();
  return outcomes;
}

function publishOne(press: Press, { state, ...file }: LastFile, seq: number) {
  const plan = { ...file, text: serialize(state), seq, changedSeq: seq, durableSeq: seq };
  return publishDocument(press, { ...plan, isNewest: () => true });
}

/** One file's trouble is not another's; at this point there is nobody left to retry. */
function attempt(run: () => Outcome): Outcome | Error {
  try {
    return run();
  } catch (error) {
    return error as Error;
  }
}
