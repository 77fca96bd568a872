// The documents and logs of a store and what of them is not encoded yet. From here a commit comes: one frame with everything that
// changed, over all documents, so a transaction is atomic by construction.

import { Changes } from './change/changes.js';
import type { Checker } from './change/checker.js';
import { collectOps } from './change/collect.js';
import { assertRoot, copyIn } from './change/copy-in.js';
import { OP_ADOPTED, OP_CHECKED, OP_ENTRIES, OP_REMOVED, OP_SCHEMA, type Op } from './change/ops.js';
import { Tracked } from './change/tracked.js';
import { TrackedLog } from './change/tracked-log.js';
import { DurableVersions } from './durable-versions.js';
import { HoldfastError, showPath } from './errors.js';
import type { Chain, Encoded } from './journal/chain.js';
import type { FrameDocument } from './journal/frame.js';
import { type LogExtent, logKey, logNameOf } from './journal/log-key.js';
import { encodePayload } from './journal/payload.js';
import type { Replica, ReplicaDocument } from './journal/replica.js';

interface Removal {
  name: string;
  from: number;
  version: number;
}

/** A document as it is in the newest frame. */
interface Written {
  version: number;
  schemaVersion: number;
  /** The file that it was taken from. */
  adopted: string | undefined;
  /** Of the schema that accepts it; empty when nobody has looked. */
  seal: string;
}

/** Of a document that is in no frame yet. */
const UNWRITTEN: Written = { version: 0, schemaVersion: 1, adopted: undefined, seal: '' };

export class Ledger {
  readonly changes: Changes;
  readonly #chain: Chain;
  readonly #replica: Replica;
  readonly #documents = new Map<string, Tracked>();
  readonly #logs = new Map<string, TrackedLog>();
  readonly #dirty = new Set<Tracked>();
  readonly #dirtyLogs = new Set<TrackedLog>();
  readonly #removals: Removal[] = [];
  readonly #written = new Map<string, Written>();
  readonly #durable = new DurableVersions();

  /** `onChange` is called after the outermost update or transaction, and for documents created or removed. */
  constructor(
    replica: Replica,
    chain: Chain,
    onChange: (docs: readonly Tracked[], logs: readonly TrackedLog[]) => void,
  ) {
    this.#replica = replica;
    this.#chain = chain;
    this.changes = new Changes((docs, logs) => {
      for (const doc of docs) this.#dirty.add(doc);
      for (const log of logs) this.#dirtyLogs.add(log);
      onChange(docs, logs);
    });
    for (const [name, { version, schemaVersion, adopted, checkedBy = '' }] of replica.documents) {
      this.#written.set(name, { version, schemaVersion, adopted, seal: checkedBy });
      this.#durable.begin(name, version);
    }
    for (const [key, { count }] of replica.logs) {
      this.#logs.set(key, new TrackedLog(logNameOf(key), key, this.changes, count));
      this.#durable.begin(key, count);
    }
  }

  /** All documents, opened or not. */
  get names(): string[] {
    return [...new Set([...this.#replica.documents.keys(), ...this.#documents.keys()])];
  }

  get hasDirty(): boolean {
    return this.#dirty.size > 0 || this.#dirtyLogs.size > 0 || this.#removals.length > 0;
  }

  /** About the bytes of entries that are not encoded yet. Unlike changes of documents they do not merge. */
  get pendingEntryBytes(): number {
    let bytes = 0;
    for (const log of this.#dirtyLogs) bytes += log.pendingBytes;
    return bytes;
  }

  /** At least about the bytes that are not encoded yet. */
  get pendingBytes(): number {
    let bytes = this.pendingEntryBytes;
    for (const doc of this.#dirty) bytes += doc.pendingBytes;
    return bytes;
  }

  /** The same without what was replaced while it waited. Costs as much as what waits. */
  weighPending(): number {
    for (const doc of this.#dirty) doc.weighPending();
    return this.pendingBytes;
  }

  /** All logs that have an entry or are open. */
  get logs(): Iterable<TrackedLog> {
    return this.#logs.values();
  }

  /** A log begins with its first entry: opening one that is not there commits nothing. */
  log(name: string): TrackedLog {
    const key = logKey(name);
    const log = this.#logs.get(key) ?? new TrackedLog(name, key, this.changes, 0);
    this.#logs.set(key, log);
    return log;
  }

  /** What was given up of a log when the store was salvaged. */
  lostOf(key: string): LogExtent['lost'] {
    return this.#replica.logs.get(key)?.lost ?? [];
  }

  /** The logs as they are in the newest frame, for a base. */
  *presentLogs(): Generator<[string, LogExtent]> {
    for (const [key, { encodedLength: count }] of this.#logs) {
      if (count > 0) yield [key, { count, lost: this.lostOf(key) }];
    }
  }

  get lastSeq(): number {
    return this.#chain.last.seq;
  }

  opened(name: string): Tracked | undefined {
    return this.#documents.get(name);
  }

  stored(name: string): ReplicaDocument | undefined {
    return this.#replica.documents.get(name);
  }

  /** The documents as they are now, for a base. */
  *present(): Generator<[string, ReplicaDocument]> {
    for (const entry of this.#replica.documents) if (!this.#documents.has(entry[0])) yield entry;
    for (const [name, doc] of this.#documents) {
      const { raw: state, version, mayBeOdd, schemaVersion, adopted } = doc;
      yield [name, { state, version, mayBeOdd, schemaVersion, adopted, checkedBy: sealOf(doc) }];
    }
  }

  /** `path`: of the file that the state was read from, for whoever is told that it is refused. */
  create(name: string, initial: unknown, checker: Checker | null, schemaVersion = 1): Tracked {
    const what = `The initial state of '${name}'`;
    assertRoot(initial, what);
    let isOdd = false;
    const noteOdd = () => {
      isOdd = true;
    };
    const filled = checker === null ? initial : checker.withDefaults(initial);
    const state = copyIn(filled, { depth: 0, path: () => [], noteOdd });
    assertRoot(state, what);
    assertFits(name, state, checker, 'its initial state');
    const doc = new Tracked(name, this.changes, state, 0, checker);
    if (isOdd) doc.noteOdd();
    doc.schemaVersion = schemaVersion;
    this.#documents.set(name, doc);
    if (this.changes.isOpen) this.#createInside(doc);
    else {
      doc.pending.replace();
      doc.version = 1;
      this.#dirty.add(doc);
    }
    return doc;
  }

  /** Part of the transaction that is open: a throw undoes it, its end commits it. */
  #createInside(doc: Tracked): void {
    this.changes.record(() => {
      doc.isRemoved = true;
      this.#documents.delete(doc.name);
    });
    this.changes.marksOf(doc).replace();
  }

  load(name: string, stored: ReplicaDocument, checker: Checker | null): Tracked {
    // Truth was checked when it was written.
    if (checker?.trusts(stored.checkedBy) !== true) assertFits(name, stored.state, checker, 'its saved state');
    const doc = this.#track(name, stored, checker);
    this.#documents.set(name, doc);
    // Once, so that the next opening need not check. A document opened without a schema says so with its first change.
    if (checker !== null && checker.seal !== this.#writtenOf(name).seal) this.#dirty.add(doc);
    return doc;
  }

  /**
   * Loads a state of an earlier schema and makes it `next`, one of the present schema. Refused, it stays as it is.
   * `keep` is called once `next` is accepted, and before it is handed over: should it throw, nothing has changed.
   */
  migrate(
    name: string,
    stored: ReplicaDocument,
    checker: Checker | null,
    next: unknown,
    schemaVersion: number,
    keep: () => void = () => undefined,
  ): Tracked {
    const filled = checker === null ? next : checker.withDefaults(next);
    assertRoot(filled, `The migrated state of '${name}'`);
    assertFits(name, filled, checker, 'its migrated state');
    const doc = this.#track(name, stored, checker);
    doc.schemaVersion = schemaVersion;
    this.#documents.set(name, doc);
    try {
      this.changes.run(() => {
        doc.replace(filled);
        keep();
      }, `Migrating '${name}'`);
    } catch (error) {
      this.#documents.delete(name);
      throw error;
    }
    // Also when not a byte of the state is different: its version is.
    if (this.#writtenOf(name).schemaVersion !== schemaVersion) this.#dirty.add(doc);
    return doc;
  }

  /**
   * Takes a state from a file: `change` makes it so, and the same frame says which file it was. Else a crash before the
   * file is written anew would leave one that nobody knows, and that could be taken for newer than what is saved.
   */
  adopt(doc: Tracked, sha256: string, change: () => void): void {
    const before = doc.adopted;
    doc.adopted = sha256;
    try {
      change();
    } catch (error) {
      doc.adopted = before;
      throw error;
    }
    if (this.#writtenOf(doc.name).adopted !== sha256) this.#dirty.add(doc);
  }

  #track(name: string, stored: ReplicaDocument, checker: Checker | null): Tracked {
    const { state, version, mayBeOdd, schemaVersion, adopted } = stored;
    const doc = new Tracked(name, this.changes, state, version, checker);
    if (mayBeOdd) doc.noteOdd();
    doc.schemaVersion = schemaVersion;
    doc.adopted = adopted;
    return doc;
  }

  /** False when there is no such document. */
  remove(name: string): boolean {
    if (this.changes.isOpen)
      throw new HoldfastError('HF_CLOSED', `Cannot remove '${name}' inside an update or transaction. Do it after.`);
    const doc = this.#documents.get(name);
    const from = this.#writtenOf(name).version;
    if (doc === undefined && from === 0) return false;
    // One that was never encoded leaves no trace.
    if (from > 0) this.#removals.push({ name, from, version: (doc?.version ?? from) + 1 });
    if (doc !== undefined) {
      this.#dirty.delete(doc);
      doc.isRemoved = true;
    }
    this.#documents.delete(name);
    this.#replica.documents.delete(name);
    this.#written.delete(name);
    this.#durable.forget(name);
    return true;
  }

  /** One frame with everything that is not encoded yet; null when there is nothing. A throw leaves all of it as it was. */
  encode(durableSeq: number, timeMs: number): Encoded | null {
    if (this.changes.isOpen)
      throw new HoldfastError('HF_CLOSED', 'Cannot commit inside an update or transaction. It commits at its end.');
    if (!this.hasDirty) return null;
    const documents: FrameDocument[] = this.#removals.map((removal) => ({ ...removal }));
    const removed = documents.length;
    const ops: Op[][] = this.#removals.map(() => [[OP_REMOVED]]);
    let mayBeOdd = false;
    for (const doc of this.#dirty) {
      const { version, schemaVersion, adopted, seal } = this.#writtenOf(doc.name);
      documents.push({ name: doc.name, from: version, version: doc.version });
      const list = collectOps(doc.pending, doc.raw);
      if (doc.schemaVersion !== schemaVersion) list.push([OP_SCHEMA, doc.schemaVersion]);
      if (doc.adopted !== undefined && doc.adopted !== adopted) list.push([OP_ADOPTED, doc.adopted]);
      const ownSeal = sealOf(doc);
      if (ownSeal !== seal) list.push([OP_CHECKED, ownSeal]);
      ops.push(list);
      mayBeOdd ||= doc.mayBeOdd;
    }
    for (const log of this.#dirtyLogs) {
      documents.push({ name: log.key, from: log.encodedLength, version: log.length });
      ops.push([[OP_ENTRIES, ...log.pending]]);
      mayBeOdd ||= log.mayBeOdd;
    }
    const frame = this.#chain.encode(documents, encodePayload(ops, mayBeOdd), durableSeq, timeMs);
    this.#take(frame.seq, documents.slice(removed), durableSeq);
    return frame;
  }

  /** The version of a document that would survive a power cut now. */
  durableVersion(name: string, durableSeq: number): number {
    return this.#durable.of(name, durableSeq);
  }

  #take(seq: number, documents: FrameDocument[], durableSeq: number): void {
    this.#removals.length = 0;
    for (const doc of this.#dirty) {
      doc.takePending();
      const { version, schemaVersion, adopted } = doc;
      this.#written.set(doc.name, { version, schemaVersion, adopted, seal: sealOf(doc) });
    }
    this.#dirty.clear();
    for (const log of this.#dirtyLogs) log.take();
    this.#dirtyLogs.clear();
    this.#durable.carry(seq, documents, durableSeq);
  }

  #writtenOf(name: string): Written {
    return this.#written.get(name) ?? UNWRITTEN;
  }
}

/** Without a schema nobody has looked at what it became. */
function sealOf({ checker }: Tracked): string {
  return checker?.seal ?? '';
}

function assertFits(name: string, state: unknown, checker: Checker | null, what: string): void {
  const problem = checker?.checkWhole(state) ?? null;
  if (problem === null) return;
  throw new HoldfastError(
    'HF_SCHEMA',
    `The schema of '${name}' refuses ${what} at ${showPath(problem.path)}: ${problem.message}. Nothing was changed.`,
    { path: problem.path, details: problem.issues },
  );
}
