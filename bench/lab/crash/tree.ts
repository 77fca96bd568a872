// The folder as a tree that knows what of it is durable, changed by recorded calls.

import { Content } from '../../../test/support/recording-content.js';
import {
  type DataOp,
  DirectoryNode,
  type EntryOp,
  FileNode,
  type Node,
} from '../../../test/support/recording-nodes.js';
import { find, place, planRename } from '../../../test/support/recording-paths.js';
import type { Description } from './descriptors.js';
import { numberOf, type TracedCall } from './trace-text.js';

type Pending = DataOp | EntryOp;

export class Tree {
  readonly root: DirectoryNode;
  readonly #isLogged: boolean;
  readonly #callOf = new WeakMap<Pending, TracedCall>();
  #order = 0;
  #change: string | null = null;

  /** With `isLogged` all names go through one log, as on ext4 and xfs: see `sync`. */
  constructor(root: DirectoryNode, isLogged: boolean) {
    this.root = root;
    this.#isLogged = isLogged;
  }

  /** What was changed since this was last asked. */
  takeChange(): string | null {
    const change = this.#change;
    this.#change = null;
    return change;
  }

  find(path: string): Node | undefined {
    return find(this.root, path, { syscall: 'open', path });
  }

  // ── Data ──

  /** Where the description stands, or at the end. */
  append(call: TracedCall, file: Description, bytes: Buffer): void {
    if (file.isAppending && file.node.kind === 'file') file.position = file.node.current.size;
    const at = file.position;
    file.position += this.write(call, file, bytes, at);
  }

  /** How much of it was written; a call that never returned may have written all. */
  write(call: TracedCall, { node, path }: Description, bytes: Buffer, position: number): number {
    if (node.kind !== 'file') throw new Error('a directory is not written');
    const done = call.result === '?' ? bytes.length : numberOf(call.result);
    node.write(bytes.subarray(0, done), position);
    this.#note(call, node, `${call.name} ${path} ${position}+${done}`);
    return done;
  }

  resize(call: TracedCall, node: Node, path: string, size: number): void {
    if (node.kind !== 'file') throw new Error('a directory has no size');
    node.truncate(size);
    this.#note(call, node, `${call.name} ${path} to ${size}`);
  }

  /** As fallocate without flags: room that reads as zero. */
  extend(call: TracedCall, { node, path }: Description, size: number): void {
    if (node.kind === 'file' && size > node.current.size) this.resize(call, node, path, size);
  }

  // ── Names ──

  /** What an open does before there is a descriptor. */
  open(call: TracedCall, path: string, flags: string): void {
    const node = this.find(path);
    if (node === undefined && flags.includes('O_CREAT')) this.add(call, path, new FileNode(Content.empty));
    else if (node === undefined) throw new Error(`${path} is not in the model`);
    else if (node.kind === 'file' && flags.includes('O_TRUNC') && node.current.size > 0)
      this.resize(call, node, path, 0);
  }

  makeDirectory(call: TracedCall, path: string): void {
    this.add(call, path, new DirectoryNode());
  }

  add(call: TracedCall, path: string, node: Node): void {
    const at = place(this.root, path, { syscall: call.name, path });
    if (at === undefined || at.node !== undefined) throw new Error(`${path} is in the model already`);
    at.parent.set(at.name, node, this.#order++);
    this.#note(call, at.parent, `${call.name} ${path}`);
  }

  rename(call: TracedCall, from: string, to: string): void {
    const plan = planRename(this.root, from, to);
    if (plan === undefined) return;
    const order = this.#order++;
    plan.source.parent.set(plan.source.name, undefined, order);
    plan.target.parent.set(plan.target.name, plan.node, order);
    for (const folder of [plan.source.parent, plan.target.parent]) this.#note(call, folder, `rename ${from} ${to}`);
  }

  link(call: TracedCall, from: string, to: string): void {
    const node = this.find(from);
    if (node === undefined) throw new Error(`${from} is not in the model`);
    this.add(call, to, node);
  }

  remove(call: TracedCall, path: string): void {
    const at = place(this.root, path, { syscall: call.name, path });
    if (at?.node === undefined) throw new Error(`${path} is not in the model`);
    at.parent.set(at.name, undefined, this.#order++);
    this.#note(call, at.parent, `${call.name} ${path}`);
  }

  // ── Syncs ──

  /**
   * All that had ended when the sync began. A log is written from its beginning: a sync that needs it, for a name or a
   * size, takes along every name before. One of bytes in place does not need it.
   */
  sync(call: TracedCall, { node, path }: Description): void {
    const isEnded = (op: Pending) => (this.#callOf.get(op)?.end ?? -1) < call.begin;
    const folders = this.#isLogged ? [...foldersIn(this.root)] : [];
    const isInLog =
      node.pending.some(isLogged) || folders.some(({ pending }) => pending.some((op) => op.node === node));
    settle(node, isEnded);
    if (isInLog) for (const folder of folders) settle(folder, isEnded);
    this.#change = `${call.name} ${path}`;
  }

  /** A sync that was left out is still a step: the one after it must not be blamed. */
  skipSync(call: TracedCall, { path }: Description): void {
    this.#change = `${call.name} ${path}, left out`;
  }

  /** Of a descriptor that syncs as it writes. */
  syncWrite(call: TracedCall, { node }: Description): void {
    settle(node, (op) => this.#callOf.get(op) === call);
  }

  #note(call: TracedCall, node: Node, change: string): void {
    for (const op of node.pending) if (!this.#callOf.has(op)) this.#callOf.set(op, call);
    this.#change = change;
  }
}

function isLogged(op: Pending): boolean {
  if (!('kind' in op)) return true;
  return op.kind === 'truncate' || op.position + op.length > op.sizeBefore;
}

/** Every folder that has a name, or may have one after a crash. */
function foldersIn(root: DirectoryNode, known = new Set<DirectoryNode>()): Set<DirectoryNode> {
  if (known.has(root)) return known;
  known.add(root);
  const nodes = [...root.current.values(), ...root.durable.values(), ...root.pending.map((op) => op.node)];
  for (const node of nodes) if (node?.kind === 'directory') foldersIn(node, known);
  return known;
}

/** What matches is durable: all that is pending at once, or single operations between others that are not. */
function settle(node: Node, isCovered: (op: Pending) => boolean): void {
  const settled = <Op extends Pending>(op: Op): Op => (isCovered(op) ? { ...op, state: 'synced' } : op);
  if (node.pending.every((op) => op.state === 'synced' || isCovered(op))) node.sync();
  else if (node.kind === 'file') node.pending = node.pending.map(settled);
  else node.pending = node.pending.map(settled);
}
