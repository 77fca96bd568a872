// A tree of nodes as tests want to see it: its files, its fingerprint, its text.

import { digest } from './recording-content.js';
import type { DirectoryNode, EntryOp, FileNode, Node } from './recording-nodes.js';

/** Every file the running process can see, by path. Directories show only by what is in them. */
export function filesOf(root: DirectoryNode): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  for (const [path, node] of walk(root)) if (node.kind === 'file') files.set(path, node.current.toBuffer());
  return files;
}

/** Equal for trees that a running process cannot tell apart: names, kinds, bytes, and which names share a file. */
export function hashTree(root: DirectoryNode): string {
  const numbers = new Map<Node, number>();
  let text = '';
  for (const [path, node] of walk(root)) {
    const number = numbers.get(node) ?? numbers.size;
    numbers.set(node, number);
    text += `${number}${node.kind}${node.kind === 'file' ? node.current.hash() : ''}${path}\0`;
  }
  return digest(text);
}

/** One line per name, with what is not yet durable behind it. */
export function describeTree(root: DirectoryNode): string {
  const lines = ['/', ...pendingNames('', root)];
  for (const [path, node] of walk(root)) {
    if (node.kind === 'file') lines.push(`${path} ${describeFile(node)}`);
    else lines.push(`${path}/`, ...pendingNames(path, node));
  }
  return lines.join('\n');
}

function describeFile(node: FileNode): string {
  const pending = node.pending.map((op) => {
    const range = op.kind === 'write' ? `${op.position}+${op.length}${op.bytes ? '' : ' zeros'}` : `to ${op.size}`;
    return `${op.state} ${op.kind} ${range}`;
  });
  return `${node.current.size} bytes, ${pending.length ? `durable ${node.durable.size}; ${pending.join(', ')}` : 'durable'}`;
}

function pendingNames(path: string, node: DirectoryNode): string[] {
  return node.pending.map((op) => `  ${op.state} ${describeEntryOp(path, op)}`);
}

export function describeEntryOp(folder: string, op: EntryOp): string {
  return `${op.node === undefined ? 'remove' : 'add'} ${folder}/${op.name}`;
}

function* walk(folder: DirectoryNode, path = ''): Generator<[string, Node]> {
  for (const name of [...folder.current.keys()].sort()) {
    const node = folder.current.get(name);
    if (node === undefined) continue;
    yield [`${path}/${name}`, node];
    if (node.kind === 'directory') yield* walk(node, `${path}/${name}`);
  }
}
