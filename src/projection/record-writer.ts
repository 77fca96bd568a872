// The writing end of the record (record.ts has the rules).

import type { Disk, Handle } from '../disk/disk.js';
import { writeFault } from '../disk/faults.js';
import { writeFully } from '../disk/files.js';
import { HoldfastError } from '../errors.js';
import type { Places } from '../journal/places.js';
import { type Edition, encodeEdition, encodeRemoval, encodeWitness, readRecord, recordPath } from './record.js';
import { fill, misread, removeTemp } from './stage.js';

/** Runs `fn` while nobody else can publish into this store. What runs inside is short. */
export type Critical = <R>(fn: () => R) => R;

/** Beside four times what the live entries need: small stores should not rewrite it at every turn. */
const SPARE_BYTES = 64 * 1024;

export class RecordWriter {
  readonly #disk: Disk;
  readonly #places: Places;
  readonly #storeId: Buffer;
  readonly #editions: Map<string, Edition>;
  #durableSeq: number;
  /** Null until the first entry, and after a failure: a descriptor whose sync failed is never synced again. */
  #file: { handle: Handle; end: number; bytesMax: number } | null = null;

  constructor(disk: Disk, places: Places, storeId: Buffer) {
    this.#disk = disk;
    this.#places = places;
    this.#storeId = storeId;
    const { editions, durableSeq } = readRecord(disk, places, storeId);
    this.#editions = editions;
    this.#durableSeq = durableSeq;
  }

  get editions(): ReadonlyMap<string, Edition> {
    return this.#editions;
  }

  get(name: string): Edition | undefined {
    return this.#editions.get(name);
  }

  /** When this returns, the entry survives a power cut. When it throws, it may or may not be there: both are sound. */
  append(edition: Edition, critical: Critical): void {
    const before = this.#editions.get(edition.name);
    this.#durableSeq = Math.max(this.#durableSeq, edition.durableSeq);
    this.#editions.set(edition.name, edition);
    try {
      this.#write(encodeEdition(this.#storeId, edition), critical, true);
    } catch (error) {
      if (before === undefined) this.#editions.delete(edition.name);
      else this.#editions.set(edition.name, before);
      throw error;
    }
  }

  /**
   * The newest edition is in place for good: what it replaced is in the backups now, and, put back by hand, somebody's
   * choice. Not synced: if a power cut takes this, both are taken for ours as before.
   */
  settle(name: string, backups: number, critical: Critical): void {
    const edition = this.#editions.get(name);
    if (edition === undefined || edition.over === null) return;
    const older = [edition.over, ...edition.older].slice(0, backups + 1);
    const settled: Edition = { ...edition, over: null, older };
    this.#editions.set(name, settled);
    this.#writeIfPossible(encodeEdition(this.#storeId, settled), critical);
  }

  /** The document's file is gone for good. Not synced: an entry without a file does no harm. */
  forget(name: string, critical: Critical): void {
    if (!this.#editions.delete(name)) return;
    this.#writeIfPossible(encodeRemoval(this.#storeId, name, this.#durableSeq), critical);
  }

  close(): void {
    const file = this.#file;
    // First: a close that fails has closed all the same.
    this.#file = null;
    if (file !== null) this.#disk.close(file.handle);
  }

  #writeIfPossible(bytes: Buffer, critical: Critical): void {
    try {
      this.#write(bytes, critical, false);
    } catch (error) {
      // What it would have said is true all the same, and is written with the next entry: that one rewrites the record.
      if (!(error instanceof HoldfastError)) throw error;
    }
  }

  #write(bytes: Buffer, critical: Critical, isSynced: boolean): void {
    const file = this.#file;
    if (file === null || file.end + bytes.length > file.bytesMax) {
      critical(() => this.#rewrite());
      return;
    }
    try {
      writeFully(this.#disk, file.handle, bytes, file.end);
      if (isSynced) this.#disk.syncData(file.handle);
      file.end += bytes.length;
    } catch (error) {
      this.close();
      throw writeFault(error, 'Writing to', recordPath(this.#places));
    }
  }

  /** Only what counts, in a file of our own. */
  #rewrite(): void {
    this.close();
    const parts = [encodeWitness(this.#storeId, this.#durableSeq)];
    for (const edition of this.#editions.values()) parts.push(encodeEdition(this.#storeId, edition));
    const whole = Buffer.concat(parts);
    const temp = this.#places.temp('projections');
    const handle = this.#replace(temp, whole);
    this.#file = { handle, end: whole.length, bytesMax: 4 * whole.length + SPARE_BYTES };
  }

  /** Not by a link, as truth gets its names: here an older file is to be replaced. */
  #replace(temp: string, whole: Buffer): Handle {
    const path = recordPath(this.#places);
    let handle: Handle | null = null;
    try {
      handle = this.#disk.open(temp, 'create');
      if (!fill(this.#disk, handle, temp, whole).equals(whole)) throw misread(temp);
      this.#disk.rename(temp, path);
      // Entries will be relied on as soon as they are in this file, so it has to be the one that is found.
      this.#disk.syncDirectory(this.#places.hidden);
      return handle;
    } catch (error) {
      if (handle !== null) this.#disk.close(handle);
      removeTemp(this.#disk, temp);
      throw writeFault(error, 'Writing', path);
    }
  }
}
