// The world of a store: every step goes through drafts. Whatever throws is checked for traces.

import type { Marks } from '../../src/change/marks.js';
import { append, type Tracked } from '../../src/change/tracked.js';
import type { Truth } from '../../src/truth.js';
import { type Bag, type Box, show, type World } from './model-world.js';

/** Everything the marks would write; marks that say nothing do not show. */
function showMarks({ whole, head, tail, drops, puts, growths, kids }: Marks): string {
  const below = [...kids].filter(([, kid]) => !kid.isEmpty).map(([key, kid]) => [key, showMarks(kid)]);
  return show([whole, head, tail, [...drops], [...puts], [...growths], below]);
}

export class StoreWorld implements World {
  readonly docs = new Map<string, Tracked>();

  constructor(public truth: Truth) {}

  doc(name: string): Tracked {
    let doc = this.docs.get(name);
    if (doc === undefined) {
      // The initial state must not be taken: the document is in the store.
      doc = this.truth.doc<unknown>(name, { initial: ['never'] });
      this.docs.set(name, doc);
    }
    return doc;
  }

  rootOf(name: string): Box {
    return this.doc(name).raw;
  }

  create(name: string, value: unknown): void {
    this.docs.set(name, this.truth.doc<unknown>(name, { initial: value }));
  }

  update(name: string, recipe: (root: Box) => unknown): unknown {
    const doc = this.doc(name);
    return this.#guard(() => doc.update((draft) => recipe(draft) as never));
  }

  replace(name: string, value: unknown): void {
    const doc = this.doc(name);
    this.#guard(() => doc.replace(value));
  }

  transaction(fn: () => void): void {
    this.#guard(() => this.truth.transaction(fn as () => never));
  }

  /** What throws leaves no trace: neither in any state nor in what the next commit would write. */
  #guard<R>(fn: () => R): R {
    const before = this.#everything();
    try {
      return fn();
    } catch (error) {
      // Documents made inside are undone with it.
      for (const [name, { isRemoved }] of this.docs) if (isRemoved) this.docs.delete(name);
      const after = this.#everything(before);
      for (const [name, was] of before) {
        if (after.get(name) !== was) throw new Error(`Undo left traces in '${name}':\n${was}\n${after.get(name)}`);
      }
      throw error;
    }
  }

  #everything(only?: Map<string, string>): Map<string, string> {
    const all = new Map<string, string>();
    for (const [name, { raw, pending, version, changes }] of this.docs) {
      if (only !== undefined && !only.has(name)) continue;
      const doc = this.doc(name);
      const open = changes.isOpen ? showMarks(changes.marksOf(doc)) : '';
      all.set(name, `${version} ${show(raw)} pending ${showMarks(pending)} open ${open}`);
    }
    return all;
  }

  set(into: Box, key: string | number, value: unknown): void {
    (into as Bag)[key] = value;
  }

  remove(from: Bag, key: string): void {
    delete from[key];
  }

  assign(into: Bag, value: Bag): void {
    Object.assign(into, value);
  }

  call(list: unknown[], method: string, args: unknown[]): unknown {
    return (list as unknown as Record<string, (...args: unknown[]) => unknown>)[method]?.(...args);
  }

  setLength(list: unknown[], length: number): void {
    list.length = length;
  }

  append(into: Box, key: string | number, text: string): void {
    append(into as never, key as never, text);
  }

  lapsed(box: Box): Box {
    return box;
  }
}
