// What the running process sees, what the medium is sure to hold, and the operations between the two.
//
// N1. `durable` changes only by a sync. Applying all of `pending` to it, in order, gives `current`.
// N2. After a failed sync what was dirty is clean and not durable: no later sync saves it, and a power cut may keep or
//     lose it (fsyncgate). What is synced after it stays in `pending` as 'synced', to be applied in its turn.
// N3. Operations are never changed, only replaced: clones share them.

import type { Content, Owner } from './recording-content.js';

export type PendingState = 'dirty' | 'failed' | 'synced';

export interface WriteOp {
  kind: 'write';
  state: PendingState;
  position: number;
  length: number;
  /** Null for zeros: a preallocation need not be held in memory. */
  bytes: Uint8Array | null;
  sizeBefore: number;
}

export interface TruncateOp {
  kind: 'truncate';
  state: PendingState;
  size: number;
}

export type DataOp = WriteOp | TruncateOp;

/** A name now means `node`, or nothing. The two halves of a rename have the same order. */
export interface EntryOp {
  state: PendingState;
  order: number;
  name: string;
  node: Node | undefined;
}

export type Node = FileNode | DirectoryNode;

/** Never the same for two files, also of two disks; a copy of a disk keeps them. No power cut depends on them. */
let lastIno = 0;

export class FileNode {
  readonly kind = 'file';
  ino = ++lastIno;
  /** How often it was changed: time without a clock. */
  mtimeMs = 0;
  mode = 0o600;
  current: Content;
  durable: Content;
  pending: DataOp[];
  #owner: Owner = {};

  constructor(current: Content, durable: Content = current, pending: DataOp[] = []) {
    this.current = current;
    this.durable = durable;
    this.pending = pending;
  }

  write(source: Uint8Array, position: number): void {
    if (source.length === 0) return;
    const sizeBefore = this.current.size;
    const bytes = isZero(source) ? null : Uint8Array.from(source);
    this.#apply({ kind: 'write', state: 'dirty', position, length: source.length, bytes, sizeBefore });
  }

  truncate(size: number): void {
    if (size !== this.current.size) this.#apply({ kind: 'truncate', state: 'dirty', size });
  }

  sync(): void {
    if (this.pending.some((op) => op.state === 'failed')) {
      this.pending = dirtyBecomes('synced', this.pending);
      return;
    }
    this.durable = this.current;
    this.pending = [];
    this.#owner = {};
  }

  failSync(): void {
    this.pending = dirtyBecomes('failed', this.pending);
  }

  clone(): FileNode {
    this.#owner = {};
    const copy = new FileNode(this.current, this.durable, this.pending.slice());
    return Object.assign(copy, { ino: this.ino, mtimeMs: this.mtimeMs, mode: this.mode });
  }

  #apply(op: DataOp): void {
    this.current = this.current.ownedBy(this.#owner);
    applyData(this.current, op);
    this.pending.push(op);
    this.mtimeMs++;
  }
}

export class DirectoryNode {
  readonly kind = 'directory';
  ino = ++lastIno;
  /** Changed in place only while it is not also `durable`. */
  current: Map<string, Node>;
  durable: ReadonlyMap<string, Node>;
  pending: EntryOp[];

  constructor(
    current = new Map<string, Node>(),
    durable: ReadonlyMap<string, Node> = current,
    pending: EntryOp[] = [],
  ) {
    this.current = current;
    this.durable = durable;
    this.pending = pending;
  }

  set(name: string, node: Node | undefined, order: number): void {
    if (this.current === this.durable) this.current = new Map(this.current);
    const op: EntryOp = { state: 'dirty', order, name, node };
    applyEntry(this.current, op);
    this.pending.push(op);
  }

  sync(): void {
    if (this.pending.some((op) => op.state === 'failed')) {
      this.pending = dirtyBecomes('synced', this.pending);
      return;
    }
    this.durable = this.current;
    this.pending = [];
  }

  failSync(): void {
    this.pending = dirtyBecomes('failed', this.pending);
  }
}

/** Copies nodes and all that hangs from them; asked twice for one node it gives one copy. */
export class Copier {
  readonly #copies = new Map<Node, Node>();

  file(node: FileNode): FileNode {
    const known = this.#copies.get(node);
    if (known?.kind === 'file') return known;
    const copy = node.clone();
    this.#copies.set(node, copy);
    return copy;
  }

  directory(node: DirectoryNode): DirectoryNode {
    const known = this.#copies.get(node);
    if (known?.kind === 'directory') return known;
    const copy = new DirectoryNode();
    copy.ino = node.ino;
    // Known before its entries are: a directory may be met again on the way down.
    this.#copies.set(node, copy);
    copy.current = this.#entries(node.current);
    copy.durable = node.durable === node.current ? copy.current : this.#entries(node.durable);
    copy.pending = node.pending.map((op) => ({ ...op, node: op.node && this.node(op.node) }));
    return copy;
  }

  node(node: Node): Node {
    return node.kind === 'file' ? this.file(node) : this.directory(node);
  }

  #entries(entries: ReadonlyMap<string, Node>): Map<string, Node> {
    const copies = new Map<string, Node>();
    for (const [name, node] of entries) copies.set(name, this.node(node));
    return copies;
  }
}

/** `content` must be owned by the caller. */
export function applyData(content: Content, op: DataOp): void {
  if (op.kind === 'truncate') content.resize(op.size);
  else if (op.bytes === null) content.writeZeros(op.position, op.length);
  else content.write(op.bytes, op.position);
}

export function applyEntry(entries: Map<string, Node>, op: EntryOp): void {
  if (op.node === undefined) entries.delete(op.name);
  else entries.set(op.name, op.node);
}

function dirtyBecomes<Op extends { state: PendingState }>(state: PendingState, ops: readonly Op[]): Op[] {
  return ops.map((op) => (op.state === 'dirty' ? { ...op, state } : op));
}

const ZEROS = Buffer.alloc(64 * 1024);

function isZero(bytes: Uint8Array): boolean {
  for (let at = 0; at < bytes.length; at += ZEROS.length) {
    const part = bytes.subarray(at, at + ZEROS.length);
    if (ZEROS.compare(part, 0, part.length, 0, part.length) !== 0) return false;
  }
  return true;
}
