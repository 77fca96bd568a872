// Where the contract's stores are: a real directory with real threads, or a disk in memory. The suite sees only this.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { open } from '../../src/opening.js';
import type { StoreOptions } from '../../src/options.js';
import type { Store } from '../../src/store.js';
import { type MemoryDisk, memory } from '../../src/testing/index.js';
import { folder, openStore } from '../store/support.js';

/** Runs in a process of its own where there is one: it may use nothing but what it is given. `die` is the kill itself. */
export type Life = (store: Store, die: () => void) => Promise<void>;

export interface Place {
  open(options?: StoreOptions): Promise<Store>;
  /** Lives on this store, and is killed at the end. */
  kill(life: Life): Promise<void>;
  /** What people see. */
  files(): string[];
  read(path: string): string;
  write(path: string, content: string | Uint8Array): void;
  remove(path: string): void;
  bytes(path: string): Buffer;
  /** The names in quarantine. */
  kept(): string[];
}

export class RealPlace implements Place {
  readonly #directory = folder();

  open(options?: StoreOptions): Promise<Store> {
    return openStore(this.#directory, options);
  }

  async kill(life: Life): Promise<void> {
    const code = `
      import { open } from 'holdfast';
      const store = await open(${JSON.stringify(this.#directory)});
      const die = () => process.kill(process.pid, 'SIGKILL');
      await (${life.toString()})(store, die);
      die();`;
    const { signal, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
      cwd: join(import.meta.dirname, '../..'),
      timeout: 30_000,
      encoding: 'utf8',
    });
    expect([signal, stderr]).toEqual(['SIGKILL', '']);
  }

  files(): string[] {
    const all = readdirSync(this.#directory, { recursive: true, withFileTypes: true });
    const paths = all.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    return paths
      .map((path) => path.slice(this.#directory.length + 1))
      .filter((path) => !path.startsWith('.holdfast'))
      .sort();
  }

  read(path: string): string {
    return this.bytes(path).toString();
  }

  bytes(path: string): Buffer {
    return readFileSync(join(this.#directory, path));
  }

  write(path: string, content: string | Uint8Array): void {
    mkdirSync(dirname(join(this.#directory, path)), { recursive: true });
    writeFileSync(join(this.#directory, path), content);
  }

  remove(path: string): void {
    rmSync(join(this.#directory, path));
  }

  kept(): string[] {
    const path = join(this.#directory, '.holdfast', 'quarantine');
    return existsSync(path) ? readdirSync(path) : [];
  }
}

export class MemoryPlace implements Place {
  readonly disk: MemoryDisk = memory();

  open(options?: StoreOptions): Promise<Store> {
    return open(this.disk, { projectDelayMs: 20, audit: true, ...options });
  }

  async kill(life: Life): Promise<void> {
    let isDead = false;
    const die = () => {
      this.disk.crash();
      isDead = true;
    };
    try {
      await life(await open(this.disk), die);
    } catch (error) {
      // What a dead process does and sees is of no interest.
      if (!isDead) throw error;
    }
    if (!isDead) die();
  }

  files(): string[] {
    return this.disk.files();
  }

  read(path: string): string {
    return this.disk.readFile(path);
  }

  bytes(path: string): Buffer {
    return this.disk.readBytes(path);
  }

  write(path: string, content: string | Uint8Array): void {
    this.disk.writeFile(path, content);
  }

  remove(path: string): void {
    this.disk.removeFile(path);
  }

  kept(): string[] {
    return this.disk.files('.holdfast/quarantine');
  }
}
