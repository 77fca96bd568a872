// The calls of a disk, on files in memory. One object lives from one crash to the next: whoever still holds it after that
// is a process that is no more, and is refused.

import type { Access, Details, Handle, PublicDisk } from '../disk/disk.js';
import { HoldfastError } from '../errors.js';
import { FileNode, FolderNode, type Node } from './nodes.js';

/** The calls that can be made to fail. 'sync' is that of a file's data too. */
export type FailingCall = (typeof FAILING_CALLS)[number];

export const FAILING_CALLS = ['open', 'write', 'sync', 'syncDirectory', 'rename', 'link', 'unlink', 'read'] as const;

/** What each call is to fail with, and how often. Shared by all lives of a disk. */
export type Faults = Map<FailingCall, { code: string; times: number }>;

export class MemoryFiles implements PublicDisk {
  readonly root: FolderNode;
  readonly #faults: Faults;
  readonly #handles = new Map<Handle, FileNode>();
  #nextHandle = 1;
  #isDead = false;

  constructor(root: FolderNode, faults: Faults) {
    this.root = root;
    this.#faults = faults;
  }

  /** From now on every call is refused. */
  die(): void {
    this.#isDead = true;
    this.#handles.clear();
  }

  open(path: string, access: Access, mode = 0o600): Handle {
    this.#enter('open', path);
    const handle = this.#nextHandle++;
    if (access === 'create') {
      const { folder, name } = this.#placeOf(path, 'open');
      if (folder.names.has(name)) throw diskError('EEXIST', 'open', path);
      const file = new FileNode(mode);
      folder.set(name, file);
      this.#handles.set(handle, file);
    } else this.#handles.set(handle, this.file(path, 'open'));
    return handle;
  }

  close(handle: Handle): void {
    // Also after a crash: there is nothing to let go of then.
    this.#handles.delete(handle);
  }

  read(handle: Handle, into: Uint8Array, offset: number, length: number, position: number): number {
    const file = this.#opened('read', handle);
    const part = file.bytes.subarray(position, position + length);
    into.set(part, offset);
    return part.length;
  }

  write(handle: Handle, from: Uint8Array, offset: number, length: number, position: number): number {
    this.#opened('write', handle).write(from.subarray(offset, offset + length), position);
    return length;
  }

  size(handle: Handle): number {
    return this.#opened(null, handle).size;
  }

  truncate(handle: Handle, size: number): void {
    this.#opened('write', handle).truncate(size);
  }

  syncData(handle: Handle): void {
    this.sync(handle);
  }

  sync(handle: Handle): void {
    this.#opened('sync', handle).sync();
  }

  syncDirectory(path: string): void {
    this.#enter('syncDirectory', path);
    this.#folder(path, 'fsync').sync();
  }

  rename(from: string, to: string): void {
    this.#enter('rename', from);
    const source = this.#placeOf(from, 'rename');
    const target = this.#placeOf(to, 'rename');
    const node = this.#node(from, 'rename');
    const replaced = target.folder.names.get(target.name);
    // Two names of one file: nothing happens, as POSIX has it.
    if (replaced === node) return;
    if (replaced?.kind === 'directory') throw diskError('EISDIR', 'rename', to);
    target.folder.set(target.name, node);
    source.folder.set(source.name, null);
  }

  link(existing: string, path: string): void {
    this.#enter('link', existing);
    const file = this.file(existing, 'link');
    const { folder, name } = this.#placeOf(path, 'link');
    if (folder.names.has(name)) throw diskError('EEXIST', 'link', path);
    folder.set(name, file);
  }

  unlink(path: string): void {
    this.#enter('unlink', path);
    this.file(path, 'unlink');
    const { folder, name } = this.#placeOf(path, 'unlink');
    folder.set(name, null);
  }

  makeDirectory(path: string): void {
    this.#enter(null, path);
    const { folder, name } = this.#placeOf(path, 'mkdir');
    if (folder.names.has(name)) throw diskError('EEXIST', 'mkdir', path);
    folder.set(name, new FolderNode());
  }

  list(path: string): string[] {
    this.#enter(null, path);
    return [...this.#folder(path, 'scandir').names.keys()];
  }

  entry(path: string): Details | null {
    this.#enter(null, path);
    const node = this.find(path);
    if (node === null) return null;
    const { kind, size, ino, mode, changedAt: mtimeMs } = node;
    return { kind, size, ino, mtimeMs, mode };
  }

  realPath(path: string): string {
    this.#enter(null, path);
    this.#node(path, 'realpath');
    return path;
  }

  setMode(handle: Handle, mode: number): void {
    this.#opened(null, handle).mode = mode;
  }

  find(path: string): Node | null {
    let node: Node | undefined = this.root;
    for (const part of partsOf(path)) {
      if (node === undefined) return null;
      if (node.kind === 'file') throw diskError('ENOTDIR', 'lstat', path);
      node = node.names.get(part);
    }
    return node ?? null;
  }

  file(path: string, call: string): FileNode {
    const node = this.#node(path, call);
    if (node.kind === 'directory') throw diskError('EISDIR', call, path);
    return node;
  }

  #node(path: string, call: string): Node {
    const node = this.find(path);
    if (node === null) throw diskError('ENOENT', call, path);
    return node;
  }

  #folder(path: string, call: string): FolderNode {
    const node = this.#node(path, call);
    if (node.kind === 'file') throw diskError('ENOTDIR', call, path);
    return node;
  }

  #placeOf(path: string, call: string): { folder: FolderNode; name: string } {
    const parts = partsOf(path);
    const name = parts.pop();
    if (name === undefined) throw diskError('EEXIST', call, path);
    return { folder: this.#folder(parts.join('/'), call), name };
  }

  #opened(call: FailingCall | null, handle: Handle): FileNode {
    this.#enter(call, '');
    const file = this.#handles.get(handle);
    if (file === undefined) throw diskError('EBADF', call ?? 'fstat', String(handle));
    return file;
  }

  #enter(call: FailingCall | null, path: string): void {
    if (this.#isDead)
      throw new HoldfastError('HF_CLOSED', 'The disk has crashed since this was opened. Open it again.');
    const fault = call === null ? undefined : this.#faults.get(call);
    if (fault === undefined || call === null) return;
    if (--fault.times <= 0) this.#faults.delete(call);
    throw diskError(fault.code, call, path);
  }
}

export function partsOf(path: string): string[] {
  return path.split(/[\\/]/).filter((part) => part !== '' && part !== '.');
}

export function diskError(code: string, call: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${call} '${path}'`), { code, syscall: call, path });
}
