// A disk in memory that knows two things at once: what the running process sees, and what a power cut would leave.
//
// D1. A sync makes a file's bytes and size durable, not its name; a name takes a sync of its directory.
// D2. Every mutating or syncing call is one step, also when it fails. Equal calls give equal steps: no clock, no chance.
// D3. A handle means the file, not the name: it outlives rename and unlink. Handles are never reused.
//
// Not modelled: what a power cut does to modes and times, symbolic links, free space, removing directories.

import type { Access, Details, Handle, PublicDisk } from '../../src/disk/disk.js';
import { isCode } from '../../src/disk/faults.js';
import { diskError, Stopped, SYSCALLS } from './recording-calls.js';
import { Content } from './recording-content.js';
import { Copier, DirectoryNode, FileNode, type Node } from './recording-nodes.js';
import { find, place, planRename } from './recording-paths.js';
import { Recorder, type RecordingOptions } from './recording-recorder.js';
import { describeTree, filesOf, hashTree } from './recording-view.js';

export { type Call, faultOf, Stopped } from './recording-calls.js';
export type { RecordingOptions, Verdict } from './recording-recorder.js';

interface Open {
  node: Node;
  path: string;
  access: Access;
}

export class RecordingDisk extends Recorder implements PublicDisk {
  /** Of a crash state: what the power cut kept and lost. */
  origin: () => string = () => '';
  #root = new DirectoryNode();
  #handles = new Map<Handle, Open>();
  #nextHandle = 3;
  #order = 0;

  // ── What tests ask. Works on a stopped disk too, and is no step. ──

  /** A disk that holds these files, all of it durable. */
  static fromFiles(files: ReadonlyMap<string, Uint8Array>, options?: RecordingOptions): RecordingDisk {
    const disk = new RecordingDisk(options);
    for (const [path, bytes] of files) {
      const names = path.split('/').slice(1);
      for (let depth = 1; depth < names.length; depth++) disk.#addDurable(names.slice(0, depth), new DirectoryNode());
      disk.#addDurable(names, new FileNode(Content.of(bytes)));
    }
    return disk;
  }

  /** A disk with this tree, which is its own from now on. */
  static fromTree(root: DirectoryNode, origin: () => string): RecordingDisk {
    const disk = new RecordingDisk();
    disk.#root = root;
    disk.origin = origin;
    return disk;
  }

  get root(): DirectoryNode {
    return this.#root;
  }

  /** A deep copy: open handles, pending operations, calls so far and stop. Hooks stay behind. */
  clone(): RecordingDisk {
    const copier = new Copier();
    const copy = RecordingDisk.fromTree(copier.directory(this.#root), this.origin);
    this.copyRecordTo(copy);
    for (const [handle, open] of this.#handles) copy.#handles.set(handle, { ...open, node: copier.node(open.node) });
    copy.#nextHandle = this.#nextHandle;
    copy.#order = this.#order;
    return copy;
  }

  /** The process is gone, the machine is not: what it saw stays, what was pending stays pending. Begins at step 0. */
  afterKill(): RecordingDisk {
    const copy = RecordingDisk.fromTree(new Copier().directory(this.#root), this.origin);
    copy.#order = this.#order;
    return copy;
  }

  /** Every file the running process can see, by path. Empty directories do not show. */
  files(): Map<string, Uint8Array> {
    return filesOf(this.#root);
  }

  /** Equal for disks that a running process cannot tell apart. */
  hash(): string {
    return hashTree(this.#root);
  }

  dump(): string {
    return [this.origin(), describeTree(this.#root)].filter((part) => part !== '').join('\n');
  }

  // ── Disk ──

  open(path: string, access: Access, mode = 0o600): Handle {
    const isCreate = access === 'create';
    this.judge(isCreate ? this.step('open', path) : this.look('open', path));
    const node = isCreate ? this.#add(path, 'open', new FileNode(Content.empty)) : this.#existing(path, 'open');
    if (isCreate && node.kind === 'file') node.mode = mode;
    if (node.kind === 'directory' && access === 'write') throw diskError('EISDIR', 'open', path);
    const handle = this.#nextHandle++;
    this.#handles.set(handle, { node, path, access });
    return handle;
  }

  close(handle: Handle): void {
    const call = this.look('close', this.#pathOf(handle));
    const wasOpen = this.#handles.delete(handle);
    // Judged last: on Linux a close that fails has closed all the same.
    this.judge(call);
    if (!wasOpen) throw diskError('EBADF', 'close');
  }

  read(handle: Handle, into: Uint8Array, offset: number, length: number, position: number): number {
    const granted = this.judge(this.look('read', this.#pathOf(handle), { position, length }));
    const { node } = this.#opened(handle, 'read');
    if (node.kind === 'directory') throw diskError('EISDIR', 'read');
    checkRange(into, offset, length);
    return node.current.read(into, offset, granted, position);
  }

  write(handle: Handle, from: Uint8Array, offset: number, length: number, position: number): number {
    const granted = this.judge(this.step('write', this.#pathOf(handle), { position, length }));
    const node = this.#writable(handle, 'write', 'EBADF');
    checkRange(from, offset, length);
    const done = this.untilStop(granted);
    node.write(from.subarray(offset, offset + done), position);
    if (this.isDying) throw new Stopped(this.steps);
    return done;
  }

  size(handle: Handle): number {
    this.judge(this.look('size', this.#pathOf(handle)));
    return sizeOf(this.#opened(handle, 'size').node);
  }

  truncate(handle: Handle, size: number): void {
    this.judge(this.step('truncate', this.#pathOf(handle)));
    // As Node does with a negative size.
    this.#writable(handle, 'truncate', 'EINVAL').truncate(Math.max(0, size));
  }

  syncData(handle: Handle): void {
    this.#sync('syncData', this.#pathOf(handle), () => this.#opened(handle, 'syncData').node);
  }

  sync(handle: Handle): void {
    this.#sync('sync', this.#pathOf(handle), () => this.#opened(handle, 'sync').node);
  }

  syncDirectory(path: string): void {
    // Not only directories: the real disk opens whatever is there and syncs it.
    this.#sync('syncDirectory', path, () => this.#existing(path, 'open'));
  }

  rename(from: string, to: string): void {
    this.judge(this.step('rename', from, { to }));
    const plan = planRename(this.#root, from, to);
    if (plan === undefined) return;
    const order = this.#order++;
    plan.source.parent.set(plan.source.name, undefined, order);
    plan.target.parent.set(plan.target.name, plan.node, order);
  }

  link(existing: string, path: string): void {
    this.judge(this.step('link', existing, { to: path }));
    const errand = { syscall: 'link', path: existing, dest: path };
    const node = find(this.#root, existing, errand);
    if (node === undefined) throw diskError('ENOENT', 'link', existing, path);
    const at = place(this.#root, path, errand);
    if (at === undefined || at.node !== undefined) throw diskError('EEXIST', 'link', existing, path);
    if (node.kind === 'directory') throw diskError('EPERM', 'link', existing, path);
    at.parent.set(at.name, node, this.#order++);
  }

  unlink(path: string): void {
    this.judge(this.step('unlink', path));
    const at = place(this.#root, path, { syscall: 'unlink', path });
    if (at === undefined || at.node?.kind === 'directory') throw diskError('EISDIR', 'unlink', path);
    if (at.node === undefined) throw diskError('ENOENT', 'unlink', path);
    at.parent.set(at.name, undefined, this.#order++);
  }

  makeDirectory(path: string, _mode?: number): void {
    this.judge(this.step('makeDirectory', path));
    this.#add(path, 'mkdir', new DirectoryNode());
  }

  list(path: string): string[] {
    this.judge(this.look('list', path));
    const node = this.#existing(path, 'scandir');
    if (node.kind !== 'directory') throw diskError('ENOTDIR', 'scandir', path);
    return [...node.current.keys()];
  }

  entry(path: string): Details | null {
    this.judge(this.look('entry', path));
    const node = this.#found(path);
    if (node === null) return null;
    const { mtimeMs, mode } = node.kind === 'file' ? node : { mtimeMs: 0, mode: 0o700 };
    return { kind: node.kind, size: sizeOf(node), ino: node.ino, mtimeMs, mode };
  }

  realPath(path: string): string {
    this.judge(this.look('realPath', path));
    this.#existing(path, 'lstat');
    return path;
  }

  setMode(handle: Handle, mode: number): void {
    this.judge(this.step('setMode', this.#pathOf(handle)));
    this.#writable(handle, 'setMode', 'EPERM').mode = mode;
  }

  // ── Shared by the calls above ──

  #sync(name: 'sync' | 'syncData' | 'syncDirectory', path: string, resolve: () => Node): void {
    const call = this.step(name, path);
    const node = resolve();
    try {
      this.judge(call);
    } catch (error) {
      node.failSync();
      throw error;
    }
    if (!this.ignoreSync?.(call)) node.sync();
  }

  #add<Kind extends Node>(path: string, syscall: string, node: Kind): Kind {
    const at = place(this.#root, path, { syscall, path });
    if (at === undefined || at.node !== undefined) throw diskError('EEXIST', syscall, path);
    at.parent.set(at.name, node, this.#order++);
    return node;
  }

  #addDurable(names: string[], node: Node): void {
    const path = `/${names.join('/')}`;
    const at = place(this.#root, path, { syscall: 'fromFiles', path });
    if (at === undefined) throw new TypeError("Expected the path of a file, got '/'");
    if (at.node?.kind === 'directory' && node.kind === 'directory') return;
    if (at.node !== undefined) throw new TypeError(`Expected one file per path, got '${path}' as more than one thing`);
    at.parent.current.set(at.name, node);
  }

  #existing(path: string, syscall: string): Node {
    const node = find(this.#root, path, { syscall, path });
    if (node === undefined) throw diskError('ENOENT', syscall, path);
    return node;
  }

  #found(path: string): Node | null {
    try {
      return this.#existing(path, 'lstat');
    } catch (error) {
      if (isCode(error, 'ENOENT')) return null;
      throw error;
    }
  }

  #opened(handle: Handle, name: keyof PublicDisk): Open {
    const open = this.#handles.get(handle);
    if (open === undefined) throw diskError('EBADF', SYSCALLS[name]);
    return open;
  }

  #writable(handle: Handle, name: keyof PublicDisk, code: string): FileNode {
    const { node, access } = this.#opened(handle, name);
    if (node.kind === 'directory' || access === 'read') throw diskError(code, SYSCALLS[name]);
    return node;
  }

  #pathOf(handle: Handle): string {
    return this.#handles.get(handle)?.path ?? '';
  }
}

// What a directory says of its own size differs between file systems.
const DIRECTORY_BYTES = 4096;

function sizeOf(node: Node): number {
  return node.kind === 'file' ? node.current.size : DIRECTORY_BYTES;
}

function checkRange(bytes: Uint8Array, offset: number, length: number): void {
  if (offset >= 0 && length >= 0 && offset + length <= bytes.length) return;
  const message = `Expected a range within ${bytes.length} bytes, got ${length} from ${offset}`;
  throw Object.assign(new RangeError(message), { code: 'ERR_OUT_OF_RANGE' });
}
