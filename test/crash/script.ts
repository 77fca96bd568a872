// A program that saves its progress, with an outside oracle: what was issued, and what was acknowledged as durable.

import { Truth } from '../../src/truth.js';
import type { RecordingDisk } from '../support/recording-disk.js';

export const STORE = '/home/agent/.agent';

type Model = Record<string, unknown>;
type Recipe = (draft: Record<string, unknown>) => void;

export class Script {
  /** `states[n]` is the whole store after commit n. The last one may have been issued only. */
  readonly states: string[] = [show({})];
  acknowledged = 0;
  truth!: Truth;
  #model: Model = {};

  constructor(readonly disk: RecordingDisk) {}

  get issued(): number {
    return this.states.length - 1;
  }

  open(): void {
    this.truth = new Truth(STORE, { disk: this.disk, now: () => 1_700_000_000_000 });
    const { lastSeq } = this.truth;
    // Everything accepted at open was made durable there.
    this.acknowledged = lastSeq;
    this.states.length = lastSeq + 1;
    this.#model = JSON.parse(this.states[lastSeq] as string);
  }

  create(name: string, initial: Record<string, unknown>): void {
    this.#issue({ ...this.#model, [name]: initial });
    this.truth.doc(name, { initial });
  }

  /** One commit, over all the documents named. */
  change(names: string[], recipe: Recipe): void {
    const next = structuredClone(this.#model);
    for (const name of names) recipe(next[name] as Record<string, unknown>);
    this.#issue(next);
    this.truth.transaction(() => {
      for (const name of names) this.truth.doc<Record<string, unknown>>(name, { initial: {} }).update(recipe);
    });
  }

  /** One commit: entries for a log, and the documents named are changed with it. */
  append(log: string, entries: unknown[], names: string[] = [], recipe: Recipe = () => undefined): void {
    const next = structuredClone(this.#model);
    for (const name of names) recipe(next[name] as Record<string, unknown>);
    next[`log:${log}`] = [...((next[`log:${log}`] as unknown[] | undefined) ?? []), ...entries];
    this.#issue(next);
    this.truth.transaction(() => {
      for (const entry of entries) this.truth.log(log).append(entry);
      for (const name of names) this.truth.doc<Record<string, unknown>>(name, { initial: {} }).update(recipe);
    });
  }

  remove(name: string): void {
    const { [name]: _, ...rest } = this.#model;
    this.#issue(rest);
    this.truth.remove(name);
  }

  /** A step after which everything issued is durable. */
  durably(step: (truth: Truth) => void): void {
    step(this.truth);
    this.acknowledged = this.issued;
  }

  flush(): void {
    this.durably((truth) => truth.flush());
  }

  /** The process is killed: nothing more is written. */
  kill(): void {
    this.truth.abandon();
  }

  #issue(next: Model): void {
    this.states.push(show(next));
    this.#model = next;
  }
}

/** The whole store as text, documents by name, keys in their order. */
export function show(documents: Model): string {
  const sorted = Object.keys(documents).sort();
  return JSON.stringify(Object.fromEntries(sorted.map((name) => [name, documents[name]])));
}

export function stateOf(truth: Truth): string {
  const documents: Model = {};
  for (const name of truth.names) documents[name] = truth.doc<unknown>(name, { initial: {} }).state;
  for (const name of truth.logNames) {
    const entries = truth.readLog(name);
    if (entries.length > 0) documents[`log:${name}`] = entries;
  }
  return show(documents);
}

/** A life with everything in it: growth, marks, rotation, compaction, removal, kills and clean ends. */
export function wholeLife(script: Script): void {
  script.open();
  script.create('loop', { done: [], current: null, log: 'a' });
  script.create('side', { count: 0 });
  script.flush();
  step(script, 1);
  step(script, 2);
  script.flush();
  step(script, 3);
  script.durably((truth) => truth.mark());
  both(script, 4);
  script.durably((truth) => truth.rotate());
  step(script, 5);
  script.durably((truth) => truth.compact());
  step(script, 6);
  both(script, 7);
  script.kill();
  script.open();
  step(script, 8);
  script.flush();
  script.durably((truth) => truth.compact());
  script.remove('side');
  step(script, 9);
  script.durably((truth) => truth.compact());
  script.create('side', { count: 100 });
  script.durably((truth) => truth.close());
  script.open();
  both(script, 10);
  script.flush();
  step(script, 11);
  script.durably((truth) => truth.close());
}

function step(script: Script, n: number): void {
  script.change(['loop'], (draft) => {
    (draft.done as unknown[]).push({ id: n, output: `out ${n} `.repeat(n * 40) });
    draft.current = n;
  });
}

function both(script: Script, n: number): void {
  script.change(['loop', 'side'], (draft) => {
    if ('count' in draft) draft.count = n;
    else draft.current = `both ${n}`;
  });
}
