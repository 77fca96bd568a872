// A witness outside the tails: up to here everything was on disk. A tail cut short, put back from an old copy or deleted
// looks like an ordinary crash from inside; it cannot be lower than this without being damage.
//
// I1. Written only after what it says is durable.
// I2. Two slots, written in turn: a torn write leaves the other one.
// I3. Both have their room from the start: a disk that is full later does not silence the witness.
// I4. It only ever raises the high-water mark; without it, recovery is as strict as the tails themselves allow.

import type { Disk, Handle } from '../disk/disk.js';
import { isCode } from '../disk/faults.js';
import { readFrom, writeFully } from '../disk/files.js';
import { crc32, readU64, writeU64 } from './layout.js';
import type { Places } from './places.js';

export interface HighWater {
  storeId: Buffer;
  counter: number;
  /** The newest tail. */
  tail: number;
  /** The last commit known to be durable, and its checksum. */
  seq: number;
  crc: number;
}

const SLOT_BYTES = 64;
/** Apart by more than any sector, so that one torn sector cannot hit both. */
const SLOT_DISTANCE = 4096;
const MAGIC = 0x57484648;

export function readHighWater(disk: Disk, places: Places): HighWater | null {
  if (disk.entry(places.highWater) === null) return null;
  const bytes = readFrom(disk, places.highWater);
  const slots = [0, SLOT_DISTANCE].map((at) => decodeSlot(bytes.subarray(at, at + SLOT_BYTES)));
  return slots.reduce((best, slot) => (slot !== null && slot.counter > (best?.counter ?? -1) ? slot : best), null);
}

/** Slots that were written and cannot be read: one of them is what a power cut may leave. */
export function unreadableSlots(disk: Disk, places: Places): number {
  if (disk.entry(places.highWater) === null) return 0;
  const bytes = readFrom(disk, places.highWater);
  const slots = [0, SLOT_DISTANCE].map((at) => bytes.subarray(at, at + SLOT_BYTES));
  return slots.filter((slot) => decodeSlot(slot) === null && slot.some((byte) => byte !== 0)).length;
}

export class HighWaterWriter {
  readonly #disk: Disk;
  readonly #places: Places;
  readonly #storeId: Buffer;
  #counter: number;

  constructor(disk: Disk, places: Places, storeId: Buffer, counter: number) {
    this.#disk = disk;
    this.#places = places;
    this.#storeId = storeId;
    this.#counter = counter;
  }

  write(tail: number, seq: number, crc: number): void {
    const { handle, isNew } = this.#open();
    try {
      const counter = this.#counter + 1;
      const slot = encodeSlot({ storeId: this.#storeId, counter, tail, seq, crc });
      // I3.
      if (isNew) writeFully(this.#disk, handle, Buffer.alloc(SLOT_DISTANCE + SLOT_BYTES), 0);
      writeFully(this.#disk, handle, slot, (counter % 2) * SLOT_DISTANCE);
      this.#disk.sync(handle);
      // Only now: after a failure the same slot is written again, and the good one stays.
      this.#counter = counter;
    } finally {
      this.#disk.close(handle);
    }
    // A witness whose name is lost in a power cut is no witness.
    if (isNew) this.#disk.syncDirectory(this.#places.hidden);
  }

  #open(): { handle: Handle; isNew: boolean } {
    try {
      return { handle: this.#disk.open(this.#places.highWater, 'write'), isNew: false };
    } catch (error) {
      if (!isCode(error, 'ENOENT')) throw error;
      return { handle: this.#disk.open(this.#places.highWater, 'create'), isNew: true };
    }
  }
}

function encodeSlot({ storeId, counter, tail, seq, crc }: HighWater): Buffer {
  const bytes = Buffer.alloc(SLOT_BYTES);
  bytes.writeUInt32LE(MAGIC, 0);
  storeId.copy(bytes, 4);
  writeU64(bytes, counter, 20);
  writeU64(bytes, tail, 28);
  writeU64(bytes, seq, 36);
  bytes.writeUInt32LE(crc, 44);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 60)), 60);
  return bytes;
}

function decodeSlot(bytes: Buffer): HighWater | null {
  if (bytes.length < SLOT_BYTES || bytes.readUInt32LE(0) !== MAGIC) return null;
  if (crc32(bytes.subarray(0, 60)) !== bytes.readUInt32LE(60)) return null;
  return {
    storeId: Buffer.from(bytes.subarray(4, 20)),
    counter: readU64(bytes, 20),
    tail: readU64(bytes, 28),
    seq: readU64(bytes, 36),
    crc: bytes.readUInt32LE(44),
  };
}
