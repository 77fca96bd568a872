// The damage report: what is lost, from where, and what can be saved.

import { commandLine } from '../command-line.js';
import { HoldfastError } from '../errors.js';

export interface DamagedDocument {
  name: string;
  /** The version salvage would give; 0 when nothing of it can be saved. */
  savedVersion: number;
  /** The highest version seen in any readable header. */
  knownVersion: number;
}

export interface DamageReport {
  directory: string;
  /** What is wrong, one sentence each, with the file. */
  problems: string[];
  /** Commits that are known to have been durable and cannot be read: first and last sequence. */
  lost: { from: number; to: number } | null;
  /** The last sequence up to which everything is whole. */
  soundSeq: number;
  documents: DamagedDocument[];
}

export function damageError(report: DamageReport): HoldfastError {
  const { directory, problems, lost, documents, soundSeq } = report;
  const count = lost === null ? 0 : lost.to - lost.from + 1;
  const what =
    lost === null ? '' : ` ${count} commit${count === 1 ? '' : 's'} (${lost.from} to ${lost.to}) cannot be read.`;
  const savable = documents
    .map(({ name, savedVersion, knownVersion }) => `${name} at version ${savedVersion} of ${knownVersion}`)
    .join(', ');
  const saved = savable === '' ? 'Nothing can be saved from it.' : `What can be saved: ${savable}.`;
  return new HoldfastError(
    'HF_DAMAGED',
    `The store ${directory} is damaged: ${problems.join('; ')}.${what} Everything up to commit ${soundSeq} is whole. ${saved} ` +
      `Nothing was touched. Restore the files from a backup, or keep what can be saved: ${commandLine('repair', directory)}, or open with onDamage: 'salvage'.`,
    { details: report },
  );
}
