// File systems of our own, on folders of our own. Whoever makes one ends it: `unmount` is for a `finally`.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Mounted {
  /** Where it is mounted. */
  readonly path: string;
  unmount(): void;
}

/** A disk in memory that is soon full. */
export function mountSmall(kib: number): Mounted {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-small-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kib}k`, 'holdfast', path]);
  return {
    path,
    unmount: () => {
      unmount(path);
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

/** A tenth of a second each. */
const ATTEMPTS_MAX = 100;

/** A file system in a file, which can lose its power. */
export class PowerCutDisk implements Mounted {
  readonly path: string;
  readonly #folder: string;
  readonly #image: string;
  readonly #mountOptions: readonly string[];
  #isMounted = false;

  constructor(
    readonly fileSystem: FileSystem,
    { mountOptions = [], imageBytes = IMAGE_BYTES[fileSystem] }: DiskOptions = {},
  ) {
    this.#mountOptions = mountOptions;
    this.#folder = mkdtempSync(join(tmpdir(), `holdfast-${fileSystem}-`));
    this.#image = join(this.#folder, 'image');
    this.path = join(this.#folder, 'mounted');
    try {
      mkdirSync(this.path);
      writeFileSync(this.#image, '');
      truncateSync(this.#image, imageBytes);
      const quiet = fileSystem === 'ext4' ? ['-q', '-F'] : ['-q', '-f'];
      execFileSync(`mkfs.${fileSystem}`, [...quiet, this.#image], { stdio: 'pipe' });
      this.#mount();
    } catch (error) {
      this.unmount();
      throw error;
    }
  }

  /** Nothing that is not on the disk now will ever be: the log is not written out. Files stay open, and fail. */
  cut(): void {
    execFileSync('xfs_io', ['-x', '-c', 'shutdown', this.path], { stdio: 'pipe' });
  }

  /** The power is back: the file system recovers from its own log. Whoever had files open must have ended. */
  restart(): void {
    unmount(this.path);
    this.#isMounted = false;
    this.#awaitLetGo();
    this.#mount();
  }

  unmount(): void {
    if (this.#isMounted) unmount(this.path);
    this.#isMounted = false;
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** A process in a mount namespace of its own may hold a copy of the mount: mounting again would give the dead one. */
  #awaitLetGo(): void {
    for (let attempt = 0; execFileSync('losetup', ['-j', this.#image]).length > 0; attempt++) {
      if (attempt === ATTEMPTS_MAX) throw new Error(`${this.#image} is still in use`);
      pause();
    }
  }

  #mount(): void {
    // The kernel makes the loop device and lets it go with the unmount.
    execFileSync('mount', ['-o', ['loop', ...this.#mountOptions].join(','), this.#image, this.path], { stdio: 'pipe' });
    this.#isMounted = true;
  }
}

/** A process that was killed a moment ago may still hold it. */
function unmount(path: string): void {
  for (let attempt = 0; ; attempt++) {
    const { status, stderr } = spawnSync('umount', [path], { encoding: 'utf8' });
    if (status === 0) return;
    if (attempt === ATTEMPTS_MAX) throw new Error(`umount ${path}: ${stderr}`);
    pause();
  }
}

function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
}
