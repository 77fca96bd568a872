// File systems of our own, on folders of our own. Whoever makes one ends it: `unmount` is for a `finally`.

import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sleep } from './process-child.js';

const call = promisify(execFile);

export interface Mounted {
  /** Where it is mounted. */
  readonly path: string;
  unmount(): Promise<void>;
}

/** A disk in memory that is soon full. */
export function mountSmall(kib: number): Mounted {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-small-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kib}k`, 'holdfast', path]);
  return {
    path,
    unmount: async () => {
      await unmount(path);
      rmSync(path, { recursive: true, force: true });
    },
  };
}

export type FileSystem = 'ext4' | 'xfs';

const IMAGE_BYTES: Record<FileSystem, number> = {
  ext4: 128 * 1024 * 1024,
  xfs: 512 * 1024 * 1024,
};

export interface DiskOptions {
  /** As after `mount -o`. @default none but the file system's own */
  mountOptions?: readonly string[];
  /** Newer mkfs.xfs refuses less than 300 MiB. @default 128 MiB for ext4, 512 MiB for xfs */
  imageBytes?: number;
}

const ATTEMPTS_MAX = 100;
const ATTEMPT_MS = 100;

/** A file system in a file, which can lose its power. Others may be made, cut and mounted at the same time. */
export class PowerCutDisk implements Mounted {
  readonly path: string;
  readonly #folder: string;
  readonly #image: string;
  readonly #mountOptions: readonly string[];
  #isMounted = false;

  private constructor(mountOptions: readonly string[], folder: string) {
    this.#mountOptions = mountOptions;
    this.#folder = folder;
    this.#image = join(folder, 'image');
    this.path = join(folder, 'mounted');
  }

  static async make(
    fileSystem: FileSystem,
    { mountOptions = [], imageBytes = IMAGE_BYTES[fileSystem] }: DiskOptions = {},
  ): Promise<PowerCutDisk> {
    const disk = new PowerCutDisk(mountOptions, mkdtempSync(join(tmpdir(), `holdfast-${fileSystem}-`)));
    try {
      mkdirSync(disk.path);
      writeFileSync(disk.#image, '');
      truncateSync(disk.#image, imageBytes);
      const quiet = fileSystem === 'ext4' ? ['-q', '-F'] : ['-q', '-f'];
      await call(`mkfs.${fileSystem}`, [...quiet, disk.#image]);
      await disk.#mount();
      return disk;
    } catch (error) {
      await disk.unmount();
      throw error;
    }
  }

  /** Nothing that is not on the disk now will ever be: the log is not written out. Files stay open, and fail. */
  async cut(): Promise<void> {
    await call('xfs_io', ['-x', '-c', 'shutdown', this.path]);
  }

  /** The power is back: the file system recovers from its own log. Whoever had files open must have ended. */
  async restart(): Promise<void> {
    await unmount(this.path);
    this.#isMounted = false;
    await this.#awaitLetGo();
    await this.#mount();
  }

  async unmount(): Promise<void> {
    if (this.#isMounted) await unmount(this.path);
    this.#isMounted = false;
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** A process in a mount namespace of its own may hold a copy of the mount: mounting again would give the dead one. */
  async #awaitLetGo(): Promise<void> {
    for (let attempt = 0; (await call('losetup', ['-j', this.#image])).stdout.length > 0; attempt++) {
      if (attempt === ATTEMPTS_MAX) throw new Error(`${this.#image} is still in use`);
      await sleep(ATTEMPT_MS);
    }
  }

  async #mount(): Promise<void> {
    // The kernel makes the loop device and lets it go with the unmount.
    await call('mount', ['-o', ['loop', ...this.#mountOptions].join(','), this.#image, this.path]);
    this.#isMounted = true;
  }
}

/** A process that was killed a moment ago may still hold it. */
async function unmount(path: string): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await call('umount', [path]);
      return;
    } catch (error) {
      if (attempt === ATTEMPTS_MAX) throw error;
      await sleep(ATTEMPT_MS);
    }
  }
}
