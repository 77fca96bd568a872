// Stores whose whole past is known, on the real disk.

import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from 'vitest';
import { type HistoryOptions, type HistoryStep, history } from '../../src/inspect/index.js';
import { Truth } from '../../src/truth.js';

const folders: string[] = [];

export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-inspect-'));
  folders.push(path);
  return path;
}

afterEach(() => {
  for (const path of folders.splice(0)) rmSync(path, { recursive: true, force: true });
});

export interface Loop {
  completed: string[];
  outputs: Record<string, { tokens: number }>;
  text: string;
}

type States = Record<string, unknown>;

/** `states[n]` is every document after commit n. */
export class Life {
  readonly states: States[] = [{}];
  readonly directory: string;
  /** One second per commit. */
  nowMs = Date.UTC(2026, 10, 18);
  truth: Truth;
  #present: States = {};

  constructor(directory = folder()) {
    this.directory = directory;
    this.truth = this.#begin();
  }

  get lastSeq(): number {
    return this.states.length - 1;
  }

  make(name: string, initial: object): void {
    this.#present = { ...this.#present, [name]: initial };
    this.#commit(() => void this.truth.doc(name, { initial }));
  }

  change<T>(name: string, recipe: (draft: T) => void): void {
    const next = structuredClone(this.#present[name] as T);
    recipe(next);
    this.#present = { ...this.#present, [name]: next };
    this.#commit(() => void this.truth.doc<T>(name, { initial: next }).update((draft) => recipe(draft as T)));
  }

  remove(name: string): void {
    const { [name]: _, ...rest } = this.#present;
    this.#present = rest;
    this.#commit(() => this.truth.remove(name));
  }

  /** Ended and opened again. */
  reopen(how: 'close' | 'abandon'): void {
    this.truth[how]();
    this.truth = this.#begin();
  }

  /** An item of a loop is done: a push, a put and a text that grows. */
  item(n: number, name = 'loop'): void {
    this.change<Loop>(name, (loop) => {
      loop.completed.push(`item-${n}`);
      loop.outputs[`item-${n}`] = { tokens: n };
    });
  }

  #commit(act: () => void): void {
    this.nowMs += 1000;
    act();
    this.states.push(this.#present);
  }

  #begin(): Truth {
    return new Truth(this.directory, { now: () => this.nowMs });
  }
}

export const LOOP: Loop = { completed: [], outputs: {}, text: '' };

export async function all(path: string, options?: HistoryOptions): Promise<HistoryStep[]> {
  const steps: HistoryStep[] = [];
  for await (const step of history(path, options)) steps.push(step);
  return steps;
}

export function hiddenFiles(directory: string, suffix: string): string[] {
  const hidden = join(directory, '.holdfast');
  return readdirSync(hidden)
    .filter((name) => name.endsWith(suffix))
    .sort()
    .map((name) => join(hidden, name));
}

/** Flips one bit, `at` bytes from the beginning or, when negative, from the end. */
export function flip(path: string, at: number): void {
  const bytes = readFileSync(path);
  const offset = at < 0 ? bytes.length + at : at;
  bytes[offset] = (bytes[offset] as number) ^ 1;
  writeFileSync(path, bytes);
}

/** Everything that a write would change. */
export function traces(directory: string): string[] {
  const found: string[] = [];
  const walk = (path: string) => {
    const { size, mtimeMs, ctimeMs, ino, mode } = lstatSync(path);
    found.push([path, size, mtimeMs, ctimeMs, ino, mode].join(' '));
    if (lstatSync(path).isDirectory()) for (const name of readdirSync(path)) walk(join(path, name));
  };
  walk(directory);
  return found;
}
