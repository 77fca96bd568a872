// Files in memory that can only be read: what recovery concludes from bytes, thousands of times a second.

import type { Disk, Entry, Handle } from '../../src/disk/disk.js';
import { diskError } from './recording-calls.js';

export class MapDisk implements Disk {
  readonly #files: Map<string, Buffer>;
  readonly #handles: string[] = [];
  bytesRead = 0;

  constructor(files: ReadonlyMap<string, Uint8Array>) {
    this.#files = new Map([...files].map(([path, bytes]) => [path, Buffer.from(bytes)]));
  }

  get paths(): string[] {
    return [...this.#files.keys()];
  }

  bytes(path: string): Buffer {
    const bytes = this.#files.get(path);
    if (bytes === undefined) throw diskError('ENOENT', 'open', path);
    return bytes;
  }

  put(path: string, bytes: Buffer | null): void {
    if (bytes === null) this.#files.delete(path);
    else this.#files.set(path, bytes);
  }

  open(path: string): Handle {
    this.bytes(path);
    return this.#handles.push(path) - 1;
  }

  close(): void {
    // Nothing is held.
  }

  read(handle: Handle, into: Uint8Array, offset: number, length: number, position: number): number {
    const bytes = this.bytes(this.#handles[handle] as string);
    const part = bytes.subarray(position, position + length);
    into.set(part, offset);
    this.bytesRead += part.length;
    return part.length;
  }

  size(handle: Handle): number {
    return this.bytes(this.#handles[handle] as string).length;
  }

  list(path: string): string[] {
    const names = this.paths.filter((file) => file.startsWith(`${path}/`)).map((file) => file.slice(path.length + 1));
    return [...new Set(names.map((name) => name.split('/')[0] as string))];
  }

  entry(path: string): Entry | null {
    const bytes = this.#files.get(path);
    if (bytes !== undefined) return { kind: 'file', size: bytes.length };
    return this.paths.some((file) => file.startsWith(`${path}/`)) ? { kind: 'directory', size: 0 } : null;
  }

  write = refuse;
  truncate = refuse;
  syncData = refuse;
  sync = refuse;
  syncDirectory = refuse;
  rename = refuse;
  link = refuse;
  unlink = refuse;
  makeDirectory = refuse;
}

function refuse(): never {
  throw new Error('Recovery only reads');
}
