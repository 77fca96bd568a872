// A value that is entirely new is parsed by zod, and what zod gives back is compared with it and thrown away. The
// comparison finds what a parse passes over in silence: keys it stripped, `__proto__`, defaults it filled in.
//
// I1. The value is never changed, replaced or frozen: zod builds its output beside it, and schemas that would hand the
//     value itself to `Object.freeze` were refused.
// I2. A key the output lacks was stripped: it is refused, at any depth, also inside unions.
// I3. `__proto__` is data. zod leaves it out without a look, so it is checked here like any other key.

import { type $ZodType, safeParse } from 'zod/v4/core';
import type { Node } from './schema-shape.js';
import { type ObjectPlan, type Plan, type RecordPlan, unwrapped } from './validate-plan.js';

/** A problem as zod tells it; `path` leads from the value that was checked. */
export interface Issue {
  readonly code?: string;
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** What is wrong, or null. No array is made while all is well. */
export type Issues = readonly Issue[] | null;

export type Container = Readonly<Record<string, unknown>>;

export class WholeCheck {
  /**
   * The state may lack something that a parse fills in, so refinements must be shown the output of a parse. True until
   * the whole state has been looked at, and again for good when a check saw something filled in.
   */
  hasGaps = true;

  value(plan: Plan, value: unknown): Issues {
    const result = parse(plan.schema, value);
    if (!result.success) return result.error.issues;
    return result.data === value ? null : this.#compare(plan, value, result.data);
  }

  /** The value at one key of an object or record, which may be gone. */
  entry(plan: ObjectPlan | RecordPlan, container: Container, key: string): Issues {
    return plan.kind === 'object' ? this.#field(plan, container, key) : this.#member(plan, container, key);
  }

  #field(plan: ObjectPlan, container: Container, key: string): Issues {
    if (Object.hasOwn(container, key)) {
      const link = plan.child(key);
      return link === null ? unknownKey(key) : under(key, this.value(link.plan, container[key]));
    }
    const field = plan.fields.get(key);
    // zod does not miss a declared `__proto__` either.
    if (field === undefined || key === '__proto__') return null;
    const result = parse(field.alone, {});
    if (!result.success) return result.error.issues;
    if (Object.keys(result.data as object).length > 0) this.hasGaps = true;
    return null;
  }

  #member(plan: RecordPlan, container: Container, key: string): Issues {
    if (plan.keys !== null) return this.#required(plan, plan.keys, container, key);
    if (!Object.hasOwn(container, key)) return null;
    const issues = keyIssues(plan, key);
    if (issues !== null) return plan.isLoose ? null : issues;
    return under(key, this.value(plan.value.plan, container[key]));
  }

  #required(plan: RecordPlan, keys: ReadonlySet<string>, container: Container, key: string): Issues {
    const isThere = Object.hasOwn(container, key);
    if (!keys.has(key)) return isThere && !plan.isLoose ? keyOutside(key) : null;
    if (!isThere) {
      if (key === '__proto__') return null;
      this.hasGaps = true;
    }
    // Read like zod reads it, inheritance included: an absent key must be judged the same way here and in a parse.
    return under(key, this.value(plan.value.plan, container[key]));
  }

  #compare(plan: Plan | null, input: unknown, output: unknown): Issues {
    if (input === output) return null;
    if (input === undefined) this.hasGaps = true;
    if (!isObject(input) || !isObject(output)) return null;
    if (!Array.isArray(input)) return this.#compareObject(plan, input as Container, output as Container);
    return Array.isArray(output) ? this.#compareArray(plan, input, output) : null;
  }

  #compareArray(plan: Plan | null, input: readonly unknown[], output: readonly unknown[]): Issues {
    if (output.length > input.length) this.hasGaps = true;
    const inside = plan === null ? null : unwrapped(plan);
    const items = inside?.kind === 'array' || inside?.kind === 'tuple' ? inside : null;
    let found: Issues = null;
    for (let index = 0; index < input.length; index++) {
      if (input[index] === output[index]) continue;
      const child = items?.child(index)?.plan ?? null;
      found = both(found, under(index, this.#compare(child, input[index], output[index])));
    }
    return found;
  }

  #compareObject(plan: Plan | null, input: Container, output: Container): Issues {
    const inside = plan === null ? null : unwrapped(plan);
    const keyed = inside?.kind === 'object' || inside?.kind === 'record' ? inside : null;
    let found: Issues = null;
    let kept = 0;
    for (const key of Object.keys(input)) {
      if (key === '__proto__') {
        found = both(found, keyed === null ? protoOutOfReach() : this.entry(keyed, input, key));
      } else if (Object.hasOwn(output, key)) {
        kept++;
        const child = keyed === null ? null : childPlan(keyed, key);
        found = both(found, under(key, this.#compare(child, input[key], output[key])));
      } else if (input[key] !== undefined) {
        found = both(found, keyed?.kind === 'record' ? keyRewritten(key) : unknownKey(key));
      }
    }
    if (Object.keys(output).length > kept) this.hasGaps = true;
    return found;
  }
}

function childPlan(plan: ObjectPlan | RecordPlan, key: string): Plan | null {
  return plan.kind === 'record' ? plan.value.plan : (plan.child(key)?.plan ?? null);
}

/** What is wrong with a key of a record whose keys come and go. */
export function keyIssues(plan: RecordPlan, key: string): Issues {
  const asText = parse(plan.keySchema, key);
  if (asText.success && asText.data === key) return null;
  // Not as it stands. zod may still take it for a number, or, in a partial record, for a key that is not listed.
  const result = parse(plan.keysAlone, { [key]: null });
  if (!result.success) return result.error.issues;
  return Object.hasOwn(result.data as object, key) ? null : keyRewritten(key);
}

/** Runs a schema; zod's own functions take any copy's schemas, only their types do not. */
export function parse(schema: Node, value: unknown) {
  return safeParse(schema as unknown as $ZodType, value);
}

export function under(key: string | number, issues: Issues): Issues {
  return issues === null ? null : issues.map((issue) => ({ ...issue, path: [key, ...issue.path] }));
}

export function both(some: Issues, more: Issues): Issues {
  if (some === null) return more;
  return more === null ? some : [...some, ...more];
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function refusedKey(key: string, advice: string): Issues {
  const message = `Unrecognized key ${JSON.stringify(key)}: ${advice}`;
  return [{ code: 'unrecognized_keys', keys: [key], path: [], message } as Issue];
}

const unknownKey = (key: string) => refusedKey(key, 'add it to the schema, or use z.looseObject() there');
const keyOutside = (key: string) => refusedKey(key, 'the key schema of this record does not list it');
const keyRewritten = (key: string) => refusedKey(key, 'the key schema of this record would store it under another key');
const protoOutOfReach = () =>
  refusedKey('__proto__', 'inside a union or intersection zod does not check it; rename the key');
