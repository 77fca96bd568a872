// Validation that costs what changed: the schema is followed along the marked paths. Values that are new are parsed
// whole, from the outermost union or intersection on; above them only the ancestors' own checks run, not their other
// children. An update is refused exactly when zod would refuse the whole new state, or drop keys from it.
//
// I1. The state before the update was acceptable. Places without a mark need no look.
// I2. zod parses copies. It may freeze what it is given (`readonly`, even in an option of a union that fails), and a
//     deleted key is only out of sight until the update ends (see `hide`): a copy does not have it.
// I3. Refinements see what zod would show them. As long as the state equals its own parse they are given the state
//     itself; once a default is left out or a value rewritten, their schema is parsed whole. That is remembered until
//     the document is opened again, because the update that made them equal could still be undone.
//
// Decided: a key that was dropped is checked as absent, with zod's own rules for absence. zod looks at nothing below a
// key named `__proto__`, and neither does this: strict objects and records with listed keys refuse the key, everything
// else lets it through. When updates of one document are nested the outermost is checked; in a transaction each update
// is, at its own end. That zod skips refinements once a part has failed does not matter: the answer is no already.
// Errors thrown by a refinement, or by zod for an intersection that cannot be merged, undo the update and pass through.
//
// Not promised: a refinement costs what it costs. One at the root that walks the state makes every update walk it. A
// refinement that changes what it is given changes the document behind its back.

import { type ZodType, z } from 'zod';
import { HoldfastError } from '../errors.js';
import type { Marks } from './marks.js';
import { copyPlain, hasOwn, isContainer, isVisible, type Plain, setOwn } from './plain.js';
import { fillDefaults } from './schema-defaults.js';
import { fingerprintOf, looksLike } from './schema-fingerprint.js';
import { type Plan, planFor } from './schema-plan.js';
import { toProblem, unknownKey, type Where } from './schema-problem.js';
import { type Definition, innerOf } from './schema-shape.js';
import { canDescend, changedKeys, isStrict, itemOf, optionFor, partOf } from './schema-steps.js';
import type { Problem, StateChecker } from './tracked.js';
import { inspectSchema } from './usable.js';

/** zod reads absent keys like any others, so a key named `constructor` is never absent to it. */
const NOTHING: Plain = {};

export class Checker implements StateChecker {
  readonly runsCallerCode: boolean;
  readonly #schema: ZodType;
  readonly #name: string;
  readonly #plans = new WeakMap<ZodType, Plan>();
  /** Whether the state may differ from its own parse. Until `checkWhole` has seen the state, it may. */
  #differs: 'unknown' | boolean = 'unknown';

  constructor(schema: ZodType, name: string) {
    this.runsCallerCode = inspectSchema(schema, name).runsCallerCode;
    this.#schema = schema;
    this.#name = name;
  }

  /** Empty too once the state differs from its own parse: that is not known again without parsing it (I3). */
  get seal(): string {
    return this.#differs === false ? (fingerprintOf(this.#schema) ?? '') : '';
  }

  isOf(schema: ZodType): boolean {
    return looksLike(schema, this.#schema);
  }

  /** Instead of `checkWhole`, for a state that was sealed with `seal`. False when this schema is another one. */
  trusts(seal: string | undefined): boolean {
    if (seal === undefined || seal === '' || seal !== fingerprintOf(this.#schema)) return false;
    if (this.#differs === 'unknown') this.#differs = false;
    return true;
  }

  check(state: unknown, marks: Marks): Problem | null {
    if (marks.isEmpty) return null;
    return this.#guard(() => this.#visit(this.#schema, state, marks, null));
  }

  /** Checks the state that a document starts from. Without this, refinements make updates parse more than they must. */
  checkWhole(state: unknown): Problem | null {
    if (this.#differs === 'unknown') this.#differs = false;
    return this.#guard(() => this.#whole(this.#schema, state, null));
  }

  /** The state with defaults where keys are absent. The keys given keep their order. */
  withDefaults(state: unknown): unknown {
    return this.#guard(() => {
      const result = this.#schema.safeParse(copyPlain(state));
      return result.success ? fillDefaults(state, result.data) : state;
    });
  }

  #guard<R>(fn: () => R): R {
    try {
      return fn();
    } catch (error) {
      if (!isAsyncComplaint(error)) throw error;
      throw new HoldfastError(
        'HF_SCHEMA',
        `The schema of '${this.#name}' has an async refinement, and updates are synchronous; await the answer before the update. Nothing was changed.`,
        { cause: error },
      );
    }
  }

  #visit(schema: ZodType, value: unknown, marks: Marks, where: Where): Problem | null {
    const plan = this.#planOf(schema);
    if (marks.whole || !canDescend(plan.def, value, marks)) return this.#whole(schema, value, where);
    // Before, because a whole parse makes the walk below superfluous; after, because the walk may find a difference.
    if (plan.readsInside && this.#differs) return this.#whole(schema, value, where);
    const problem = this.#visitParts(plan, value, marks, where);
    if (problem !== null || plan.own === null) return problem;
    if (plan.readsInside && this.#differs) return this.#whole(schema, value, where);
    return toProblem(plan.own.safeParse(plan.parsesInside ? copyPlain(value) : value), where);
  }

  #visitParts(plan: Plan, value: unknown, marks: Marks, where: Where): Problem | null {
    const { def, schema } = plan;
    switch (def.type) {
      case 'object':
        return this.#visitObject(plan, value as Plain, marks, where);
      case 'record':
        return this.#visitRecord(plan, value as Plain, marks, where);
      case 'array':
      case 'tuple':
        return this.#visitArray(def, value as unknown[], marks, where);
      case 'union':
        return this.#visit(optionFor(def, value as Plain) as ZodType, value, marks, where);
      case 'any':
      case 'unknown':
        return null;
      default:
        return this.#visit(innerOf(schema) as ZodType, value, marks, where);
    }
  }

  #visitObject(plan: Plan, value: Plain, marks: Marks, where: Where): Problem | null {
    for (const key of changedKeys(marks)) {
      const problem = this.#property(plan, value, key, where);
      if (problem !== null) return problem;
    }
    for (const [key, kid] of marks.kids) {
      const part = key === '__proto__' ? undefined : partOf(plan.def, key as string);
      const problem = part === undefined ? null : this.#visit(part, value[key], kid, { key, above: where });
      if (problem !== null) return problem;
    }
    return null;
  }

  #property(plan: Plan, value: Plain, key: string, above: Where): Problem | null {
    const { def } = plan;
    const isPresent = isVisible(value, key);
    if (key === '__proto__') {
      if (isPresent && isStrict(def) && !hasOwn(def.shape ?? {}, key)) return unknownKey({ key, above });
      this.#differs = true;
      return null;
    }
    const part = partOf(def, key);
    if (isPresent) {
      const where = { key, above };
      return part === undefined ? unknownKey(where) : this.#whole(part, value[key], where);
    }
    return part === undefined || !hasOwn(def.shape ?? {}, key) ? null : this.#absence(plan, key, part, above);
  }

  #absence(plan: Plan, key: string, part: ZodType, above: Where): Problem | null {
    let property = plan.absences.get(key);
    if (property === undefined) {
      property = z.object({ [key]: part });
      plan.absences.set(key, property);
    }
    return this.#whole(property, {}, above);
  }

  #visitRecord(plan: Plan, value: Plain, marks: Marks, where: Where): Problem | null {
    for (const key of changedKeys(marks)) {
      const problem = this.#entry(plan, value, key, where);
      if (problem !== null) return problem;
    }
    for (const [stored, kid] of marks.kids) {
      const key = stored as string;
      const problem = this.#visitEntry(plan, value, key, kid, where);
      if (problem !== null) return problem;
    }
    return null;
  }

  #entry(plan: Plan, value: Plain, key: string, above: Where): Problem | null {
    const { def, requiredKeys, bareRecord, takesAnyKey } = plan;
    const isPresent = isVisible(value, key);
    const where = { key, above };
    if (key === '__proto__') this.#differs = true;
    if (requiredKeys !== null) {
      if (!requiredKeys.has(key)) return isPresent && def.mode !== 'loose' ? unknownKey(where) : null;
      if (key === '__proto__') return null;
      // zod gives back every required key, those with `undefined` too.
      if (!isPresent) this.#differs = true;
      return this.#whole(def.valueType as ZodType, isPresent ? value[key] : NOTHING[key], where);
    }
    if (!isPresent) return null;
    if (takesAnyKey && key !== '__proto__') return this.#whole(def.valueType as ZodType, value[key], where);
    const entry: Plain = {};
    setOwn(entry, key, value[key]);
    return this.#whole(bareRecord as ZodType, entry, above);
  }

  #visitEntry(plan: Plan, value: Plain, key: string, kid: Marks, above: Where): Problem | null {
    const { def, requiredKeys, takesAnyKey } = plan;
    if (key === '__proto__' || (requiredKeys !== null && !requiredKeys.has(key))) return null;
    // A loose record does not check values whose keys it does not know.
    if (def.mode === 'loose' && requiredKeys === null && !takesAnyKey) return this.#entry(plan, value, key, above);
    return this.#visit(def.valueType as ZodType, value[key], kid, { key, above });
  }

  #visitArray(def: Definition, items: unknown[], marks: Marks, above: Where): Problem | null {
    const checkItem = (index: number): Problem | null =>
      this.#whole(itemOf(def, index), items[index], { key: index, above });
    for (const stored of marks.puts) {
      const problem = checkItem(marks.keyOf(stored) as number);
      if (problem !== null) return problem;
    }
    for (const stored of marks.growths.keys()) {
      const problem = checkItem(marks.keyOf(stored) as number);
      if (problem !== null) return problem;
    }
    for (const [stored, kid] of marks.kids) {
      const key = marks.keyOf(stored) as number;
      const problem = this.#visit(itemOf(def, key), items[key], kid, { key, above });
      if (problem !== null) return problem;
    }
    for (let index = marks.tailIndex; index < items.length; index++) {
      const problem = checkItem(index);
      if (problem !== null) return problem;
    }
    return null;
  }

  #whole(schema: ZodType, value: unknown, where: Where): Problem | null {
    if (this.#planOf(schema).isSurelyFine?.(value)) return null;
    const given = copyPlain(value);
    const result = schema.safeParse(given);
    return result.success ? this.#compare(given, result.data, where) : toProblem(result, where);
  }

  /** What parsing took away was unknown; what it added or changed is a difference that refinements must see. */
  #compare(input: unknown, output: unknown, where: Where): Problem | null {
    if (input === output) return null;
    if (!isContainer(input) || !isContainer(output)) {
      this.#differs = true;
      return null;
    }
    const isArray = Array.isArray(input);
    const keys = Object.keys(input);
    for (const name of keys) {
      if (name === '__proto__') {
        this.#differs = true;
        continue;
      }
      const at: Where = { key: isArray ? Number(name) : name, above: where };
      if (!hasOwn(output, name)) return unknownKey(at);
      const problem = this.#compare((input as Plain)[name], (output as Plain)[name], at);
      if (problem !== null) return problem;
    }
    if (Object.keys(output).length !== keys.length) this.#differs = true;
    return null;
  }

  #planOf(schema: ZodType): Plan {
    let plan = this.#plans.get(schema);
    if (plan === undefined) {
      plan = planFor(schema);
      this.#plans.set(schema, plan);
    }
    return plan;
  }
}

function isAsyncComplaint(error: unknown): boolean {
  return error instanceof Error && /^(Encountered Promise during sync|Async schemas not supported)/.test(error.message);
}
