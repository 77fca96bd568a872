// Validation that costs what changed: the schema is followed along the marked paths. Values that are new are parsed
// whole, from the outermost union or intersection on; above them only the ancestors' own refinements run, not their
// other children.
//
// Not promised: a refinement costs what it costs. One at the root that walks the state makes every update walk it.

import { type ZodType, z } from 'zod';
import { HoldfastError } from '../errors.js';
import type { Key, Marks } from './marks.js';
import { hasOwn, isContainer, type Plain } from './plain.js';
import type { Problem, StateChecker } from './tracked.js';
import { type Definition, definitionOf, inspectSchema } from './usable.js';

type Where = { readonly key: Key; readonly above: Where } | null;

/** What is worked out once per schema. */
interface Plan {
  def: Definition;
  schema: ZodType;
  /** The schema's own checks without its children. */
  own: ZodType | null;
  /** One property each, so that zod itself says what absence means. */
  properties: Map<string, ZodType>;
  keyValues: Set<string> | null;
}

export class Checker implements StateChecker {
  readonly runsCallerCode: boolean;
  readonly #schema: ZodType;
  readonly #name: string;
  readonly #plans = new WeakMap<ZodType, Plan>();
  /** Somewhere a default is not filled in: refinements must then see parsed values, not the state. */
  #isSparse = false;

  constructor(schema: ZodType, name: string) {
    this.#schema = schema;
    this.#name = name;
    this.runsCallerCode = inspectSchema(schema, name).hasRefinements;
  }

  check(state: unknown, marks: Marks): Problem | null {
    return this.#guard(() => this.#visit(this.#schema, state, marks, null));
  }

  checkWhole(state: unknown): Problem | null {
    return this.#guard(() => this.#whole(this.#schema, state, null));
  }

  /** The state with defaults where keys are absent. The keys given keep their order. */
  withDefaults(state: unknown): unknown {
    return this.#guard(() => {
      const result = this.#schema.safeParse(state);
      return result.success ? fill(state, result.data) : state;
    });
  }

  #guard<R>(fn: () => R): R {
    try {
      return fn();
    } catch (error) {
      if (!(error instanceof Error) || error.constructor.name !== '$ZodAsyncError') throw error;
      throw new HoldfastError(
        'HF_SCHEMA',
        `The schema of '${this.#name}' has an async refinement; updates are synchronous.`,
        {
          cause: error,
        },
      );
    }
  }

  #visit(schema: ZodType, value: unknown, marks: Marks, where: Where): Problem | null {
    if (marks.whole) return this.#whole(schema, value, where);
    const plan = this.#planOf(schema);
    if (plan.own !== null && this.#isSparse) return this.#whole(schema, value, where);
    const problem = this.#visitKind(plan, value, marks, where);
    if (problem !== null || plan.own === null || marks.isEmpty) return problem;
    if (this.#isSparse) return this.#whole(schema, value, where);
    return toProblem(plan.own.safeParse(value), where);
  }

  #visitKind(plan: Plan, value: unknown, marks: Marks, where: Where): Problem | null {
    const { def, schema } = plan;
    switch (def.type) {
      case 'object':
        return this.#visitObject(plan, value as Plain, marks, where);
      case 'record':
        return this.#visitRecord(plan, value as Plain, marks, where);
      case 'array':
        return this.#visitArray(value as unknown[], marks, where, () => def.element);
      case 'tuple': {
        const hasNewLength = marks.head > 0 || marks.tail !== Number.POSITIVE_INFINITY;
        if (hasNewLength || !Array.isArray(value)) return this.#whole(schema, value, where);
        return this.#visitArray(value, marks, where, (index) => def.items?.[index] ?? def.rest ?? undefined);
      }
      case 'optional':
      case 'nullable':
      case 'default':
      case 'prefault':
      case 'nonoptional':
      case 'readonly':
        return this.#visit(def.innerType as ZodType, value, marks, where);
      case 'lazy':
        return this.#visit((def.getter as () => ZodType)(), value, marks, where);
      case 'any':
      case 'unknown':
        return null;
      default:
        return this.#whole(schema, value, where);
    }
  }

  #visitObject(plan: Plan, value: Plain, marks: Marks, where: Where): Problem | null {
    for (const key of changedKeys(marks)) {
      const problem = this.#property(plan, value, key, { key, above: where });
      if (problem !== null) return problem;
    }
    for (const [key, kid] of marks.kids) {
      const part = partOf(plan.def, key as string);
      const problem = part === undefined ? null : this.#visit(part, value[key], kid, { key, above: where });
      if (problem !== null) return problem;
    }
    return null;
  }

  #property(plan: Plan, value: Plain, key: string, where: Where): Problem | null {
    const part = partOf(plan.def, key);
    const isPresent = isThere(value, key);
    if (part === undefined) return isPresent ? unknownKey(key, where) : null;
    let property = plan.properties.get(key);
    if (property === undefined) {
      property = z.object({ value: part });
      plan.properties.set(key, property);
    }
    const given: Plain = isPresent ? { value: value[key] } : {};
    const result = property.safeParse(given);
    if (!result.success) return toProblem(result, where, 1);
    return this.#compare(given, result.data, where, 1);
  }

  #visitRecord(plan: Plan, value: Plain, marks: Marks, where: Where): Problem | null {
    const { def, schema, keyValues } = plan;
    if (def.mode === 'loose') return this.#whole(schema, value, where);
    for (const key of changedKeys(marks)) {
      const problem = this.#recordKey(def, keyValues, value, key, { key, above: where });
      if (problem !== null) return problem;
    }
    for (const [key, kid] of marks.kids) {
      const problem = this.#visit(def.valueType as ZodType, value[key], kid, { key, above: where });
      if (problem !== null) return problem;
    }
    return null;
  }

  #recordKey(def: Definition, keyValues: Set<string> | null, value: Plain, key: string, where: Where): Problem | null {
    const isPresent = isThere(value, key);
    if (keyValues !== null) {
      if (keyValues.has(key)) return this.#whole(def.valueType as ZodType, isPresent ? value[key] : undefined, where);
      return isPresent ? unknownKey(key, where) : null;
    }
    if (!isPresent) return null;
    return checkKey(def.keyType as ZodType, key, where) ?? this.#whole(def.valueType as ZodType, value[key], where);
  }

  #visitArray(
    items: unknown[],
    marks: Marks,
    where: Where,
    schemaAt: (index: number) => ZodType | undefined,
  ): Problem | null {
    const checkItem = (index: number): Problem | null => {
      const schema = schemaAt(index);
      return schema === undefined ? null : this.#whole(schema, items[index], { key: index, above: where });
    };
    for (const stored of [...marks.puts, ...marks.growths.keys()]) {
      const problem = checkItem(marks.keyOf(stored) as number);
      if (problem !== null) return problem;
    }
    for (const [stored, kid] of marks.kids) {
      const index = marks.keyOf(stored) as number;
      const schema = schemaAt(index);
      const problem =
        schema === undefined ? null : this.#visit(schema, items[index], kid, { key: index, above: where });
      if (problem !== null) return problem;
    }
    for (let index = marks.tailIndex; index < items.length; index++) {
      const problem = checkItem(index);
      if (problem !== null) return problem;
    }
    return null;
  }

  #whole(schema: ZodType, value: unknown, where: Where): Problem | null {
    const result = schema.safeParse(value);
    return result.success ? this.#compare(value, result.data, where, 0) : toProblem(result, where);
  }

  /** What parsing took away was unknown; what it added was a default. `skip` leaves out the holder of one property. */
  #compare(input: unknown, output: unknown, where: Where, skip: number): Problem | null {
    if (!isContainer(input) || !isContainer(output)) return null;
    for (const key of Object.keys(input)) {
      // zod leaves `__proto__` out of what it returns; here it is a key like any other.
      if (key === '__proto__') continue;
      const at: Where = skip > 0 ? where : { key, above: where };
      if (!hasOwn(output, key)) return unknownKey(key, at);
      const problem = this.#compare((input as Plain)[key], (output as Plain)[key], at, 0);
      if (problem !== null) return problem;
    }
    for (const key of Object.keys(output)) if (!hasOwn(input, key)) this.#isSparse = true;
    return null;
  }

  #planOf(schema: ZodType): Plan {
    let plan = this.#plans.get(schema);
    if (plan === undefined) {
      const def = definitionOf(schema);
      const checks = (def.checks ?? []) as Parameters<ReturnType<typeof z.any>['check']>;
      const own = checks.length === 0 ? null : z.any().check(...checks);
      const values = def.type === 'record' && !def.partial ? def.keyType?._zod.values : undefined;
      const keyValues = values === undefined ? null : new Set([...values].map(String));
      plan = { def, schema, own, properties: new Map(), keyValues };
      this.#plans.set(schema, plan);
    }
    return plan;
  }
}

function changedKeys(marks: Marks): Iterable<string> {
  if (marks.drops.size === 0 && marks.growths.size === 0) return marks.puts as Set<string>;
  return new Set([...marks.drops, ...marks.puts, ...marks.growths.keys()] as string[]);
}

function isThere(value: Plain, key: string): boolean {
  return Object.prototype.propertyIsEnumerable.call(value, key);
}

function partOf(def: Definition, key: string): ZodType | undefined {
  if (def.shape !== undefined && hasOwn(def.shape, key)) return def.shape[key];
  const { catchall } = def;
  return catchall === undefined || definitionOf(catchall).type === 'never' ? undefined : catchall;
}

function checkKey(keyType: ZodType, key: string, where: Where): Problem | null {
  const result = keyType.safeParse(key);
  if (result.success) return null;
  // As zod does it: the keys of a record of numbers are text.
  const isNumeric = key !== '' && String(Number(key)) === key;
  if (isNumeric && keyType.safeParse(Number(key)).success) return null;
  return toProblem(result, where);
}

function unknownKey(key: string, where: Where): Problem {
  const message = `Unrecognized key ${JSON.stringify(key)}; add it to the schema, or use z.looseObject()`;
  return {
    path: pathOf(where),
    message,
    issues: [{ code: 'unrecognized_keys', keys: [key], path: pathOf(where), message }],
  };
}

function toProblem(result: z.ZodSafeParseResult<unknown>, where: Where, skip = 0): Problem | null {
  if (result.success) return null;
  const prefix = pathOf(where);
  const issues = result.error.issues.map((issue) => ({ ...issue, path: [...prefix, ...issue.path.slice(skip)] }));
  const [first] = issues;
  return { path: (first?.path ?? prefix) as Key[], message: first?.message ?? 'invalid', issues };
}

function pathOf(where: Where): Key[] {
  const path: Key[] = [];
  for (let at = where; at !== null; at = at.above) path.unshift(at.key);
  return path;
}

function fill(input: unknown, output: unknown): unknown {
  if (!isContainer(input) || !isContainer(output)) return input === undefined ? output : input;
  if (Array.isArray(input)) {
    const items = input.map((item, index) => fill(item, (output as unknown[])[index]));
    return items.some((item, index) => item !== input[index]) ? items : input;
  }
  let changed = false;
  const filled: Plain = { ...input };
  for (const key of Object.keys(output)) {
    const value = fill(hasOwn(input, key) ? input[key] : undefined, (output as Plain)[key]);
    if (value === undefined || (hasOwn(input, key) && value === input[key])) continue;
    filled[key] = value;
    changed = true;
  }
  return changed ? filled : input;
}
