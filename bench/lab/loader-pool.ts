// Processes that load folders, seen from the lab. One that dies or hangs over a folder is an answer too: that folder is
// refused, in the hardest way there is.

import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { type Running, start } from '../../test/support/process-child.js';
import { compiled } from './compiled.js';
import type { Found } from './contract.js';
import { memoryFolder } from './folder-copy.js';
import type { LoadAnswer } from './loader.js';

const MODULE = JSON.stringify(compiled('loader.js'));

/** What earlier loads left behind must not add up. */
const LOADS_MAX = 3000;
const AGE_MAX_MS = 30_000;
/** Of a whole process: a load that hangs has at least the half of it. */
const LIFE_MS = 60_000;

export interface LoaderOptions {
  /** What cannot be closed again is refused. @default what was loaded was loaded */
  mustClose?: boolean;
}

/** One process, replaced when it is old; one load at a time. */
export class Loader {
  #running: Running | null = null;
  #beside: string | null = null;
  #startedAtMs = 0;
  #loads = 0;
  #nextId = 1;
  #lastDeath = '';
  readonly #mustClose: boolean;

  constructor({ mustClose = false }: LoaderOptions = {}) {
    this.#mustClose = mustClose;
  }

  async load(driver: string, directory: string): Promise<Found> {
    await this.#freshen();
    const isFirst = this.#running === null;
    const found = await this.#ask(driver, directory);
    // It may have died of what an earlier load left behind.
    if (found === null && !isFirst) return (await this.#ask(driver, directory)) ?? this.#death();
    return found ?? this.#death();
  }

  /** Ends the process: nothing that it held is held any more. */
  async end(): Promise<void> {
    const running = this.#running;
    this.#running = null;
    running?.kill('SIGKILL');
    await running?.ended;
    if (this.#beside !== null) rmSync(this.#beside, { recursive: true, force: true });
    this.#beside = null;
  }

  #death(): Found {
    return { kind: 'refused', message: this.#lastDeath };
  }

  async #freshen(): Promise<void> {
    if (this.#loads >= LOADS_MAX || Date.now() - this.#startedAtMs > AGE_MAX_MS) await this.end();
  }

  /** Null when the process did not survive it. */
  async #ask(driver: string, directory: string): Promise<Found | null> {
    const running = this.#running ?? this.#begin();
    this.#loads++;
    const id = this.#nextId++;
    running.write(`${JSON.stringify({ id, driver, directory })}\n`);
    const prefix = `answer ${id} `;
    const line = await running.line(prefix);
    if (line === null) {
      const { code, signal, isHung, stderr } = await running.ended;
      await this.end();
      const last = stderr.trim().split('\n').at(-1) ?? '';
      this.#lastDeath = isHung ? 'loading hung' : `loading ended its process with ${code ?? signal}: ${last}`;
      return null;
    }
    const { found, unclosed } = JSON.parse(line.slice(prefix.length)) as LoadAnswer;
    if (unclosed === null) return found;
    await this.end();
    return this.#mustClose ? { kind: 'refused', message: unclosed } : found;
  }

  #begin(): Running {
    this.#loads = 0;
    this.#startedAtMs = Date.now();
    this.#beside = memoryFolder(tmpdir());
    const program = `import { serve } from ${MODULE}; await serve(${JSON.stringify(this.#beside)});`;
    this.#running = start(program, { timeoutMs: LIFE_MS });
    return this.#running;
  }
}

export class LoaderPool {
  readonly #all: readonly Loader[];
  readonly #idle: Loader[];
  readonly #waiting: ((loader: Loader) => void)[] = [];

  constructor(size: number, options: LoaderOptions = {}) {
    this.#all = Array.from({ length: size }, () => new Loader(options));
    this.#idle = [...this.#all];
  }

  load(driver: string, directory: string): Promise<Found> {
    return this.use((loader) => loader.load(driver, directory));
  }

  /** For several loads that must not share their process with others. */
  async use<T>(work: (loader: Loader) => Promise<T>): Promise<T> {
    const loader = this.#idle.pop() ?? (await new Promise<Loader>((resolve) => this.#waiting.push(resolve)));
    try {
      return await work(loader);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#idle.push(loader);
      else next(loader);
    }
  }

  async end(): Promise<void> {
    await Promise.all(this.#all.map((loader) => loader.end()));
  }
}
