// Taking stores apart: whole copies of a disk with one thing changed.

import { dirname } from 'node:path';
import { Truth } from '../../src/truth.js';
import { crashStates } from '../support/crash-states.js';
import { type Call, RecordingDisk } from '../support/recording-disk.js';
import { STORE, stateOf } from './script.js';

export const HIDDEN = `${STORE}/.holdfast`;

export type Files = Map<string, Uint8Array>;

/** Everything that was not synced is lost. */
export function worstCase(disk: RecordingDisk): RecordingDisk {
  const [worst] = crashStates(disk);
  return worst as RecordingDisk;
}

export function pathsOf(disk: { files(): Files }, suffix: string): string[] {
  return [...disk.files().keys()].filter((path) => dirname(path) === HIDDEN && path.endsWith(suffix)).sort();
}

export function newest(disk: { files(): Files }, suffix: string): string {
  return pathsOf(disk, suffix).at(-1) as string;
}

/** A durable copy of the disk with some files edited, or deleted where the edit gives null. */
export function edited(
  disk: { files(): Files },
  edits: Record<string, (bytes: Buffer) => Uint8Array | null>,
): RecordingDisk {
  const files: Files = new Map(disk.files());
  for (const [path, edit] of Object.entries(edits)) {
    const next = edit(Buffer.from(files.get(path) as Uint8Array));
    if (next === null) files.delete(path);
    else files.set(path, next);
  }
  return RecordingDisk.fromFiles(files);
}

export const gone = () => null;
export const cutAt = (size: number) => (bytes: Buffer) => bytes.subarray(0, size);

/** What opening the store gives: its state, or the code it is refused with. Any other error is a bug and is thrown. */
export function outcome(disk: RecordingDisk): string {
  try {
    return stateOf(new Truth(STORE, { disk }));
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (typeof code === 'string' && code.startsWith('HF_')) return code;
    throw error;
  }
}

export function ignoring(name: string, site: string): (call: Call) => boolean {
  return (call) => call.name === name && call.site === site;
}
