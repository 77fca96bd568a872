// Whether a schema is the one a state was checked with. Two schemas with the same fingerprint accept the same states, as
// far as their text shows.
//
// F1. What cannot be seen has no fingerprint: a function without source (bound, native), a check that hides the caller's
//     function in one of zod's (superRefine), an object of a class that is not known here. Such a schema is checked anew.
// F2. Not seen: what a refinement reads from outside itself. Whoever changes that raises the document's `version`.
// F3. A default that is made anew each time (a date, a random id) makes another fingerprint each time: checked anew, too.

import { createHash } from 'node:crypto';
import { type ZodType, z } from 'zod';
import { definitionOf, hasOwnChecks, identityOf, internalsOf, isSchema, requiredKeysOf } from './schema-shape.js';

const known = new WeakMap<ZodType, string | null>();

/** Null when the schema has none. */
export function fingerprintOf(schema: ZodType): string | null {
  const found = known.get(schema);
  if (found !== undefined) return found;
  const walk = new Walk(true);
  const text = walk.value(schema);
  const { major, minor, patch } = z.core.version;
  const hash = () => createHash('sha256').update(`${major}.${minor}.${patch} ${text}`).digest('hex').slice(0, 32);
  const fingerprint = walk.isOpaque ? null : hash();
  known.set(schema, fingerprint);
  return fingerprint;
}

/** Whether these accept the same, as far as can be seen. What cannot be seen may differ, and what defaults are. */
export function looksLike(one: ZodType, other: ZodType): boolean {
  return one === other || new Walk(false).value(one) === new Walk(false).value(other);
}

class Walk {
  /** Found something that it cannot see into. */
  isOpaque = false;
  readonly #hasDefaults: boolean;
  readonly #places = new Map<object, number>();

  constructor(hasDefaults: boolean) {
    this.#hasDefaults = hasDefaults;
  }

  value(value: unknown): string {
    switch (typeof value) {
      case 'object':
        return value === null ? 'null' : this.#object(value);
      case 'function':
        return this.#function(value);
      case 'symbol':
        return this.#opaque();
      case 'bigint':
        return `${value}n`;
      case 'string':
        return JSON.stringify(value);
      default:
        // -0 is another number to a literal.
        return Object.is(value, -0) ? '-0' : String(value);
    }
  }

  #object(value: object): string {
    if (!isSchema(value) || !hasOwnChecks(value)) return this.#place(value);
    return `${this.value(definitionOf(value).checks)} on ${this.#place(value)}`;
  }

  #place(value: object): string {
    // A lazy schema is a new object around the same one each time.
    const identity = isSchema(value) ? identityOf(value) : value;
    const place = this.#places.get(identity);
    if (place !== undefined) return `#${place}`;
    this.#places.set(identity, this.#places.size);
    if (isSchema(value)) return `schema ${this.#schema(value)}`;
    if (Array.isArray(value)) return `[${value.map((item) => this.value(item)).join()}]`;
    if (value instanceof RegExp) return `regexp ${String(value)}`;
    if (value instanceof Set) return `set ${this.value([...value])}`;
    if (value instanceof Map) return `map ${this.value([...value])}`;
    if ('_zod' in value) return `check ${this.#check(value as { _zod: { def: Record<string, unknown> } })}`;
    const prototype = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null) return this.#opaque();
    return this.#fields(value as Record<string, unknown>);
  }

  #schema(schema: ZodType): string {
    const { def, innerType } = internalsOf(schema);
    // What it resolves to says more than the function that does.
    if (def.type === 'lazy') return `lazy ${this.value(innerType)}`;
    const text = this.#definition(def as unknown as Record<string, unknown>);
    if (def.type === 'custom' && typeof def.fn !== 'function') return `${text} ${this.#opaque()}`;
    return requiredKeysOf(def) === undefined ? text : `all of ${text}`;
  }

  #check({ _zod: { def } }: { _zod: { def: Record<string, unknown> } }): string {
    const text = this.#definition(def);
    return def.check === 'custom' && typeof def.fn !== 'function' ? `${text} ${this.#opaque()}` : text;
  }

  /** `error` only says a refusal in other words. Only here: in a shape it is a property like any other. */
  #definition(def: Record<string, unknown>): string {
    return this.#fields(
      def,
      Object.keys(def).filter((key) => key !== 'error' && (this.#hasDefaults || key !== 'defaultValue')),
    );
  }

  #fields(value: Record<string, unknown>, keys = Object.keys(value)): string {
    return `{${keys.map((key) => `${JSON.stringify(key)}:${this.value(value[key])}`).join()}}`;
  }

  #function(fn: object): string {
    const source = Function.prototype.toString.call(fn);
    if (source.includes('[native code]')) return this.#opaque();
    return `function ${JSON.stringify(source)}`;
  }

  #opaque(): string {
    this.isOpaque = true;
    return 'something';
  }
}
