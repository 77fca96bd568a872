// Frames cross to the journal thread through shared memory. A frame stays in the ring until it is durable, so that a
// successor of a dead thread finds everything that its predecessor had not finished.
//
// R1. Positions count bytes modulo 2^32 and are compared by their difference: `(a - b) >>> 0`.
// R2. The producer moves `head` only after the bytes are in place; the consumer frees them only once they are durable.
// R3. A frame over a quarter of the ring travels in a buffer of its own; the ring holds a note that says which one.

export const RING_BYTES = 1024 * 1024;

const NOTE_BYTES = 8;
const KIND_INLINE = 0;
const KIND_APART = 1;

export type Item = { kind: 'inline'; bytes: Buffer } | { kind: 'apart'; id: number };

/** The distance from position `from` forward to position `to`. */
export function distance(from: number, to: number): number {
  return (to - from) >>> 0;
}

export class Ring {
  readonly #bytes: Uint8Array;
  readonly #mask: number;

  constructor(readonly memory: SharedArrayBuffer) {
    const size = memory.byteLength;
    if (size < 64 || (size & (size - 1)) !== 0)
      throw new RangeError(`Expected a power of two of at least 64, got ${size}`);
    this.#bytes = new Uint8Array(memory);
    this.#mask = size - 1;
  }

  /** True when a frame of this size should not travel in the ring. */
  isLarge(bytes: number): boolean {
    return bytes > this.#bytes.length / 4;
  }

  /** The room a frame takes. */
  costOf(bytes: number): number {
    return NOTE_BYTES + (this.isLarge(bytes) ? 0 : bytes);
  }

  hasRoom(used: number, bytes: number): boolean {
    return used + this.costOf(bytes) <= this.#bytes.length;
  }

  /** Puts a frame at `head`; returns the position behind it. The caller has checked that there is room. */
  put(head: number, frame: Uint8Array): number {
    this.#writeNote(head, KIND_INLINE, frame.length);
    return this.#copyIn(head + NOTE_BYTES, frame);
  }

  putApart(head: number, id: number): number {
    this.#writeNote(head, KIND_APART, id);
    return (head + NOTE_BYTES) >>> 0;
  }

  /** The item at `at`, in memory of its own, and the position behind it. */
  take(at: number): { item: Item; next: number } {
    const note = Buffer.allocUnsafe(NOTE_BYTES);
    this.#copyOut(at, note);
    const value = note.readUInt32LE(4);
    const start = (at + NOTE_BYTES) >>> 0;
    if (note.readUInt32LE(0) === KIND_APART) return { item: { kind: 'apart', id: value }, next: start };
    const bytes = Buffer.allocUnsafe(value);
    this.#copyOut(start, bytes);
    return { item: { kind: 'inline', bytes }, next: (start + value) >>> 0 };
  }

  #writeNote(at: number, kind: number, value: number): void {
    this.#writeWord(at, kind);
    this.#writeWord(at + 4, value);
  }

  /** Byte by byte: a note may lie across the end of the ring. */
  #writeWord(at: number, value: number): void {
    for (let byte = 0; byte < 4; byte++) this.#bytes[(at + byte) & this.#mask] = value >>> (8 * byte);
  }

  #copyIn(at: number, source: Uint8Array): number {
    const offset = at & this.#mask;
    const first = Math.min(source.length, this.#bytes.length - offset);
    this.#bytes.set(first === source.length ? source : source.subarray(0, first), offset);
    if (first < source.length) this.#bytes.set(source.subarray(first), 0);
    return (at + source.length) >>> 0;
  }

  #copyOut(at: number, into: Uint8Array): void {
    const offset = at & this.#mask;
    const first = Math.min(into.length, this.#bytes.length - offset);
    into.set(this.#bytes.subarray(offset, offset + first));
    if (first < into.length) into.set(this.#bytes.subarray(0, into.length - first), first);
  }
}
