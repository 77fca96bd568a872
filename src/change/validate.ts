// An update is checked by what it changed: the schema is followed along the marked paths, new values are parsed whole,
// and the containers above them run only their own checks.
//
// I1. `check` refuses exactly the updates after which parsing the whole state would fail or strip something, given
//     that the state before passed.
// I2. Cost follows the marks. The exceptions are the program's own: a refinement costs what it does each time
//     something below it changed, and a union or intersection is parsed whole from the outermost one on the path.
// I3. Paths are put together only when there is a problem to report.
// I4. Refinements see the state itself, or, while it may lack something that has a default, the output of a parse:
//     then their node is parsed whole.
//
// Not promised: that a refinement sees keys in the schema's order (it sees the state's order, or zod's after a parse),
// that it sees a `__proto__` key below it (a parse leaves it out), or an URL without the blanks around it (z.url()).

import { $ZodAsyncError } from 'zod/v4/core';
import { HoldfastError, type Path } from '../errors.js';
import type { Marks } from './marks.js';
import { refuseUnusable, type Schema } from './schema.js';
import type { Node } from './schema-shape.js';
import { filledIn } from './validate-defaults.js';
import {
  type ArrayPlan,
  checksWhatItFills,
  type ObjectPlan,
  type Plan,
  planOf,
  type RecordPlan,
  type TuplePlan,
} from './validate-plan.js';
import {
  both,
  type Container,
  type Issue,
  type Issues,
  isObject,
  keyIssues,
  parse,
  under,
  WholeCheck,
} from './validate-whole.js';

export interface Problem {
  /** Where the first problem is: keys and indices from the root of the document. */
  path: Path;
  message: string;
  /** All of zod's issues, their paths from the root of the document. */
  issues: readonly unknown[];
}

/** Checks one document: it remembers whether that document's state may lack defaults. */
export class Checker {
  readonly #plan: Plan;
  readonly #where: string;
  readonly #whole = new WholeCheck();

  constructor(schema: Schema, where: string) {
    refuseUnusable(schema, where);
    this.#where = where;
    this.#plan = planOf(schema as Node);
  }

  /** Checks what the marks say has changed in `state`. */
  check(state: unknown, marks: Marks): Problem | null {
    try {
      return problemOf(this.#changed(this.#plan, state, marks));
    } catch (error) {
      throw this.#explained(error);
    }
  }

  /** Checks all of `state`. */
  checkWhole(state: unknown): Problem | null {
    try {
      return problemOf(this.#whole.value(this.#plan, state));
    } catch (error) {
      throw this.#explained(error);
    }
  }

  /**
   * The state a document starts with, defaults filled in where absent. Keys keep their order, filled ones follow;
   * where nothing was missing the same reference comes back. A state that does not pass comes back as it is.
   */
  withDefaults(state: unknown): unknown {
    try {
      const result = parse(this.#plan.schema, state);
      const filled = result.success ? filledIn(state, result.data) : state;
      this.#lookForGaps(filled);
      return filled;
    } catch (error) {
      throw this.#explained(error);
    }
  }

  /**
   * Takes a state the document starts with that needs no check, because it was checked when it was written. Without
   * this call checks are as exact, but nodes with both refinements and defaults below them are parsed whole each time.
   */
  trust(state: unknown): void {
    try {
      this.#lookForGaps(state);
    } catch (error) {
      throw this.#explained(error);
    }
  }

  #lookForGaps(state: unknown): void {
    if (!checksWhatItFills(this.#plan.schema)) return;
    this.#whole.hasGaps = false;
    if (this.#whole.value(this.#plan, state) !== null) this.#whole.hasGaps = true;
  }

  #changed(plan: Plan, value: unknown, marks: Marks): Issues {
    if (marks.whole || this.#mustParse(plan)) return this.#whole.value(plan, value);
    const found = this.#below(plan, value, marks);
    if (found !== null || plan.own === null || plan.kind === 'opaque') return found;
    // Asked again: what changed below may have left a gap.
    if (this.#mustParse(plan)) return this.#whole.value(plan, value);
    const result = parse(plan.own, value);
    return result.success ? null : result.error.issues;
  }

  #mustParse(plan: Plan): boolean {
    return plan.own !== null && this.#whole.hasGaps && plan.mayFill;
  }

  #below(plan: Plan, value: unknown, marks: Marks): Issues {
    if (plan.kind === 'wrapper') return this.#changed(plan.inner.plan, value, marks);
    if (Array.isArray(value)) {
      if (plan.kind === 'array') return this.#array(plan, value, marks);
      if (plan.kind === 'tuple') return this.#tuple(plan, value, marks);
    } else if (isObject(value)) {
      if (plan.kind === 'object' || plan.kind === 'record') return this.#keyed(plan, value as Container, marks);
    }
    return this.#whole.value(plan, value);
  }

  #keyed(plan: ObjectPlan | RecordPlan, value: Container, marks: Marks): Issues {
    let found: Issues = null;
    for (const key of marks.drops) found = both(found, this.#whole.entry(plan, value, key));
    for (const key of marks.puts) {
      if (!marks.drops.has(key as string)) found = both(found, this.#whole.entry(plan, value, key as string));
    }
    for (const key of marks.growths.keys()) found = both(found, this.#whole.entry(plan, value, key as string));
    for (const [key, kid] of marks.kids) {
      if (!kid.isEmpty) found = both(found, this.#kid(plan, value, key as string, kid));
    }
    return found;
  }

  #kid(plan: ObjectPlan | RecordPlan, value: Container, key: string, kid: Marks): Issues {
    const child = this.#childAt(plan, value, key);
    if (child === null) return this.#whole.entry(plan, value, key);
    return under(key, this.#changed(child, value[key], kid));
  }

  /** The plan to follow from a key that is there already, or null where there is nothing to follow. */
  #childAt(plan: ObjectPlan | RecordPlan, value: Container, key: string): Plan | null {
    if (!Object.hasOwn(value, key)) return null;
    if (plan.kind === 'object') return plan.child(key)?.plan ?? null;
    if (!plan.isLoose) return plan.value.plan;
    const isListed = plan.keys === null ? keyIssues(plan, key) === null : plan.keys.has(key);
    return isListed ? plan.value.plan : null;
  }

  #array(plan: ArrayPlan | TuplePlan, value: readonly unknown[], marks: Marks, from = 0): Issues {
    let found: Issues = null;
    for (const stored of marks.puts) found = both(found, this.#item(plan, value, marks.keyOf(stored) as number, from));
    for (const stored of marks.growths.keys()) {
      found = both(found, this.#item(plan, value, marks.keyOf(stored) as number, from));
    }
    for (const [stored, kid] of marks.kids) {
      const index = marks.keyOf(stored) as number;
      const child = index < from || kid.isEmpty ? null : plan.child(index);
      if (child !== null) found = both(found, under(index, this.#changed(child.plan, value[index], kid)));
    }
    for (let index = Math.max(from, marks.tailIndex); index < value.length; index++) {
      found = both(found, this.#item(plan, value, index, from));
    }
    return found;
  }

  #item(plan: ArrayPlan | TuplePlan, value: readonly unknown[], index: number, from: number): Issues {
    const child = index < from ? null : plan.child(index);
    return child === null ? null : under(index, this.#whole.value(child.plan, value[index]));
  }

  #tuple(plan: TuplePlan, value: readonly unknown[], marks: Marks): Issues {
    const count = plan.items.length;
    const isMoved = marks.head > 0 || marks.tailIndex < count || (plan.rest === null && value.length > count);
    if (!isMoved) return this.#array(plan, value, marks);
    // Items changed places, so each of the listed ones has met another schema; those behind them have not.
    const listed = plan.rest === null ? value : value.slice(0, count);
    return both(this.#whole.value(plan.unchecked.plan, listed), this.#array(plan, value, marks, count));
  }

  #explained(error: unknown): unknown {
    if (!isAsyncError(error)) return error;
    const message = `The schema of ${this.#where} has an asynchronous check. An update is checked before it returns: make the check synchronous, or await its answer before the update.`;
    return new HoldfastError('HF_SCHEMA', message, { cause: error });
  }
}

function problemOf(issues: Issues): Problem | null {
  const first: Issue | undefined = issues?.[0];
  if (issues === null || first === undefined) return null;
  const path = first.path.map((key) => (typeof key === 'symbol' ? String(key) : key));
  return { path, message: first.message, issues };
}

// Another copy of zod throws its own class of the same name.
function isAsyncError(error: unknown): boolean {
  return error instanceof $ZodAsyncError || (error instanceof Error && error.constructor.name === '$ZodAsyncError');
}
