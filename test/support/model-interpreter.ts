// Runs a program in a world. It looks at containers only through ordinary reads, so that it cannot tell a draft from a
// plain object, and notes everything it sees: two worlds agree when their notes do.

import type { Command, Expression, Route, Step } from './model-program.js';
import { type Box, define, isBox, refusalCode, show, type World } from './model-world.js';

/** Thrown by programs on purpose. */
export class Deliberate extends Error {}

interface Frame {
  name: string;
  /** What the recipe was given. */
  root: Box;
  /** What that stood for. */
  isOf: Box;
  isOpen: boolean;
}

export class Interpreter {
  readonly notes: string[] = [];
  readonly #world: World;
  readonly #exists: (name: string) => boolean;
  readonly #frames: Frame[] = [];
  #held: { box: Box; frame: Frame } | null = null;

  constructor(world: World, exists: (name: string) => boolean) {
    this.#world = world;
    this.#exists = exists;
  }

  /** A command that changes documents. */
  command(command: Command): void {
    switch (command.do) {
      case 'create':
        if (this.#exists(command.name)) return;
        this.#attempt(() => this.#world.create(command.name, this.#evaluate(command.value)));
        break;
      case 'update':
        if (!this.#exists(command.name)) return;
        this.#attempt(() => this.#update(command.name, command.steps, command.result));
        break;
      case 'replace':
        if (!this.#exists(command.name)) return;
        this.#attempt(() => this.#world.replace(command.name, this.#evaluate(command.value)));
        break;
      case 'transaction':
        this.#attempt(() =>
          this.#world.transaction(() => {
            for (const each of command.commands) this.command(each);
            if (command.throws) throw new Deliberate();
          }),
        );
        break;
      default:
    }
  }

  #update(name: string, steps: readonly Step[], result: Route): void {
    const found = this.#world.update(name, (root) => {
      const frame: Frame = { name, root, isOf: this.#world.rootOf(name), isOpen: true };
      this.#frames.push(frame);
      try {
        for (const step of steps) this.#step(step);
        return { first: [walk(root, result)] };
      } finally {
        this.#frames.pop();
        frame.isOpen = false;
      }
    });
    this.#note(found);
  }

  /** What a recipe catches does not undo it. */
  #attempt(fn: () => void): void {
    try {
      fn();
    } catch (error) {
      const code = error instanceof Deliberate ? 'deliberate' : refusalCode(error);
      if (code === null) throw error;
      this.notes.push(code);
    }
  }

  #note(value: unknown): void {
    this.notes.push(show(value));
  }

  get #root(): Box {
    return (this.#frames.at(-1) as Frame).root;
  }

  #step(step: Step): void {
    // Some refusals are left to end the recipe.
    if (step.do === 'throw' || this.notes.length % 8 === 0) this.#perform(step);
    else this.#attempt(() => this.#perform(step));
  }

  #perform(step: Step): void {
    const { name, root, isOf } = this.#frames.at(-1) as Frame;
    // Replaced as a whole by a nested call: what this recipe was given is no longer in the document.
    if (this.#world.rootOf(name) !== isOf) this.#write(root, 'stale');
    else (this.#actions[step.do] as (step: Step) => void)(step);
  }

  readonly #actions: { [Kind in Step['do']]: (step: Extract<Step, { do: Kind }>) => void } = {
    set: ({ at, key, value }) => {
      const into = walk(this.#root, at);
      const place = Array.isArray(into) ? (key.length + at.length) % (into.length + 2) : key;
      this.#world.set(into, place, this.#evaluate(value));
    },
    delete: ({ at, key, pick: which }) => {
      const from = walk(this.#root, at);
      const present = which < 8 ? pick(Object.keys(from), which) : undefined;
      if (!Array.isArray(from)) this.#world.remove(from, present ?? key);
    },
    assign: ({ at, value }) => {
      const into = walk(this.#root, at);
      if (!Array.isArray(into)) this.#world.assign(into, this.#evaluate(value) as Record<string, unknown>);
    },
    call: ({ at, method, args }) => this.#call(at, method, args),
    take: ({ at, count, refill }) => {
      const list = this.#list(at);
      if (list === undefined) return;
      for (let left = refill ? 0 : count; left > 0; left--) this.#note(this.#world.call(list, 'shift', []));
      if (!refill) return;
      this.#world.call(list, 'push', ['new', ['newer']]);
      this.#note(this.#world.call(list, 'splice', [0, list.length - 1]));
    },
    exchange: ({ at, from, values }) => {
      const list = this.#list(at);
      const items = values.map((value) => this.#evaluate(value) ?? null);
      if (list !== undefined) this.#note(this.#world.call(list, 'splice', [from, items.length, ...items]));
    },
    again: ({ at, pick: which, value, throws }) => {
      const from = walk(this.#root, at);
      const key = pick(Object.keys(from), which);
      if (key === undefined || Array.isArray(from)) return;
      this.#world.remove(from, key);
      const back: Step = { do: 'set', at, key, value };
      const steps: Step[] = throws ? [back, { do: 'throw' }] : [back];
      this.#attempt(() => this.#update((this.#frames.at(-1) as Frame).name, steps, []));
    },
    read: ({ at, which }) => {
      const list = this.#list(at);
      if (list !== undefined) this.#note((pick(READS, which) as (list: unknown[]) => unknown)(list));
    },
    look: ({ at, key }) => {
      const box = walk(this.#root, at);
      this.#note([Object.keys(box), { ...box }, key in box && !(key in {}), Object.hasOwn(box, key)]);
    },
    length: ({ at, length }) => {
      const list = this.#list(at);
      if (list !== undefined) this.#world.setLength(list, length);
    },
    append: ({ at, pick: which, key, text }) => {
      const into = walk(this.#root, at);
      const texts = Object.keys(into).filter((each) => typeof get(into, each) === 'string');
      const found = which < 8 ? pick(texts, which) : undefined;
      if (Array.isArray(into) && found === undefined) return;
      const place = Array.isArray(into) ? Number(found) : (found ?? key);
      for (const part of [text, '+', text]) this.#world.append(into, place, part);
    },
    move: ({ from: route, pick: which, to: target, key }) => {
      const from = walk(this.#root, route);
      const found = pick(Object.keys(from), which);
      if (found === undefined) return;
      const value = get(from, found);
      const to = walk(this.#root, target);
      if (Array.isArray(from)) this.#world.call(from, 'splice', [Number(found), 1]);
      else this.#world.remove(from, found);
      this.#world.set(to, Array.isArray(to) ? to.length : key, value);
    },
    swap: ({ at, left, right }) => {
      const box = walk(this.#root, at);
      const keys = Object.keys(box);
      const [a, b] = [pick(keys, left), pick(keys, right)];
      if (a === undefined || b === undefined) return;
      const [atA, atB] = [get(box, a), get(box, b)];
      this.#world.set(box, Array.isArray(box) ? Number(a) : a, atB);
      this.#world.set(box, Array.isArray(box) ? Number(b) : b, atA);
    },
    hold: ({ at }) => {
      this.#held = { box: walk(this.#root, at), frame: this.#frames.at(-1) as Frame };
    },
    'write held': ({ value }) => this.#writeHeld(value),
    outer: ({ step }) => {
      const inner = this.#frames.pop() as Frame;
      try {
        if (this.#frames.length > 0) this.#perform(step);
      } finally {
        this.#frames.push(inner);
      }
    },
    nested: ({ name, steps, caught }) => {
      if (!this.#exists(name)) return;
      const run = () => this.#update(name, steps, []);
      if (caught) this.#attempt(run);
      else run();
    },
    replace: ({ name, value, caught }) => {
      if (!this.#exists(name)) return;
      const run = () => this.#world.replace(name, this.#evaluate(value));
      if (caught) this.#attempt(run);
      else run();
    },
    throw: () => {
      throw new Deliberate();
    },
  };

  #call(at: number, method: string, args: readonly Expression[]): void {
    const list = this.#list(at);
    if (list === undefined) return;
    let values = args.map((arg) => this.#evaluate(arg));
    const isPosition = POSITIONS[method];
    if (isPosition !== undefined) values = values.map((value, nth) => (isBox(value) && isPosition(nth) ? -2 : value));
    if (method === 'sort') values = args.length % 2 === 0 ? [] : [bySize];
    // The result of the mutators that return the array is the array itself.
    const result = this.#world.call(list, method, values);
    this.#note(result);
  }

  #writeHeld(value: number): void {
    if (this.#held === null) return;
    const { box, frame } = this.#held;
    this.#write(frame.isOpen ? box : this.#world.lapsed(box), `held ${value}`);
  }

  #write(target: Box, value: string): void {
    this.#world.set(target, Array.isArray(target) ? target.length : 'held', value);
  }

  #list(at: number): unknown[] | undefined {
    const lists: unknown[][] = [];
    gather(this.#root, lists);
    return pick(lists, at);
  }

  #evaluate(expression: Expression): unknown {
    switch (expression.kind) {
      case 'leaf':
        return expression.leaf;
      case 'list':
        return expression.items.map((item) => this.#evaluate(item) ?? null);
      case 'object': {
        const object: Record<string, unknown> = {};
        for (const [key, item] of expression.entries) define(object, key, this.#evaluate(item));
        return object;
      }
      case 'ref':
        return this.#frames.length === 0 ? [] : walk(this.#root, expression.at);
      case 'spread':
        return this.#frames.length === 0 ? {} : { ...walk(this.#root, expression.at) };
      case 'held':
        if (this.#held === null) return 'nothing held';
        return this.#held.frame.isOpen ? this.#held.box : this.#world.lapsed(this.#held.box);
      case 'bad':
        return pick(BAD, expression.which);
      default:
        return expression satisfies never;
    }
  }
}

/** Which arguments are positions: odd ones are fine, containers are not. */
const POSITIONS: Record<string, (nth: number) => boolean> = {
  splice: (nth) => nth < 2,
  fill: (nth) => nth > 0,
  copyWithin: () => true,
};

const BAD: unknown[] = [
  Number.NaN,
  Number.NEGATIVE_INFINITY,
  1n,
  Symbol('bad'),
  () => undefined,
  new Date(0),
  new Map(),
  [1, undefined],
  { deep: [new Set()] },
  new (class Thing {})(),
];

function bySize(a: unknown, b: unknown): number {
  return show(a).length - show(b).length;
}

/** Reads that must give on a draft what they give on a plain array. */
const READS: ((list: unknown[]) => unknown)[] = [
  (list) => [...list],
  (list) => list.map((item, at) => [at, item]),
  (list) => list.filter((item) => isBox(item)),
  (list) => list.find((item) => isBox(item)),
  (list) => list.findLast((item) => isBox(item)),
  (list) => list.findIndex((item) => typeof item === 'number'),
  (list) => list.findLastIndex((item) => typeof item === 'string'),
  (list) => list.indexOf(list[1]),
  (list) => list.lastIndexOf(list.at(-1)),
  (list) => list.includes(list[0]),
  (list) => list.slice(-2),
  (list) => list.slice(1, -1),
  (list) => list.concat([1], list),
  (list) => list.flat(2),
  (list) => list.flatMap((item) => [item, item]),
  (list) => list.reduce((sum: string, item) => sum + show(item).length, ''),
  (list) => list.reduceRight((sum: string, item) => sum + show(item).length, ''),
  (list) => (list.length > 0 ? list.reduce((last, item) => [last, item]) : 0),
  (list) => (list.length > 0 ? list.reduceRight((last, item) => [last, item]) : 0),
  (list) => list.some(isBox),
  (list) => list.every(isBox),
  (list) => [...list.entries()],
  (list) => [...list.keys()],
  (list) => [...list.values()],
  (list) => JSON.stringify(list),
  (list) => list.toSpliced(0, 1),
  (list) => list.toReversed(),
  (list) => (list.length > 0 ? list.with(0, 'w') : 0),
  (list) => Object.keys(list),
  (list) => Object.entries(list),
  (list) => {
    const sizes: number[] = [];
    for (const item of list) sizes.push(show(item).length);
    return sizes;
  },
];

function pick<T>(from: readonly T[], which: number): T | undefined {
  return from.length === 0 ? undefined : from[which % from.length];
}

function get(from: Box, key: string): unknown {
  return Object.hasOwn(from, key) ? (from as Record<string, unknown>)[key] : undefined;
}

function walk(root: Box, route: Route): Box {
  let at = root;
  for (const which of route) {
    const kids = Object.keys(at)
      .map((key) => get(at, key))
      .filter(isBox);
    const next = pick(kids, which);
    if (next === undefined) break;
    at = next;
  }
  return at;
}

function gather(box: Box, into: unknown[][]): void {
  if (Array.isArray(box)) into.push(box);
  for (const key of Object.keys(box)) {
    const item = get(box, key);
    if (isBox(item)) gather(item, into);
  }
}
