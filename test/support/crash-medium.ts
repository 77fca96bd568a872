// What is uncertain about a disk, found once; then any number of disks made from it, one for each way it may turn out.

import { applyPiece, describePiece, KEPT, type Outcome, type Piece, type Script, scriptOf } from './crash-pieces.js';
import { RecordingDisk } from './recording-disk.js';
import { applyData, applyEntry, DirectoryNode, type EntryOp, FileNode, type Node } from './recording-nodes.js';
import { describeEntryOp } from './recording-view.js';

/** One way a power cut may turn out: for each entry operation whether it is kept, for each piece what becomes of it. */
export interface Fate {
  entries: boolean[];
  data: Outcome[];
}

interface UncertainEntry {
  op: EntryOp;
  text: string;
}

interface UncertainPiece {
  piece: Piece;
  path: string;
  file: FileNode;
}

export class Medium {
  readonly #root: DirectoryNode;
  /** In the order they were made, across directories. */
  readonly entries: UncertainEntry[] = [];
  readonly pieces: UncertainPiece[] = [];
  readonly #scripts = new Map<FileNode, Script>();
  readonly #entryIndex = new Map<EntryOp, number>();
  readonly #pieceIndex = new Map<Piece, number>();

  constructor(root: DirectoryNode) {
    this.#root = root;
    this.#collect(root, '', new Set());
    this.entries.sort((a, b) => a.op.order - b.op.order);
    this.entries.forEach(({ op }, index) => {
      this.#entryIndex.set(op, index);
    });
    this.pieces.forEach(({ piece }, index) => {
      this.#pieceIndex.set(piece, index);
    });
  }

  /** The disk this fate leaves; all of it is durable. Files and directories without a name are gone. */
  disk(fate: Fate): RecordingDisk {
    const root = this.#directory(this.#root, fate, new Map());
    return RecordingDisk.fromTree(root, () => this.#describe(fate));
  }

  /** Everything that may have a name after the cut. What has none is not worth a choice. */
  #collect(node: Node, path: string, seen: Set<Node>): void {
    if (seen.has(node)) return;
    seen.add(node);
    if (node.kind === 'file') {
      this.#collectPieces(node, path);
      return;
    }
    for (const op of node.pending) {
      if (op.state !== 'synced') this.entries.push({ op, text: describeEntryOp(path, op) });
      if (op.node !== undefined) this.#collect(op.node, `${path}/${op.name}`, seen);
    }
    for (const [name, child] of node.durable) this.#collect(child, `${path}/${name}`, seen);
  }

  #collectPieces(node: FileNode, path: string): void {
    if (node.pending.length === 0) return;
    const script = scriptOf(node);
    this.#scripts.set(node, script);
    for (const part of script)
      if (Array.isArray(part)) for (const piece of part) this.pieces.push({ piece, path, file: node });
  }

  #directory(node: DirectoryNode, fate: Fate, made: Map<Node, Node>): DirectoryNode {
    const directory = new DirectoryNode();
    made.set(node, directory);
    for (const [name, child] of this.#namesIn(node, fate)) {
      const known = made.get(child);
      // A file may be left under two names by half a rename; a directory never is: no repair leaves it so.
      if (known?.kind === 'directory') continue;
      const copy = known ?? (child.kind === 'file' ? this.#file(child, fate) : this.#directory(child, fate, made));
      made.set(child, copy);
      directory.current.set(name, copy);
    }
    return directory;
  }

  #namesIn(node: DirectoryNode, fate: Fate): ReadonlyMap<string, Node> {
    if (node.pending.length === 0) return node.durable;
    const names = new Map(node.durable);
    for (const op of node.pending) {
      if (op.state === 'synced' || fate.entries[this.#entryIndex.get(op) ?? -1]) applyEntry(names, op);
    }
    return names;
  }

  #file(node: FileNode, fate: Fate): FileNode {
    const script = this.#scripts.get(node);
    if (script === undefined) return new FileNode(node.durable);
    const content = node.durable.ownedBy({});
    for (const part of script) {
      if (!Array.isArray(part)) applyData(content, part);
      else for (const piece of part) applyPiece(content, piece, fate.data[this.#pieceIndex.get(piece) ?? -1] ?? KEPT);
    }
    return new FileNode(content);
  }

  #describe(fate: Fate): string {
    const lines = this.entries.map(({ text }, index) => `  ${text} ${fate.entries[index] ? 'kept' : 'lost'}`);
    const data = this.pieces.map(({ piece, path }, index) => {
      return `  ${path} ${describePiece(piece, fate.data[index] ?? KEPT)}`;
    });
    return ['power cut:', ...lines, ...data].join('\n');
  }
}
