// Folders that were refused have to be as good as before when the file that was changed is put back: to refuse must harm
// nothing.

import { rmSync } from 'node:fs';
import type { Verdict } from './contract.js';
import { FolderCopy } from './folder-copy.js';
import type { Loader } from './loader-pool.js';

export interface Refused {
  directory: string;
  /** The file that was changed, and how it was before; null when there was none. */
  file: string;
  bytes: Buffer | null;
  verdict: Verdict & { kind: 'damaged' };
  /** What was done to it, in words. */
  change: string;
}

export interface PutBackOptions {
  driver: string;
  /** What has to be there again. */
  newest: number;
  /** The one that refused them all. */
  loader: Pick<Loader, 'load' | 'end'>;
  folderBytes: number;
  onVerdict(verdict: Verdict, change: string): void;
}

/** Some together: each time the process that refused them has to end, as it may still hold them open. */
const TOGETHER_MAX = 200;
const TOGETHER_BYTES_MAX = 64 * 1024 * 1024;

export class PutBack {
  readonly #options: PutBackOptions;
  readonly #together: number;
  #waiting: Refused[] = [];

  constructor(options: PutBackOptions) {
    this.#options = options;
    this.#together = Math.min(TOGETHER_MAX, Math.floor(TOGETHER_BYTES_MAX / options.folderBytes));
  }

  async add(one: Refused): Promise<void> {
    this.#waiting.push(one);
    if (this.#waiting.length >= this.#together) await this.end();
  }

  /** Those that are still waiting. */
  async end(): Promise<void> {
    const all = this.#waiting;
    this.#waiting = [];
    const { driver, newest, loader, onVerdict } = this.#options;
    if (all.length > 0) await loader.end();
    for (const { directory, file, bytes, verdict, change } of all) {
      FolderCopy.put(directory, file, bytes);
      const again = await loader.load(driver, directory);
      const isWhole = again.kind === 'intact' && again.n === newest;
      const why = `refusing it destroyed it: ${verdict.message}, then ${JSON.stringify(again)}`;
      onVerdict(isWhole ? verdict : { kind: 'wrong', why }, change);
      rmSync(directory, { recursive: true, force: true });
    }
  }
}
