// Files and folders in memory. Each remembers how to take back what was done to it since it was last synced: that is what
// a power cut does.

/** Takes one change back. */
type Undo = () => void;

let nextIno = 1;
/** In place of a time: no two states of a file have the same. */
let nextChange = 1;

export class FileNode {
  readonly kind = 'file';
  readonly ino = nextIno++;
  mode: number;
  changedAt = nextChange++;
  #bytes: Buffer = Buffer.alloc(0);
  #size = 0;
  #undo: Undo[] = [];

  constructor(mode: number) {
    this.mode = mode;
  }

  get size(): number {
    return this.#size;
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#size);
  }

  write(from: Uint8Array, position: number): void {
    // Writing nothing beyond the end does not move the end.
    if (from.length === 0) return;
    const end = position + from.length;
    const size = this.#size;
    const old = Buffer.from(this.#bytes.subarray(Math.min(position, size), Math.min(end, size)));
    this.#makeRoom(end);
    this.#bytes.set(from, position);
    this.#size = Math.max(size, end);
    this.#changed(() => {
      this.#bytes.set(old, position);
      this.#bytes.fill(0, size);
      this.#size = size;
    });
  }

  truncate(size: number): void {
    const old = Buffer.from(this.bytes);
    if (size > old.length) this.#makeRoom(size);
    else this.#bytes = Buffer.from(old.subarray(0, size));
    this.#size = size;
    this.#changed(() => {
      this.#bytes = old;
      this.#size = old.length;
    });
  }

  sync(): void {
    this.#undo = [];
  }

  cutPower(): void {
    for (const undo of this.#undo.reverse()) undo();
    this.#undo = [];
  }

  /** What is between the end of the file and the end of its room is zero: a write beyond the end leaves a hole of zeros. */
  #makeRoom(end: number): void {
    if (end <= this.#bytes.length) return;
    const room = Buffer.alloc(Math.max(end, 2 * this.#bytes.length));
    this.#bytes.copy(room, 0, 0, this.#size);
    this.#bytes = room;
  }

  #changed(undo: Undo): void {
    this.changedAt = nextChange++;
    this.#undo.push(undo);
  }
}

export type Node = FileNode | FolderNode;

export class FolderNode {
  readonly kind = 'directory';
  readonly ino = nextIno++;
  readonly changedAt = nextChange++;
  readonly size = 0;
  readonly mode = 0o755;
  readonly #names = new Map<string, Node>();
  #undo: Undo[] = [];

  get names(): ReadonlyMap<string, Node> {
    return this.#names;
  }

  /** Null: the name is gone. */
  set(name: string, node: Node | null): void {
    const old = this.#names.get(name) ?? null;
    this.#put(name, node);
    this.#undo.push(() => this.#put(name, old));
  }

  sync(): void {
    this.#undo = [];
  }

  /** Nothing that was not synced is left, in here and below. */
  cutPower(): void {
    for (const undo of this.#undo.reverse()) undo();
    this.#undo = [];
    for (const node of this.#names.values()) node.cutPower();
  }

  #put(name: string, node: Node | null): void {
    if (node === null) this.#names.delete(name);
    else this.#names.set(name, node);
  }
}
