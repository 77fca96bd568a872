// A disk in memory for tests: `open(memory())` is the store itself, with no threads and no files. Then crash it.

import { GROUND, type OpenableDisk } from '../ground.js';
import { isHiddenName } from '../journal/places.js';
import { diskError, FAILING_CALLS, type FailingCall, type Faults, MemoryFiles, partsOf } from './memory-files.js';
import { MemoryGround } from './memory-ground.js';
import { FileNode, FolderNode } from './nodes.js';

/** The store's directory, as its messages name it. */
const HOME = '/memory';

/**
 * - 'kill': the process is gone, the machine runs on. What was handed over stays. Lost: what `coalesceMs` still held
 *   back, and a transaction that was not at its end.
 * - 'power': everything that was not synced is lost. What was flushed stays.
 */
export type Crash = 'kill' | 'power';

export class MemoryDisk implements OpenableDisk {
  readonly #faults: Faults = new Map();
  #owner = 0;
  #ground: MemoryGround;

  constructor() {
    const root = new FolderNode();
    root.set(partsOf(HOME)[0] as string, new FolderNode());
    root.sync();
    this.#ground = this.#begin(root);
  }

  get [GROUND](): { home: string; ground: object } {
    return { home: HOME, ground: this.#ground };
  }

  /**
   * The process ends here, in the worst way. Whatever was opened on this disk is dead: its calls fail with HF_CLOSED. Open
   * the disk again to see what is left.
   * @param how @default 'kill'
   */
  crash(how: Crash = 'kill'): void {
    if (how !== 'kill' && how !== 'power')
      throw new TypeError(`Expected 'kill' or 'power', got ${JSON.stringify(how)}`);
    const { root } = this.#ground.disk;
    this.#ground.die();
    if (how === 'power') root.cutPower();
    this.#ground = this.#begin(root);
  }

  /**
   * The next call of this kind fails with this code, as a real disk would say it: 'ENOSPC', 'EIO', 'EROFS' …
   * @param times How often. `Infinity`: until it is called with 0. @default 1
   */
  failNext(call: FailingCall, code: string, times = 1): void {
    // A call that is never made never fails: the test would show nothing.
    if (!FAILING_CALLS.includes(call))
      throw new TypeError(`Expected one of ${FAILING_CALLS.join(', ')}, got ${JSON.stringify(call)}`);
    if (times > 0) this.#faults.set(call, { code, times });
    else this.#faults.delete(call);
  }

  /** The files below a folder of the store, by name. Without a folder those that people see: the store's own are in '.holdfast'. */
  files(folder = ''): string[] {
    const found: string[] = [];
    const node = this.#disk.find(`${HOME}/${folder}`);
    if (node?.kind === 'directory') collect(node, partsOf(folder).join('/'), folder === '', found);
    return found.sort();
  }

  /** A file as text; 'loop.json'. Throws ENOENT when it is not there. */
  readFile(path: string): string {
    return this.readBytes(path).toString();
  }

  readBytes(path: string): Buffer {
    return Buffer.from(this.#disk.file(`${HOME}/${path}`, 'open').bytes);
  }

  /** Writes a file as somebody else would: to give the store something to import, or to damage what is there. Survives every crash. */
  writeFile(path: string, content: string | Uint8Array): void {
    const parts = partsOf(`${HOME}/${path}`);
    const name = parts.pop() as string;
    const folder = this.#makeFolders(parts);
    let node = folder.names.get(name);
    if (node?.kind === 'directory') throw diskError('EISDIR', 'open', path);
    if (node === undefined) {
      node = new FileNode(0o644);
      folder.set(name, node);
      folder.sync();
    }
    node.truncate(0);
    node.write(Buffer.from(content), 0);
    node.sync();
  }

  /** Removes a file as somebody else would. */
  removeFile(path: string): void {
    const parts = partsOf(`${HOME}/${path}`);
    const name = parts.pop() as string;
    this.#disk.file(`${HOME}/${path}`, 'unlink');
    const folder = this.#disk.find(parts.join('/')) as FolderNode;
    folder.set(name, null);
    folder.sync();
  }

  get #disk(): MemoryFiles {
    return this.#ground.disk;
  }

  #begin(root: FolderNode): MemoryGround {
    return new MemoryGround(new MemoryFiles(root, this.#faults), (above) => {
      this.#owner = Math.max(this.#owner, above) + 1;
      return this.#owner;
    });
  }

  #makeFolders(parts: readonly string[]): FolderNode {
    let folder = this.#disk.root;
    for (const part of parts) {
      let next = folder.names.get(part);
      if (next?.kind === 'file') throw diskError('ENOTDIR', 'mkdir', parts.join('/'));
      if (next === undefined) {
        next = new FolderNode();
        folder.set(part, next);
        folder.sync();
      }
      folder = next;
    }
    return folder;
  }
}

/** A disk for `open`. Each is one store; it is gone with the last reference to it. */
export function memory(): MemoryDisk {
  return new MemoryDisk();
}

function collect(folder: FolderNode, path: string, isOwnLeftOut: boolean, found: string[]): void {
  for (const [name, node] of folder.names) {
    const below = path === '' ? name : `${path}/${name}`;
    if (node.kind === 'file') found.push(below);
    else if (!isOwnLeftOut || !isHiddenName(name)) collect(node, below, isOwnLeftOut, found);
  }
}
