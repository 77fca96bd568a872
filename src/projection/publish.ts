// One document's file, replaced by its next version. Temp, sync, read back, record, and then, with nobody else
// publishing: is it still the newest, is the file there still ours, backup, rename.
//
// P1. At every moment, and after a crash at any of them, the file is one complete version. Once it was there it stays.
// P2. A file that is not ours is never replaced, unless the caller says so; then, and when it is damaged, it is kept.
// P3. The same content is never written twice.

import { dirname } from 'node:path';
import { isCode, writeFault } from '../disk/faults.js';
import { readFrom } from '../disk/files.js';
import { keepBytes } from '../journal/quarantine.js';
import { isBackedUp, rotate } from './backups.js';
import { makeDirectories } from './directories.js';
import { type DocumentPaths, documentPaths } from './names.js';
import type { Outcome, Plan, Press } from './press.js';
import type { Edition } from './record.js';
import { sha256Of, sha256OfFile, textOf } from './serialize.js';
import { Stage, type Staged } from './stage.js';
import { fileAt, type Identity, isSameFile, judge, keptName, targetOf } from './target.js';

type Ours = { kind: 'ours'; identity: Identity; mode: number; sha256: string };

type Found =
  | { kind: 'missing'; identity: null; mode: null }
  | Ours
  | { kind: 'damaged' | 'drift'; identity: Identity; mode: number; sha256: string; bytes: Buffer };

type Step = 'done' | 'superseded' | 'changed' | 'needs-copy' | 'elsewhere';

/** Each of a changed file, a missing second name and another file system costs one; more is somebody at work there. */
const ATTEMPTS_MAX = 5;

export function publishDocument(press: Press, plan: Plan): Outcome {
  const paths = documentPaths(press.places.directory, plan.name);
  const target = targetOf(press.disk, paths.main);
  const stage = new Stage(press.disk, press.places);
  try {
    return new Publication(press, plan, paths, target, stage).run();
  } catch (error) {
    throw writeFault(error, 'Publishing', paths.main);
  } finally {
    stage.sweep();
  }
}

/**
 * True when the record and the file together say that nothing has to be written, before anything is serialized. The
 * record names the commit whose state it describes, and that commit was durable: in this history it is the same one
 * (a salvage goes on above every sequence ever seen, W keeps any other opening from giving that sequence out again).
 * So if the document has not changed since, its text has this SHA-256. A version alone would not do: a document that was
 * removed and made again counts from 1 again.
 */
export function isPublished(
  press: Press,
  { name, version, changedSeq }: Pick<Plan, 'name' | 'version' | 'changedSeq'>,
) {
  const { disk, record, known } = press;
  const edition = record.get(name);
  // Not settled: then the way over `publishDocument` makes certain which of two files is there.
  if (edition === undefined || edition.over !== null) return false;
  if (edition.version !== version || edition.seq < changedSeq) return false;
  const { main } = documentPaths(press.places.directory, name);
  try {
    const target = targetOf(disk, main);
    const identity = fileAt(disk, target);
    if (identity === null || identity.size !== edition.size) return false;
    if (sha256OfFile(disk, target) !== edition.sha256) return false;
    known.set(name, { identity, sha256: edition.sha256, changedSeq });
    return true;
  } catch (error) {
    throw writeFault(error, 'Publishing', main);
  }
}

class Publication {
  readonly #press: Press;
  readonly #plan: Plan;
  readonly #paths: DocumentPaths;
  readonly #target: string;
  readonly #stage: Stage;
  /** A linked file may be on another file system, and its folder is the one that is synced. */
  #isBeside: boolean;
  #copy: Staged | null = null;
  #isBackedUp = false;
  #kept: string | null = null;

  constructor(press: Press, plan: Plan, paths: DocumentPaths, target: string, stage: Stage) {
    this.#press = press;
    this.#plan = plan;
    this.#paths = paths;
    this.#target = target;
    this.#stage = stage;
    this.#isBeside = target !== paths.main;
  }

  run(): Outcome {
    const { text, onDrift = 'refuse' } = this.#plan;
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const found = this.#examine();
      if (found.kind === 'drift' && onDrift === 'refuse') return this.#drift(found.sha256);
      if (found.kind === 'ours' && found.sha256 === text.sha256) return this.#leave(found.identity);
      const temp = this.#prepare(found);
      const step = this.#press.critical(() => this.#swap(found, temp));
      if (step === 'done') return this.#finish(temp);
      if (step === 'superseded') return { kind: 'superseded' };
      if (step === 'elsewhere') this.#isBeside = true;
      if (step === 'needs-copy') this.#press.hasNoLinks = true;
    }
    // Somebody writes to it faster than we can look.
    return this.#drift(null);
  }

  #examine(): Found {
    const { disk, known, record } = this.#press;
    const { name, text, adopts } = this.#plan;
    const identity = fileAt(disk, this.#target);
    if (identity === null) return { kind: 'missing', identity: null, mode: null };
    const { mode } = identity;
    const last = known.get(name);
    if (last !== undefined && isSameFile(last.identity, identity))
      return { kind: 'ours', identity, mode, sha256: last.sha256 };
    const found = judge(disk, this.#target, record.get(name), () => text);
    const { sha256 } = found;
    switch (found.kind) {
      case 'same':
      case 'ours':
      case 'reformatted':
        return { kind: 'ours', identity, mode, sha256 };
      case 'empty':
      case 'unparseable':
        return { kind: 'damaged', identity, mode, sha256, bytes: found.bytes };
      case 'foreign':
        if (sha256 === adopts) return { kind: 'ours', identity, mode, sha256 };
        return { kind: 'drift', identity, mode, sha256, bytes: found.bytes };
      default:
        return found satisfies never;
    }
  }

  /** Everything that takes time, before anything is moved. */
  #prepare(found: Found): Staged {
    const { disk, places, folders } = this.#press;
    const { name, text, backups } = this.#plan;
    makeDirectories(disk, places.directory, this.#paths.directory, folders);
    const temp = this.#stage.write(text, found.mode, this.#isBeside ? this.#target : null);
    if (found.kind === 'damaged' || found.kind === 'drift')
      this.#kept = keepBytes(disk, places, keptName(name), found.bytes);
    if (found.kind === 'ours' && backups > 0) this.#prepareBackup(found);
    this.#announce(found.kind === 'ours' ? found.sha256 : null);
    return temp;
  }

  #prepareBackup({ identity, mode, sha256 }: Ours): void {
    const { disk, record, known, hasNoLinks } = this.#press;
    const { name } = this.#plan;
    // An attempt that did not come to its end may have made the backup already.
    const isUnsettled = (record.get(name)?.over ?? null) !== null;
    this.#isBackedUp = isUnsettled && isBackedUp(disk, this.#paths, { path: this.#target, identity, sha256 });
    this.#copy = null;
    if (!hasNoLinks || this.#isBackedUp) return;
    const bytes = readFrom(disk, this.#target);
    if (sha256Of(bytes) === sha256) this.#copy = this.#stage.write(textOf([bytes]), mode, this.#paths.main);
    // Not what we left there, whatever its times say: the next look reads it.
    else known.delete(name);
  }

  /** R1 of the record: before the rename. */
  #announce(over: string | null): void {
    const { disk, record, critical } = this.#press;
    const { name, version, seq, durableSeq, text, backups } = this.#plan;
    const last = record.get(name);
    // R2: the last attempt did not come to its end. Which of its two files is there must not be open any more.
    if (last !== undefined && last.over !== null) disk.syncDirectory(dirname(this.#target));
    const older = [last?.over ?? null, ...(last?.older ?? [])].filter((sha) => sha !== null && sha !== over);
    const edition: Edition = {
      name,
      version,
      seq,
      durableSeq,
      sha256: text.sha256,
      size: text.length,
      over,
      older: (older as string[]).slice(0, backups + 1),
    };
    record.append(edition, critical);
  }

  /** With nobody else publishing. A few calls that only look or rename. */
  #swap(found: Found, temp: Staged): Step {
    const { disk } = this.#press;
    if (!this.#plan.isNewest()) return 'superseded';
    if (!isSameFile(found.identity, disk.entry(this.#target))) return 'changed';
    if (found.kind === 'ours' && !this.#rotate(found.identity, found.sha256)) return 'needs-copy';
    try {
      disk.rename(temp.path, this.#target);
    } catch (error) {
      if (!isCode(error, 'EXDEV') || this.#isBeside) throw error;
      return 'elsewhere';
    }
    this.#stage.placed(temp.path);
    return 'done';
  }

  #rotate(identity: Identity, sha256: string): boolean {
    const { disk } = this.#press;
    const { backups: count } = this.#plan;
    if (count === 0 || this.#isBackedUp) return true;
    if (this.#press.hasNoLinks && this.#copy === null) return false;
    const main = { path: this.#target, identity, sha256 };
    const spare = this.#stage.spare(this.#paths.main);
    const copy = this.#copy?.path ?? null;
    if (!rotate(disk, this.#paths, main, { count, spare, copy })) return false;
    this.#stage.placed(spare);
    if (copy !== null) this.#stage.placed(copy);
    return true;
  }

  #finish(temp: Staged): Outcome {
    const { disk, record, critical } = this.#press;
    const { name, backups, text } = this.#plan;
    // Both names, the new file's and the backup's, are durable only with their folders.
    for (const folder of new Set([dirname(this.#target), this.#paths.directory])) disk.syncDirectory(folder);
    record.settle(name, backups, critical);
    this.#remember(temp.identity);
    return { kind: 'published', bytes: text.length, sha256: text.sha256, kept: this.#kept };
  }

  /** The file is already what it should be. */
  #leave(identity: Identity): Outcome {
    const { disk, record, critical } = this.#press;
    const { name, text, backups } = this.#plan;
    const last = record.get(name);
    if (last?.sha256 !== text.sha256) {
      // Somebody else wrote it. From now on it is ours too.
      this.#announce(last?.sha256 ?? null);
    } else if (last.over !== null) {
      disk.syncDirectory(dirname(this.#target));
      record.settle(name, backups, critical);
    }
    this.#remember(identity);
    return { kind: 'unchanged', sha256: text.sha256 };
  }

  #remember(identity: Identity): void {
    const { name, text, changedSeq } = this.#plan;
    this.#press.known.set(name, { identity, sha256: text.sha256, changedSeq });
  }

  #drift(sha256: string | null): Outcome {
    return { kind: 'drift', path: this.#target, sha256 };
  }
}
