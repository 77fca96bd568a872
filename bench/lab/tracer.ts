// System calls of a running process, watched, delayed or made to fail from outside. Each thread has its own count.

import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Saving } from './subject.js';

/** By kind, as strace names them. */
export const CALLS = {
  openat: 'openat',
  // It also wakes event loops and prints lines: only with paths.
  write: 'write,writev',
  pwrite64: 'pwrite64,pwritev',
  fsync: 'fsync',
  fdatasync: 'fdatasync',
  rename: 'rename,renameat,renameat2',
  link: 'link,linkat',
  unlink: 'unlink,unlinkat',
  ftruncate: 'ftruncate',
} as const;

export type Call = keyof typeof CALLS;

export interface TraceOptions {
  log: string;
  calls: string;
  /** As in `error=EIO:when=3`. @default nothing is injected */
  inject?: string;
  /** Only calls on these files. */
  paths?: readonly string[];
  /** End with the first injection: a thread that is started anew would meet the same fault again. */
  isOnce?: boolean;
}

const LOOK_MS = 20;
/** It can wait for ever for a process that was ending while it let go. The kernel lets go when it is killed. */
const END_MAX_MS = 3000;

export class Tracer {
  readonly #process: ChildProcess;
  readonly #over: Promise<void>;
  readonly #log: string;
  #watcher: NodeJS.Timeout | null = null;

  private constructor(child: ChildProcess, log: string) {
    this.#process = child;
    this.#log = log;
    this.#over = new Promise((resolve) => child.once('exit', () => resolve()));
  }

  /** Resolves when every call from now on is seen. */
  static async attach(saving: Saving, options: TraceOptions): Promise<Tracer> {
    const { log, calls, inject, paths = [], isOnce = false } = options;
    const args = ['-f', '-y', '-o', log, '-e', `trace=${calls}`, '-e', 'signal=none'];
    if (inject !== undefined) args.push('-e', `inject=${calls}:${inject}`);
    for (const path of paths) args.push('-P', path);
    const child = spawn('strace', [...args, '-p', `${saving.pid}`], { stdio: ['ignore', 'ignore', 'pipe'] });
    const tracer = new Tracer(child, log);
    let said = '';
    const attached = new Promise<boolean>((resolve) => {
      child.stderr?.on('data', (chunk) => {
        said += chunk;
        if (said.includes('attached')) resolve(true);
      });
      child.once('exit', () => resolve(false));
    });
    if (!(await attached)) throw new Error(`strace did not attach: ${said}`);
    if (isOnce) tracer.#watcher = setInterval(() => tracer.hasInjected && tracer.#letGo(), LOOK_MS);
    return tracer;
  }

  get text(): string {
    return readFileSync(this.#log, 'utf8');
  }

  get hasInjected(): boolean {
    return this.text.includes('(INJECTED)');
  }

  /** After what it traced has ended. */
  async end(): Promise<void> {
    this.#endInTime();
    await this.#over;
  }

  #letGo(): void {
    this.#process.kill('SIGTERM');
    this.#endInTime();
  }

  #endInTime(): void {
    if (this.#watcher !== null) clearInterval(this.#watcher);
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), END_MAX_MS);
    this.#process.once('exit', () => clearTimeout(timer));
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) clearTimeout(timer);
  }
}
