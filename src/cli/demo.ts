// `holdfast demo`: a loop that is killed again and again, loses nothing, and never runs a finished item twice.
// This process only starts, kills and watches; the loop itself is in demo-child.ts.

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { open } from '../index.js';
import { idOf } from './demo-child.js';
import { Oracle } from './demo-oracle.js';
import { View } from './demo-view.js';

const LOOP = fileURLToPath(new URL('demo-loop.js', import.meta.url));
const ITEMS = 2000;
/** After the store is open. */
const LIFE_MS = { min: 5, max: 250 } as const;
/** After the start, in some lives: recovery itself is then cut short. */
const BIRTH_MS = { min: 200, max: 500 } as const;
const BIRTH_SHARE = 0.15;
/** A life that begins after so many items, or so late, is left alone: its cost is measured, and it ends. */
const KILLS_UNTIL = { items: 1400, ms: 9000 } as const;
/** A slow disk ends the demo before the last item. */
const TIME_MAX_MS = 15_000;
const REDRAW_MS = 50;
const JSON_LINES = 8;

type Child = ChildProcessByStdio<null, Readable, Readable>;

class Demo {
  readonly #folder = mkdtempSync(join(tmpdir(), 'holdfast-demo-'));
  readonly #store = join(this.#folder, '.agent');
  readonly #oracle = new Oracle();
  readonly #view = new View(process.stdout, ITEMS, process.env);
  readonly #startedAt = performance.now();
  #child: Child | null = null;
  #stoppedBy: NodeJS.Signals | null = null;

  /** True when nothing was lost or repeated. */
  async run(): Promise<boolean> {
    this.#view.begin(this.#store);
    const redraw = setInterval(() => this.#view.progress(this.#oracle), REDRAW_MS);
    try {
      while (!(await this.#oneLife())) this.#view.killed(this.#oracle);
      await this.#check();
    } finally {
      clearInterval(redraw);
    }
    const seconds = this.#elapsedMs() / 1000;
    this.#view.end(this.#oracle, this.#jsonHead(), seconds);
    return this.#oracle.isClean;
  }

  stop(signal: NodeJS.Signals): void {
    this.#stoppedBy = signal;
    this.#child?.kill('SIGKILL');
  }

  /** Only after the child has ended: it could still be writing. */
  cleanUp(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** From start to kill, or to the end of its work: then true. */
  async #oneLife(): Promise<boolean> {
    const child = spawn(process.execPath, [LOOP, this.#store, `${ITEMS}`], { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    let errors = '';
    child.stderr.on('data', (chunk) => {
      errors += chunk;
    });
    const timers = [killLater(child, TIME_MAX_MS - this.#elapsedMs())];
    const isLast = this.#oracle.doneCount >= KILLS_UNTIL.items || this.#elapsedMs() >= KILLS_UNTIL.ms;
    if (!isLast && Math.random() < BIRTH_SHARE) timers.push(killLater(child, between(BIRTH_MS)));
    hearLines(child.stdout, (line) => {
      this.#oracle.hear(line);
      if (!isLast && line.startsWith('opened')) timers.push(killLater(child, between(LIFE_MS)));
    });
    const [code, signal] = await once(child, 'close');
    for (const timer of timers) clearTimeout(timer);
    this.#child = null;
    if (this.#stoppedBy !== null) throw new Stopped(this.#stoppedBy);
    if (signal === 'SIGKILL') return this.#elapsedMs() >= TIME_MAX_MS;
    if (code !== 0) throw new Error(`The loop ended with ${signal ?? `code ${code}`}: ${reasonIn(errors)}\n${errors}`);
    if (errors !== '') process.stderr.write(errors);
    return true;
  }

  #elapsedMs(): number {
    return performance.now() - this.#startedAt;
  }

  /** The last word is the store's, opened by a process that was never killed. */
  async #check(): Promise<void> {
    const store = await open(this.#store);
    const loop = await store.doc<{ done: Record<string, { output: string }> }>('loop', { initial: { done: {} } });
    this.#oracle.checkOutputs((item) => loop.state.done[idOf(item)]?.output);
    await store.close();
  }

  #jsonHead(): string[] {
    const lines = readFileSync(join(this.#store, 'loop.json'), 'utf8').split('\n');
    return [...lines.slice(0, JSON_LINES), '…'];
  }
}

class Stopped extends Error {
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super(`Stopped by ${signal}`);
    this.signal = signal;
  }
}

function killLater(child: Child, ms: number): NodeJS.Timeout {
  return setTimeout(() => child.kill('SIGKILL'), ms);
}

function between({ min, max }: { min: number; max: number }): number {
  return min + Math.random() * (max - min);
}

/** Of what Node prints about an uncaught error, the line that says what it was: the command shows one line. */
function reasonIn(errors: string): string {
  return errors.split('\n').find((line) => /^\w*Error\b/.test(line)) ?? 'it did not say why';
}

/** Whole lines only: what a kill cut short was not said. */
function hearLines(stream: Readable, hear: (line: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) hear(line);
  });
}

/** True when nothing was lost or repeated. A signal ends this process, with nothing left behind. */
export async function runDemo(): Promise<boolean> {
  const demo = new Demo();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const stop = (signal: NodeJS.Signals) => demo.stop(signal);
  for (const signal of signals) process.on(signal, stop);
  try {
    return await demo.run();
  } catch (error) {
    if (!(error instanceof Stopped)) throw error;
    demo.cleanUp();
    process.stdout.write('\n');
    for (const signal of signals) process.off(signal, stop);
    process.kill(process.pid, error.signal);
    return false;
  } finally {
    demo.cleanUp();
    for (const signal of signals) process.off(signal, stop);
  }
}
