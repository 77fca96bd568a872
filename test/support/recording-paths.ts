// Finding nodes by path, and the order in which Linux says no to a rename.

import { diskError } from './recording-calls.js';
import type { DirectoryNode, Node } from './recording-nodes.js';

export interface Place {
  parent: DirectoryNode;
  name: string;
  node: Node | undefined;
}

export interface Errand {
  syscall: string;
  path: string;
  dest?: string;
}

/** The node at a path. Undefined when only its last name is missing; the root is always there. */
export function find(root: DirectoryNode, path: string, errand: Errand): Node | undefined {
  return path === '/' ? root : place(root, path, errand)?.node;
}

/** Where a path's last name is kept. Undefined for the root, which has no name. */
export function place(root: DirectoryNode, path: string, errand: Errand): Place | undefined {
  const names = namesOf(path);
  const name = names.pop();
  if (name === undefined) return undefined;
  let parent = root;
  for (const step of names) {
    const next = parent.current.get(step);
    if (next === undefined) throw refusal('ENOENT', errand);
    if (next.kind !== 'directory') throw refusal('ENOTDIR', errand);
    parent = next;
  }
  return { parent, name, node: parent.current.get(name) };
}

/** What a rename would move, and onto what. Undefined when both names mean one file: POSIX then does nothing. */
export function planRename(root: DirectoryNode, from: string, to: string) {
  const errand = { syscall: 'rename', path: from, dest: to };
  const source = place(root, from, errand);
  const target = place(root, to, errand);
  if (source === undefined || target === undefined) throw refusal('EBUSY', errand);
  const { node } = source;
  if (node === undefined) throw refusal('ENOENT', errand);
  if (to.startsWith(`${from}/`)) throw refusal('EINVAL', errand);
  if (from.startsWith(`${to}/`)) throw refusal('ENOTEMPTY', errand);
  if (node === target.node) return undefined;
  refuseTarget(node, target.node, errand);
  return { source, target, node };
}

function refuseTarget(node: Node, target: Node | undefined, errand: Errand): void {
  if (target === undefined) return;
  if (node.kind === 'file') {
    if (target.kind === 'directory') throw refusal('EISDIR', errand);
    return;
  }
  if (target.kind === 'file') throw refusal('ENOTDIR', errand);
  if (target.current.size > 0) throw refusal('ENOTEMPTY', errand);
}

export function refusal(code: string, { syscall, path, dest }: Errand): Error {
  return diskError(code, syscall, path, dest);
}

function namesOf(path: string): string[] {
  if (path === '/') return [];
  const [first, ...names] = path.split('/');
  // Strict on purpose: a path that needs tidying is a mistake in the code under test.
  if (first !== '' || names.length === 0 || names.some((name) => name === '' || name === '.' || name === '..')) {
    throw new TypeError(`Expected an absolute path without empty names, '.' or '..', got '${path}'`);
  }
  return names;
}
