// A schema, read once: what to follow along a changed path, and what to run there. Plans are built when a change first
// gets to them and kept as long as their schema lives, so recursive schemas need no care and a check looks nothing up.
//
// I1. `own` runs a node's own checks and nothing else: not the node's type, not its children.
// I2. A plan never holds state; all documents of a schema share it.

import { $ZodAny, type $ZodType, clone } from 'zod/v4/core';
import {
  childrenOf,
  identityOf,
  innerOf,
  isExhaustive,
  isKnownType,
  type Node,
  WRAPPER_TYPES,
} from './schema-shape.js';

/** A schema below another one; its plan is made at first use. */
export class Link {
  #plan: Plan | undefined;

  constructor(readonly schema: Node) {}

  get plan(): Plan {
    this.#plan ??= planOf(this.schema);
    return this.#plan;
  }
}

/** A declared key of an object schema. */
class Field extends Link {
  readonly #object: Node;
  readonly #key: string;
  #alone: Node | undefined;

  constructor(schema: Node, object: Node, key: string) {
    super(schema);
    this.#object = object;
    this.#key = key;
  }

  /** An object schema with this key only: zod itself then says what it makes of the key's absence. */
  get alone(): Node {
    this.#alone ??= remade(this.#object, { type: 'object', shape: { [this.#key]: this.schema } });
    return this.#alone;
  }
}

abstract class Base {
  /** Accepts everything, then runs the checks of this node; null when it has none. */
  readonly own: Node | null;
  #mayFill: boolean | undefined;

  constructor(readonly schema: Node) {
    this.own = ownChecks(schema);
  }

  /** True when a parse can give back keys that its input lacks: refinements would see those. */
  get mayFill(): boolean {
    this.#mayFill ??= reaches(this.schema, fillsIn);
    return this.#mayFill;
  }
}

export class ObjectPlan extends Base {
  readonly kind = 'object';
  readonly fields = new Map<string, Field>();
  /** What undeclared keys must be; null when there may be none. */
  readonly rest: Link | null;

  constructor(schema: Node) {
    super(schema);
    const { shape = {}, catchall } = schema._zod.def;
    for (const key of Object.keys(shape)) {
      const field = shape[key];
      if (field !== undefined) this.fields.set(key, new Field(field, schema, key));
    }
    this.rest = catchall === undefined || catchall._zod.def.type === 'never' ? null : new Link(catchall);
  }

  child(key: string): Link | null {
    return this.fields.get(key) ?? this.rest;
  }
}

export class RecordPlan extends Base {
  readonly kind = 'record';
  readonly keySchema: Node;
  readonly value: Link;
  /** Keys outside the key schema are let through as they are. */
  readonly isLoose: boolean;
  /** The keys that must all be there; null when keys come and go. */
  readonly keys: ReadonlySet<string> | null;
  #keysAlone: Node | undefined;

  constructor(schema: Node) {
    super(schema);
    const { keyType, valueType, mode } = schema._zod.def;
    this.keySchema = keyType ?? ANY;
    this.value = new Link(valueType ?? ANY);
    this.isLoose = mode === 'loose';
    this.keys = isExhaustive(schema) ? keysOf(this.keySchema) : null;
  }

  /** The record without its values: zod itself then says what it makes of a key (numbers in disguise, for one). */
  get keysAlone(): Node {
    const { keyType, partial } = this.schema._zod.def;
    this.#keysAlone ??= remade(this.schema, { type: 'record', keyType, valueType: ANY, partial });
    return this.#keysAlone;
  }
}

export class ArrayPlan extends Base {
  readonly kind = 'array';
  readonly element: Link;

  constructor(schema: Node) {
    super(schema);
    this.element = new Link(schema._zod.def.element ?? ANY);
  }

  child(_index: number): Link {
    return this.element;
  }
}

export class TuplePlan extends Base {
  readonly kind = 'tuple';
  readonly items: readonly Link[];
  readonly rest: Link | null;
  #unchecked: Link | undefined;

  constructor(schema: Node) {
    super(schema);
    const { items = [], rest } = schema._zod.def;
    this.items = items.map((item) => new Link(item));
    this.rest = rest === undefined || rest === null ? null : new Link(rest);
  }

  child(index: number): Link | null {
    return this.items[index] ?? this.rest;
  }

  /** The tuple without its own checks: zod itself then says which lengths will do. */
  get unchecked(): Link {
    const { items, rest } = this.schema._zod.def;
    this.#unchecked ??= new Link(remade(this.schema, { type: 'tuple', items, rest }));
    return this.#unchecked;
  }
}

class WrapperPlan extends Base {
  readonly kind = 'wrapper';
  readonly inner: Link;

  constructor(schema: Node) {
    super(schema);
    this.inner = new Link(innerOf(schema) ?? ANY);
  }
}

/** Only zod knows what is inside: a leaf, a union, an intersection, or a type this library has not heard of. */
class OpaquePlan extends Base {
  readonly kind = 'opaque';
}

export type Plan = ObjectPlan | RecordPlan | ArrayPlan | TuplePlan | WrapperPlan | OpaquePlan;

const plans = new WeakMap<Node, Plan>();

export function planOf(schema: Node): Plan {
  let plan = plans.get(schema);
  if (plan === undefined) {
    plan = makePlan(schema);
    plans.set(schema, plan);
  }
  return plan;
}

function makePlan(schema: Node): Plan {
  const { type } = schema._zod.def;
  if (WRAPPER_TYPES.has(type)) return new WrapperPlan(schema);
  switch (type) {
    case 'object':
      return new ObjectPlan(schema);
    case 'record':
      return new RecordPlan(schema);
    case 'array':
      return new ArrayPlan(schema);
    case 'tuple':
      return new TuplePlan(schema);
    default:
      return new OpaquePlan(schema);
  }
}

/** The plan behind optional, nullable, lazy and the like. */
export function unwrapped(plan: Plan): Exclude<Plan, WrapperPlan> {
  let inside = plan;
  while (inside.kind === 'wrapper') inside = inside.inner.plan;
  return inside;
}

/** True when somewhere a node with checks of its own lies above values that a parse may fill in. */
export function checksWhatItFills(schema: Node): boolean {
  return reaches(schema, (node) => planOf(node).own !== null && planOf(node).mayFill);
}

function fillsIn(node: Node): boolean {
  const { type } = node._zod.def;
  // A record that demands every key gives back `undefined` for one that is absent and may be.
  return type === 'default' || type === 'prefault' || (type === 'record' && isExhaustive(node)) || !isKnownType(type);
}

function reaches(from: Node, isIt: (node: Node) => boolean): boolean {
  const seen = new Set<object>();
  const open = [from];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (seen.has(identityOf(node))) continue;
    seen.add(identityOf(node));
    if (isIt(node)) return true;
    for (const child of childrenOf(node)) open.push(child.node);
  }
  return false;
}

function keysOf(keySchema: Node): Set<string> {
  const keys = new Set<string>();
  for (const value of keySchema._zod.values ?? []) {
    if (typeof value === 'string' || typeof value === 'number') keys.add(String(value));
  }
  return keys;
}

/** Checks that only describe; attaching them to another schema would describe that one in zod's registry. */
const NOTES: ReadonlySet<string> = new Set(['describe', 'metadata']);

function ownChecks(schema: Node): Node | null {
  const { checks = [], error } = schema._zod.def;
  const run = checks.filter((check) => !NOTES.has(check._zod.def.check));
  if (run.length === 0) return null;
  return anything({ type: 'any', checks: run, error });
}

const ANY: Node = anything({ type: 'any' });

// zod's types describe one copy of zod and one type of schema at a time; `Node` describes what all of them share.
function anything(def: object): Node {
  return new $ZodAny(def as ConstructorParameters<typeof $ZodAny>[0]) as unknown as Node;
}

/** Another schema of the same type, made by the copy of zod that made the first. */
function remade(schema: Node, def: object): Node {
  return clone(schema as unknown as $ZodType, def as $ZodType['_zod']['def']) as unknown as Node;
}
