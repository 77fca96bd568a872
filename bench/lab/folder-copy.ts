// A folder as it was, in memory: put anywhere, as often as one likes, with or without one file changed.
// Sockets are left out: after the process that made them nobody answers there.

import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { MEMORY, MEMORY_PREFIX } from './clean-up.js';

/** A new folder in memory, where there is such a place. */
export function memoryFolder(scratch: string): string {
  return existsSync(MEMORY) ? mkdtempSync(join(MEMORY, MEMORY_PREFIX)) : mkdtempSync(join(scratch, 'memory-'));
}

export class FolderCopy {
  /** By path inside the folder. */
  readonly files: ReadonlyMap<string, Buffer>;
  readonly #folders: readonly string[];

  private constructor(files: ReadonlyMap<string, Buffer>, folders: readonly string[]) {
    this.files = files;
    this.#folders = folders;
  }

  static of(directory: string): FolderCopy {
    const files = new Map<string, Buffer>();
    const folders: string[] = [];
    for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      const name = path.slice(directory.length + 1);
      if (entry.isDirectory()) folders.push(name);
      else if (entry.isFile()) files.set(name, readFileSync(path));
    }
    return new FolderCopy(files, folders.sort());
  }

  /** Whatever is there now goes. */
  restore(directory: string): void {
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(directory, { recursive: true });
    for (const name of this.#folders) mkdirSync(join(directory, name), { mode: 0o700 });
    for (const [name, bytes] of this.files) writeFileSync(join(directory, name), bytes);
  }

  /** Puts one file, or nothing in its place. */
  static put(directory: string, name: string, bytes: Buffer | null): void {
    const path = join(directory, name);
    rmSync(path, { force: true });
    if (bytes === null) return;
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, bytes);
  }
}
