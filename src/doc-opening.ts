// A document at its opening: what truth says, what its file says, and what follows from the two (the table in
// docs/durability.md).

import { Checker } from './change/checker.js';
import { assertRoot, copyIn } from './change/copy-in.js';
import { copyPlain } from './change/plain.js';
import type { Tracked } from './change/tracked.js';
import { commandLine } from './command-line.js';
import type { PublicDisk } from './disk/disk.js';
import { isCode } from './disk/faults.js';
import type { DocOptions } from './doc-options.js';
import { HoldfastError, showPath } from './errors.js';
import type { Places } from './journal/places.js';
import { keepBytes } from './journal/quarantine.js';
import type { ReplicaDocument } from './journal/replica.js';
import type { Ledger } from './ledger.js';
import { type ImportCandidate, type Inspection, importCandidate, inspect } from './projection/inspect.js';
import { assertDocumentName, documentPaths, foldedName } from './projection/names.js';
import { type Edition, readRecord, recordPath } from './projection/record.js';
import { serialize, type Text, wholeOf } from './projection/serialize.js';
import { type Identity, isSameFile, keptName } from './projection/target.js';

export interface DocOpening {
  tracked: Tracked;
  /** What has to happen to its file. */
  file: { kind: 'none' | 'write' } | { kind: 'adopts'; sha256: string } | { kind: 'replace' };
  /** What was found, when it is worth telling. */
  found: string | null;
}

/** 'file': truth does not know it, and something lies where its file would be. */
export type Presence = 'open' | 'saved' | 'file' | 'none';

export interface OpeningContext {
  disk: PublicDisk;
  ledger: Ledger;
  places: Places;
  storeId: Buffer;
  onDrift: 'refuse' | 'adopt' | 'restore';
  onDamage: 'refuse' | 'backup' | 'salvage';
}

export class DocOpener {
  readonly #context: OpeningContext;
  #editions: ReadonlyMap<string, Edition>;
  #editionsFrom: Identity | null;
  /** Since the store was opened: their files may not be gone yet. */
  readonly #removed = new Set<string>();
  readonly #folded = new Map<string, string>();

  constructor(context: OpeningContext) {
    this.#context = context;
    this.#editionsFrom = this.#lookAtRecord();
    this.#editions = this.#readEditions();
    for (const name of context.ledger.names) this.#folded.set(foldedName(name), name);
  }

  /** Synchronous: nobody else can open, create or change the document in between. */
  open(name: string, options: DocOptions<unknown>): DocOpening {
    assertDocumentName(name);
    const { ledger } = this.#context;
    const checker = options.schema === undefined ? null : new Checker(options.schema, name);
    const stored = ledger.stored(name);
    if (stored !== undefined) return this.#load(name, stored, checker, options);
    this.#assertNoTwin(name);
    const opening = this.#importOrCreate(name, checker, options);
    this.#folded.set(foldedName(name), name);
    return opening;
  }

  /** For a state that no schema was asked about: the program will, when it opens the document. */
  put(name: string, state: unknown, schemaVersion: number): void {
    assertDocumentName(name);
    const { ledger } = this.#context;
    const stored = ledger.stored(name);
    if (stored === undefined) {
      this.#assertNoTwin(name);
      ledger.create(name, state, null, schemaVersion);
      this.#folded.set(foldedName(name), name);
    } else ledger.migrate(name, stored, null, state, schemaVersion);
  }

  forget(name: string): void {
    this.#folded.delete(foldedName(name));
    this.#removed.add(name);
  }

  /** What there is of a document. Reads its file only when that may be all that is left of one that was removed. */
  presence(name: string): Presence {
    const { ledger, places } = this.#context;
    if (ledger.opened(name) !== undefined) return 'open';
    if (ledger.stored(name) !== undefined) return 'saved';
    if (!isThere(this.#context.disk, documentPaths(places.directory, name).main)) return 'none';
    if (!this.#removed.has(name) && !this.#editions.has(name)) return 'file';
    const { kind } = this.#candidate(name, isStorable);
    return kind === 'absent' || kind === 'leftover' ? 'none' : 'file';
  }

  /** Whether a file that truth does not know could be taken over. Throws what `open` would; takes nothing over. */
  preview(name: string, { schema }: Pick<DocOptions<unknown>, 'schema'>): 'none' | 'importable' {
    assertDocumentName(name);
    const candidate = this.#candidate(name, isStorable);
    if (candidate.kind === 'absent' || candidate.kind === 'leftover') return 'none';
    this.#assertNoTwin(name);
    if (candidate.kind !== 'value')
      throw unreadableError(
        this.#context.places.directory,
        name,
        candidate.path,
        candidate.kind,
        candidate.backup?.path ?? null,
      );
    const checker = schema === undefined ? null : new Checker(schema, name);
    const filled = assertFits(name, candidate.path, candidate.value, checker);
    // A file may be nested more deeply than a document may.
    copyIn(filled, { depth: 0, path: () => [], noteOdd: () => undefined });
    return 'importable';
  }

  #load(name: string, stored: ReplicaDocument, checker: Checker | null, options: DocOptions<unknown>): DocOpening {
    const seen = this.#inspect(name, stored, checker);
    // The file that the state was taken from, before it could be written anew.
    const isKnown = seen.kind === 'drifted' && seen.sha256 === stored.adopted;
    const found = isKnown ? { ...seen, kind: 'stale' as const } : seen;
    const onDrift = options.onDrift ?? this.#context.onDrift;
    if (found.kind === 'drifted' && onDrift === 'refuse')
      throw driftError(this.#context.places.directory, name, found.path);
    if (found.kind === 'drifted') this.#assertFinal(name, `${found.path} would be settled`);
    const tracked = this.#migrateOrLoad(name, stored, checker, options);
    switch (found.kind) {
      case 'sound':
        return { tracked, file: { kind: 'none' }, found: null };
      case 'drifted':
        if (onDrift === 'restore') return { tracked, file: { kind: 'replace' }, found: 'drifted' };
        this.#context.ledger.adopt(tracked, found.sha256, () => tracked.replace(found.value as never));
        return { tracked, file: { kind: 'adopts', sha256: found.sha256 }, found: 'drifted' };
      case 'refused':
        // Somebody else's, but nothing that this document may be: it is kept in quarantine.
        return { tracked, file: { kind: 'replace' }, found: 'refused' };
      default:
        return { tracked, file: { kind: 'write' }, found: found.kind === 'stale' ? null : found.kind };
    }
  }

  #inspect(name: string, stored: ReplicaDocument, checker: Checker | null): Inspection {
    const { disk, places } = this.#context;
    const { version } = stored;
    let text: Text | undefined;
    const expected = () => {
      text ??= serialize(stored.state);
      return text;
    };
    const check = (value: unknown) => isStorable(value) && (checker?.checkWhole(value) ?? null) === null;
    const look = () => inspect(disk, places, { name, version, expected, edition: this.#editions.get(name), check });
    const found = look();
    if (found.kind !== 'drifted') return found;
    // The snapshot thread may have published since the record was read.
    this.#refreshEditions();
    return look();
  }

  #migrateOrLoad(
    name: string,
    stored: ReplicaDocument,
    checker: Checker | null,
    options: DocOptions<unknown>,
  ): Tracked {
    const { disk, ledger, places } = this.#context;
    const { version = 1, migrate } = options;
    const { schemaVersion: from } = stored;
    if (from === version) return ledger.load(name, stored, checker);
    if (from > version) {
      throw new HoldfastError(
        'HF_VERSION',
        `'${name}' is of version ${from} of its schema, this program knows ${version}. Nothing was touched. Run the newer program.`,
      );
    }
    if (migrate === undefined) {
      throw new HoldfastError(
        'HF_SCHEMA',
        `'${name}' is of version ${from} of its schema, this program wants ${version}. Nothing was touched. Give doc() a \`migrate\` function.`,
      );
    }
    this.#assertFinal(name, 'its saved state would be migrated');
    const text = serialize(stored.state);
    // On a copy: whatever it does to what it is given, the saved state is as it was until the result has been accepted.
    const next = migrate(copyPlain(stored.state), from);
    // Only when the result is accepted: a program that is started again and again must not fill quarantine with copies.
    const keep = () => void keepBytes(disk, places, `version-${from}-${keptName(name)}`, wholeOf(text));
    return ledger.migrate(name, stored, checker, next, version, keep);
  }

  #importOrCreate(name: string, checker: Checker | null, { initial, version = 1 }: DocOptions<unknown>): DocOpening {
    const { ledger, onDamage } = this.#context;
    const check = (value: unknown) =>
      isStorable(value) && (checker?.checkWhole(checker.withDefaults(value)) ?? null) === null;
    const candidate = this.#candidate(name, check);
    switch (candidate.kind) {
      case 'absent':
      case 'leftover':
        return { tracked: ledger.create(name, initial, checker, version), file: { kind: 'write' }, found: null };
      case 'value': {
        this.#assertFinal(name, `${candidate.path} would be taken over`);
        assertFits(name, candidate.path, candidate.value, checker);
        const tracked = ledger.create(name, candidate.value, checker, version);
        ledger.adopt(tracked, candidate.sha256, () => undefined);
        return { tracked, file: { kind: 'adopts', sha256: candidate.sha256 }, found: 'imported' };
      }
      default: {
        const { backup, path, kind } = candidate;
        if (onDamage !== 'backup' || backup === null)
          throw unreadableError(this.#context.places.directory, name, path, kind, backup?.path ?? null);
        this.#assertFinal(name, `${backup.path} would be taken over`);
        return {
          tracked: ledger.create(name, backup.value, checker, version),
          file: { kind: 'write' },
          found: 'backup',
        };
      }
    }
  }

  #candidate(name: string, check: (value: unknown) => boolean): ImportCandidate {
    const { disk, places } = this.#context;
    const look = () => importCandidate(disk, places, { name, edition: this.#editions.get(name), check });
    const found = look();
    if (found.kind !== 'value' || !this.#removed.has(name)) return found;
    // It may be the file of the one that was removed: the record as it was at the start need not know it.
    this.#refreshEditions();
    return look();
  }

  /** A throw would undo the state and not what became of the file. A new document is another matter: it goes as it came. */
  #assertFinal(name: string, what: string): void {
    if (!this.#context.ledger.changes.isOpen) return;
    throw new HoldfastError(
      'HF_CLOSED',
      `Cannot open '${name}' inside an update or transaction: ${what}. Open it before.`,
    );
  }

  #assertNoTwin(name: string): void {
    const twin = this.#folded.get(foldedName(name));
    if (twin === undefined || twin === name) return;
    const { ledger } = this.#context;
    // Made in a transaction that was undone.
    if (ledger.opened(twin) === undefined && ledger.stored(twin) === undefined) return;
    throw new HoldfastError(
      'HF_NAME',
      `'${name}' and '${twin}' would be the same file on some file systems. Choose a name that differs by more than case.`,
    );
  }

  /** Reads the record again if it is not the file that was read last. */
  #refreshEditions(): void {
    const found = this.#lookAtRecord();
    if (isSameFile(found, this.#editionsFrom)) return;
    this.#editionsFrom = found;
    this.#editions = this.#readEditions();
  }

  /** Before it is read: what is written meanwhile makes it another one. */
  #lookAtRecord(): Identity | null {
    return this.#context.disk.entry(recordPath(this.#context.places));
  }

  #readEditions(): ReadonlyMap<string, Edition> {
    return readRecord(this.#context.disk, this.#context.places, this.#context.storeId).editions;
  }
}

/** Below something that is no folder there is nothing. */
function isThere(disk: PublicDisk, path: string): boolean {
  try {
    return disk.entry(path) !== null;
  } catch (error) {
    if (isCode(error, 'ENOTDIR')) return false;
    throw error;
  }
}

function isStorable(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

export function driftError(home: string, name: string, path: string): HoldfastError {
  const adopt = commandLine('adopt', home, name);
  const restore = commandLine('restore', home, name, '--to saved');
  return new HoldfastError(
    'HF_DRIFT',
    `${path} was changed by somebody else. Nothing was touched. To take the file over: ${adopt}, or open '${name}' with onDrift: 'adopt'. To write it anew from what was saved (the file is kept in quarantine): ${restore}, or onDrift: 'restore'.`,
    { details: { document: name, path } },
  );
}

function unreadableError(home: string, name: string, path: string, kind: string, backup: string | null): HoldfastError {
  const what = kind === 'empty' ? 'is empty' : 'is not whole JSON';
  const way =
    backup === null
      ? 'No backup of it can be read. Mend the file, or move it away to begin anew.'
      : `Open with onDamage: 'backup' to take ${backup}, or put that one in its place: ${commandLine('repair', home)}. Or mend the file, or move it away to begin anew.`;
  return new HoldfastError(
    'HF_DAMAGED',
    `${path} ${what}, and nothing else is known of '${name}'. Nothing was touched. ${way}`,
    { details: { document: name, path, backup } },
  );
}

/** The content of a file that is to be taken over, with the defaults of the schema. */
function assertFits(name: string, path: string, value: unknown, checker: Checker | null): unknown {
  assertRoot(value, `The content of ${path}`);
  if (checker === null) return value;
  const filled = checker.withDefaults(value);
  const problem = checker.checkWhole(filled);
  if (problem === null) return filled;
  throw new HoldfastError(
    'HF_SCHEMA',
    `The schema of '${name}' refuses ${path} at ${showPath(problem.path)}: ${problem.message}. Nothing was touched. Mend that file or move it away.`,
    { path: problem.path, details: problem.issues },
  );
}
