// Documents over a journal, on one thread, one step at a time: everything that decides whether data survives, with
// nothing around it. `update` changes memory, `commit` encodes and writes, `flush` makes durable.

import type { ZodType, z } from 'zod';
import { Changes } from './change/changes.js';
import { Checker } from './change/checker.js';
import { assertRoot, copyIn } from './change/copy-in.js';
import { OP_REMOVED } from './change/ops.js';
import { type Synchronous, Tracked } from './change/tracked.js';

import type { Disk } from './disk/disk.js';
import { nodeDisk } from './disk/node-disk.js';
import { HoldfastError, showPath } from './errors.js';
import { writeBase } from './journal/base.js';
import type { FrameDocument } from './journal/frame.js';
import type { Journal } from './journal/journal.js';
import { type OpenSettings, openJournal, type RecoveryNote } from './journal/open.js';
import { encodePayload } from './journal/payload.js';
import { Places } from './journal/places.js';
import type { Replica, ReplicaDocument } from './journal/replica.js';
import { retain } from './journal/retain.js';

export interface TruthOptions {
  disk?: Disk;
  /** @default 'refuse' */
  onDamage?: 'refuse' | 'salvage';
  /** Commit at the end of every outermost update or transaction. @default true */
  eager?: boolean;
  now?: () => number;
  onFault?: (error: HoldfastError) => void;
}

export interface DocumentOptions<T> {
  schema?: ZodType;
  initial: T;
}

export class Truth {
  readonly notes: readonly RecoveryNote[];
  readonly #disk: Disk;
  readonly #places: Places;
  readonly #settings: OpenSettings;
  readonly #journal: Journal;
  readonly #replica: Replica;
  readonly #storeId: Buffer;
  readonly #changes: Changes;
  readonly #eager: boolean;
  readonly #documents = new Map<string, Tracked>();
  /** Version of each document in the newest frame. */
  readonly #encoded = new Map<string, number>();
  #phase: 'open' | 'closed' = 'open';

  constructor(directory: string, options: TruthOptions = {}) {
    const { disk = nodeDisk, onDamage = 'refuse', eager = true, now = Date.now, onFault = () => undefined } = options;
    this.#disk = disk;
    this.#eager = eager;
    this.#places = new Places(directory);
    this.#settings = { disk, places: this.#places, owner: 1, onDamage, now, onFault };
    const { journal, replica, storeId, notes } = openJournal(this.#settings);
    this.#journal = journal;
    this.#replica = replica;
    this.#storeId = storeId;
    this.notes = notes;
    this.#changes = new Changes(() => {
      if (this.#eager) this.commit();
    });
    for (const [name, { version }] of replica.documents) this.#encoded.set(name, version);
  }

  /** The names of all documents in the store, opened or not. */
  get names(): string[] {
    return [...new Set([...this.#replica.documents.keys(), ...this.#documents.keys()])];
  }

  get lastSeq(): number {
    return this.#journal.lastSeq;
  }

  get durableSeq(): number {
    return this.#journal.durable.seq;
  }

  doc<S extends ZodType>(name: string, options: { schema: S; initial: z.input<S> }): Tracked<z.output<S>>;
  doc<T>(name: string, options: { initial: T }): Tracked<T>;
  doc(name: string, { schema, initial }: DocumentOptions<unknown>): Tracked {
    this.#assertOpen();
    const known = this.#documents.get(name);
    if (known !== undefined) return known;
    assertName(name);
    const checker = schema === undefined ? null : new Checker(schema, name);
    const stored = this.#replica.documents.get(name);
    const doc = stored === undefined ? this.#create(name, initial, checker) : this.#load(name, stored, checker);
    this.#documents.set(name, doc);
    return doc;
  }

  remove(name: string): void {
    this.#assertOpen();
    if (this.#changes.isOpen)
      throw new HoldfastError('HF_CLOSED', `Cannot remove '${name}' inside an update or transaction.`);
    const version = this.#documents.get(name)?.version ?? this.#encoded.get(name);
    if (version === undefined) return;
    const from = this.#encoded.get(name) ?? 0;
    if (from > 0) this.#append([{ name, from, version: version + 1 }], [[[OP_REMOVED]]], false);
    this.#documents.delete(name);
    this.#replica.documents.delete(name);
    this.#encoded.delete(name);
  }

  /** All documents, or none. */
  transaction<R>(fn: () => Synchronous<R>): R {
    this.#assertOpen();
    return this.#changes.run(fn, 'The transaction') as R;
  }

  /** Encodes what changed, all documents in one frame, and writes it. Null when nothing had changed. */
  commit(): number | null {
    this.#assertOpen();
    if (this.#changes.isOpen) throw new HoldfastError('HF_CLOSED', 'Cannot commit inside an update or transaction.');
    const dirty = [...this.#documents.values()].filter((doc) => !doc.pending.isEmpty);
    if (dirty.length === 0) return null;
    const entries: FrameDocument[] = dirty.map(({ name, version }) => ({
      name,
      from: this.#encoded.get(name) ?? 0,
      version,
    }));
    const mayBeOdd = dirty.some((doc) => doc.mayBeOdd);
    return this.#append(
      entries,
      dirty.map((doc) => doc.takeOps()),
      mayBeOdd,
    );
  }

  /** When this returns, everything up to this call survives a power cut. */
  flush(): void {
    this.commit();
    this.#journal.sync();
  }

  mark(): void {
    this.#assertOpen();
    this.flush();
    this.#journal.mark();
  }

  rotate(): void {
    this.#assertOpen();
    this.flush();
    this.#journal.rotate();
  }

  /** Writes a base of the present state; deletes what two sound bases have made superfluous. */
  compact(): string[] {
    this.rotate();
    const { durable: at, tailNumber } = this.#journal;
    const { owner, now } = this.#settings;
    const documents = new Map<string, ReplicaDocument>(this.#replica.documents);
    for (const [name, { raw: state, version, mayBeOdd }] of this.#documents)
      documents.set(name, { state, version, mayBeOdd });
    const number = this.#journal.takeNumber();
    writeBase(this.#disk, this.#places, {
      storeId: this.#storeId,
      owner,
      number,
      at,
      tailNumber,
      timeMs: now(),
      documents,
    });
    return retain(this.#disk, this.#places);
  }

  close(): void {
    if (this.#phase === 'closed') return;
    this.flush();
    this.#journal.close();
    this.#phase = 'closed';
  }

  /** Lets go without saving, as if killed here. For tests. */
  abandon(): void {
    this.#journal.abandon();
    this.#phase = 'closed';
  }

  #append(entries: FrameDocument[], ops: unknown[], mayBeOdd: boolean): number {
    const seq = this.#journal.append(entries, encodePayload(ops, mayBeOdd));
    for (const { name, version } of entries) this.#encoded.set(name, version);
    this.#journal.write();
    return seq;
  }

  #create(name: string, initial: unknown, checker: Checker | null): Tracked {
    assertRoot(initial, `The initial state of '${name}'`);
    let isOdd = false;
    const noteOdd = () => {
      isOdd = true;
    };
    const filled = checker === null ? initial : checker.withDefaults(initial);
    const state = copyIn(filled, { depth: 0, path: () => [], noteOdd });
    assertRoot(state, `The initial state of '${name}'`);
    this.#assertFits(name, state, checker, 'initial state');
    const doc = new Tracked(name, this.#changes, state, 0, checker);
    if (isOdd) doc.noteOdd();
    doc.pending.replace();
    doc.version = 1;
    this.#documents.set(name, doc);
    if (this.#eager && !this.#changes.isOpen) this.commit();
    return doc;
  }

  #load(name: string, stored: ReplicaDocument, checker: Checker | null): Tracked {
    this.#assertFits(name, stored.state, checker, 'saved state');
    const doc = new Tracked(name, this.#changes, stored.state, stored.version, checker);
    if (stored.mayBeOdd) doc.noteOdd();
    return doc;
  }

  #assertFits(name: string, state: unknown, checker: Checker | null, what: string): void {
    const problem = checker?.checkWhole(state) ?? null;
    if (problem === null) return;
    throw new HoldfastError(
      'HF_SCHEMA',
      `The schema of '${name}' refuses its ${what} at ${showPath(problem.path)}: ${problem.message}. Nothing was changed.`,
      { path: problem.path, details: problem.issues },
    );
  }

  #assertOpen(): void {
    if (this.#phase !== 'open') throw new HoldfastError('HF_CLOSED', `The store ${this.#places.directory} is closed.`);
  }
}

const NAME_BYTES_MAX = 1024;

function assertName(name: string): void {
  const isSafe =
    typeof name === 'string' &&
    !name.includes('\0') &&
    Buffer.byteLength(name) <= NAME_BYTES_MAX &&
    name.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
  if (!isSafe)
    throw new HoldfastError(
      'HF_NAME',
      `Not a document name: ${JSON.stringify(name)}. Use names like 'loop' or 'features/upload'.`,
    );
}
