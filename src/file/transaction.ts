// Several files, all or none, whatever happens in between and in however many directories they are.
//
//   pointer in each directory                     from here on nobody else does this there
//   stage every file, sync it
//   sync every directory                          all that is needed later is on the medium
//   publish the intent, sync home                 decided: before this none, from here on all
//   replace every file, sync every directory
//   remove the intent, sync home                  done
//   remove what was staged, the pointers last
//
// A crash before the decision leaves temps and pointers, which the next call takes away; a crash after it leaves an intent,
// which the next call in any of the directories carries out.

import { randomBytes } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { codeOf, hasNoLinks, isCode } from '../disk/faults.js';
import { HoldfastError } from '../errors.js';
import { sha256Of } from '../projection/serialize.js';
import type { Identity } from '../projection/target.js';
import { type Conflict, clear, complete, examine } from './complete.js';
import type { FileDisk } from './disk.js';
import { fileFault } from './faults.js';
import { keepFolder } from './folders.js';
import {
  type IntendedFile,
  type Intent,
  intentOf,
  intentPath,
  pointerFor,
  pointerPath,
  writeRecord,
} from './intent.js';
import type { Presence } from './liveness.js';
import { type RecoveryReport, settle, type Tools } from './recover.js';
import { stageFile } from './stage.js';
import { removeTemp, stagedName } from './temps.js';

export interface NewFile {
  /** A real path. No two are the same. */
  target: string;
  bytes: Buffer;
  mode: number;
}

const no = () => false;

const NONE_CHANGED = 'None of the files was changed.';

export async function replaceFiles(tools: Tools, files: NewFile[], report: RecoveryReport): Promise<void> {
  const directories = [...new Set(files.map(({ target }) => dirname(target)))].sort();
  const [home] = directories;
  if (home === undefined) return;
  const presence = await announce(tools, home);
  const transaction = new Transaction(tools.disk, home, directories, files);
  try {
    await transaction.enter(tools, presence, report);
    transaction.commit();
  } finally {
    // Whatever is left now, nobody is at work on it any more.
    await presence.close();
  }
}

async function announce({ liveness }: Tools, home: string): Promise<Presence> {
  try {
    return await liveness.announce(home);
  } catch (error) {
    throw fileFault(error, 'Writing in', home, NONE_CHANGED);
  }
}

class Transaction {
  readonly #id = randomBytes(8).toString('hex');
  readonly #disk: FileDisk;
  readonly #home: string;
  readonly #directories: string[];
  readonly #files: NewFile[];
  readonly #seen = new Map<string, Identity | null>();
  /** What an error is about. */
  #at = '';

  constructor(disk: FileDisk, home: string, directories: string[], files: NewFile[]) {
    this.#disk = disk;
    this.#home = home;
    this.#directories = directories;
    this.#files = files;
  }

  /** In the order of their names, the same for everyone: so no two wait for each other. */
  async enter(tools: Tools, { record }: Presence, report: RecoveryReport): Promise<void> {
    const targets = this.#files.map(({ target }) => target);
    try {
      for (const directory of this.#directories) {
        this.#at = directory;
        const pointer = pointerFor(directory, this.#home, this.#id, record, targets);
        do await settle(tools, { directory, report, isCompatible: no, isUnrelated: no, takeover: false });
        while (!this.#addPointer(directory, writeRecord(this.#disk, directory, pointer, 0o644)));
      }
    } catch (error) {
      this.#leave();
      throw fileFault(error, 'Writing in', this.#at, NONE_CHANGED);
    }
  }

  /** False when somebody else was faster. */
  #addPointer(directory: string, temp: string): boolean {
    try {
      this.#disk.link(temp, pointerPath(directory));
      return true;
    } catch (error) {
      if (isCode(error, 'EEXIST')) return false;
      if (!hasNoLinks(error)) throw error;
      const message = `The file system of ${directory} has no hard links, which \`writeFiles\` needs. ${NONE_CHANGED} Use \`writeFile\` for each of them.`;
      throw new HoldfastError('HF_IO', message, { cause: error });
    } finally {
      removeTemp(this.#disk, temp);
    }
  }

  commit(): void {
    const intent = this.#stage();
    this.#decide(intent);
    const conflicts = this.#complete(intent);
    this.#leave();
    if (conflicts.length > 0) throw changedMeanwhile(conflicts);
  }

  #stage(): Intent {
    try {
      const staged = this.#files.map((file, index) => this.#stageOne(file, index));
      for (const directory of this.#directories) {
        this.#at = directory;
        // Before the intent: it may only be found by those who find all that it speaks of, and in every directory there must
        // be a pointer to it, because the next call may come in any of them.
        this.#disk.syncDirectory(directory);
        // A decision must not outlive a folder that it speaks of.
        keepFolder(this.#disk, directory);
      }
      return intentOf(this.#home, this.#id, staged);
    } catch (error) {
      this.#leave();
      throw fileFault(error, 'Writing', this.#at, NONE_CHANGED);
    }
  }

  #stageOne({ target, bytes, mode }: NewFile, index: number): Omit<IntendedFile, 'directory'> & { at: string } {
    this.#at = target;
    const directory = dirname(target);
    const staged = stagedName(this.#id, index);
    const existing = this.#disk.entry(target);
    const { before, seen } = examine(this.#disk, target);
    this.#seen.set(target, seen);
    stageFile(this.#disk, { temp: join(directory, staged), target, bytes, existing, mode, durable: true });
    return { at: directory, name: basename(target), staged, size: bytes.length, sha256: sha256Of(bytes), before };
  }

  #decide(intent: Intent): void {
    const path = intentPath(this.#home, this.#id);
    let temp: string | null = null;
    try {
      temp = writeRecord(this.#disk, this.#home, intent, 0o600);
      this.#disk.rename(temp, path);
      // Before the first file is replaced: a power cut that takes the intent back must find all of them as they were.
      this.#disk.syncDirectory(this.#home);
    } catch (error) {
      const state = this.#takeBack(path, temp);
      throw fileFault(error, 'Writing', this.#files.map(({ target }) => target).join(', '), state);
    }
  }

  /** What may be on the medium is gone from there before anything it needs is. */
  #takeBack(path: string, temp: string | null): string {
    try {
      if (temp !== null) removeTemp(this.#disk, temp);
      if (this.#disk.entry(path) !== null) {
        this.#disk.unlink(path);
        this.#disk.syncDirectory(this.#home);
      }
    } catch (error) {
      if (codeOf(error) === undefined) throw error;
      // All is left as it is now: the next call finds the intent or does not, syncs that, and goes on from there.
      return 'All of the files or none will be replaced by the next call for one of their directories, or by `recover`.';
    }
    this.#leave();
    return NONE_CHANGED;
  }

  #complete(intent: Intent): Conflict[] {
    try {
      return complete(this.#disk, this.#home, intent, this.#seen);
    } catch (error) {
      if (codeOf(error) === undefined) throw error;
      const state = 'All of the files will be replaced by the next call for one of their directories, or by `recover`.';
      throw fileFault(error, 'Replacing files from', this.#home, state);
    }
  }

  #leave(): void {
    // Home last: claims to recover this are made there.
    for (const directory of [...this.#directories.filter((other) => other !== this.#home), this.#home]) {
      try {
        clear(this.#disk, directory, this.#id);
      } catch (error) {
        // What cannot be taken away now is by the next call there, and changes nothing about what has been done.
        if (codeOf(error) === undefined) throw error;
      }
    }
  }
}

function changedMeanwhile(conflicts: Conflict[]): HoldfastError {
  return new HoldfastError('HF_CONFLICT', describeConflicts(conflicts), { details: conflicts });
}

export function describeConflicts(conflicts: readonly Conflict[]): string {
  const each = conflicts.map(({ path, kept }) => {
    return kept === null
      ? `${path} (what was to replace it is gone)`
      : `${path} (what was to replace it is in ${kept})`;
  });
  return `Somebody else changed files while \`writeFiles\` was under way; they were left as they are: ${each.join('; ')}. All others are replaced. Merge them, then remove the kept ones.`;
}
