// A store on one thread, one step at a time: everything that decides whether data survives, with nothing around it.
// `update` changes memory, `commit` encodes and writes, `flush` makes durable. The running store does the same with a
// thread in between; tests use this one.

import type { ZodType, z } from 'zod';
import { Checker } from './change/checker.js';
import type { Synchronous, Tracked } from './change/tracked.js';
import type { TrackedLog } from './change/tracked-log.js';
import type { Disk } from './disk/disk.js';
import { nodeDisk } from './disk/node-disk.js';
import { HoldfastError } from './errors.js';
import { writeBase } from './journal/base.js';
import { Chain } from './journal/chain.js';
import { EntrySource } from './journal/entries.js';
import type { Journal } from './journal/journal.js';
import { logKey } from './journal/log-key.js';
import { moveEntries } from './journal/move-entries.js';
import { begin, planOpening, type RecoveryNote } from './journal/open.js';
import { Places } from './journal/places.js';
import { retain } from './journal/retain.js';
import { Ledger } from './ledger.js';
import { assertDocumentName } from './projection/names.js';

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

/** One thread, one process: no lock is taken here. */
const OWNER = 1;

export class Truth {
  readonly notes: readonly RecoveryNote[];
  readonly #disk: Disk;
  readonly #places: Places;
  readonly #journal: Journal;
  readonly #ledger: Ledger;
  readonly #storeId: Buffer;
  readonly #eager: boolean;
  readonly #now: () => number;
  readonly #owner: number;
  #nextNumber: number;
  #phase: 'open' | 'closed' = 'open';

  constructor(directory: string, options: TruthOptions = {}) {
    const { disk = nodeDisk, onDamage = 'refuse', eager = true, now = Date.now, onFault = () => undefined } = options;
    this.#disk = disk;
    this.#eager = eager;
    this.#places = new Places(directory);
    this.#now = now;
    const settings = { disk, places: this.#places, now };
    const { plan, replica } = planOpening({ ...settings, owner: OWNER, onDamage });
    this.#owner = Math.max(OWNER, plan.ownerMax);
    this.#nextNumber = plan.nextNumber;
    const takeNumber = () => this.#nextNumber++;
    const { journal, notes } = begin(
      { ...settings, owner: this.#owner, takeNumber, assertOwner: () => undefined, onFault },
      plan,
    );
    this.#journal = journal;
    this.#ledger = new Ledger(replica, new Chain(journal.last), () => this.#onChange());
    this.#storeId = Buffer.from(plan.storeId);
    this.notes = notes;
  }

  /** The names of all documents in the store, opened or not. */
  get names(): string[] {
    return this.#ledger.names;
  }

  get lastSeq(): number {
    return this.#journal.last.seq;
  }

  get durableSeq(): number {
    return this.#journal.durable.seq;
  }

  doc<S extends ZodType>(name: string, options: { schema: S; initial: z.input<S> }): Tracked<z.output<S>>;
  doc<T>(name: string, options: { initial: T }): Tracked<T>;
  doc(name: string, { schema, initial }: DocumentOptions<unknown>): Tracked {
    this.#assertOpen();
    const known = this.#ledger.opened(name);
    if (known !== undefined) return known;
    assertDocumentName(name);
    const checker = schema === undefined ? null : new Checker(schema, name);
    const stored = this.#ledger.stored(name);
    if (stored !== undefined) return this.#ledger.load(name, stored, checker);
    const doc = this.#ledger.create(name, initial, checker);
    this.#onChange();
    return doc;
  }

  log(name: string, { schema }: { schema?: ZodType } = {}): TrackedLog {
    this.#assertOpen();
    assertDocumentName(name);
    const log = this.#ledger.log(name);
    if (schema !== undefined) log.checker = new Checker(schema, name);
    return log;
  }

  get logNames(): string[] {
    return [...this.#ledger.logs].map(({ name }) => name);
  }

  /** The entries that are written, from the files, as any reader finds them. */
  readLog(name: string, since = 0): unknown[] {
    const key = logKey(name);
    const source = new EntrySource(this.#disk, this.#places, this.#storeId, key);
    const count = this.#ledger.log(name).encodedLength;
    const entries: unknown[] = [];
    for (let at = since; at < count; ) {
      const portion = source.next(at, count, this.#ledger.lostOf(key));
      for (const entry of portion.entries()) entries.push(entry);
      at = portion.to;
    }
    return entries;
  }

  remove(name: string): void {
    this.#assertOpen();
    if (this.#ledger.remove(name)) this.#onChange();
  }

  /** All documents, or none. */
  transaction<R>(fn: () => Synchronous<R>): R {
    this.#assertOpen();
    return this.#ledger.changes.run(fn, 'The transaction') as R;
  }

  /** Encodes what changed, all documents in one frame, and writes it. Null when nothing had changed. */
  commit(): number | null {
    this.#assertOpen();
    this.#journal.assertReady();
    const frame = this.#ledger.encode(this.durableSeq, this.#now());
    if (frame === null) return null;
    this.#journal.append(frame);
    this.#journal.write();
    return frame.seq;
  }

  /** When this returns, everything up to this call survives a power cut. */
  flush(): void {
    this.commit();
    this.#journal.sync();
  }

  mark(): void {
    this.flush();
    this.#journal.mark();
  }

  rotate(): void {
    this.flush();
    this.#journal.rotate();
  }

  /** Writes a base of the present state; deletes what two sound bases have made superfluous. */
  compact(): string[] {
    this.rotate();
    const { durable: at, tailNumber } = this.#journal;
    const logs = new Map(this.#ledger.presentLogs());
    const common = {
      storeId: this.#storeId,
      owner: this.#owner,
      number: this.#nextNumber++,
      at,
      timeMs: this.#now(),
      logs,
    };
    moveEntries(this.#disk, this.#places, common);
    writeBase(this.#disk, this.#places, { ...common, tailNumber, documents: new Map(this.#ledger.present()) });
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

  #onChange(): void {
    if (this.#eager && !this.#ledger.changes.isOpen) this.commit();
  }

  #assertOpen(): void {
    if (this.#phase !== 'open') throw new HoldfastError('HF_CLOSED', `The store ${this.#places.directory} is closed.`);
  }
}
