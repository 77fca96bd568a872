// One text for what a schema demands, hashed: equal text, equal demands, so what was checked when it was written need
// not be checked when it is read.
//
// Left out on purpose: error messages and default values (they refuse nothing that is stored) and the order of keys.
// Not seen: what a refinement reads outside itself, and the body of a `superRefine` callback (zod wraps it in a closure
// of its own). After changing one of those, raise the document's `version`.

import { createHash } from 'node:crypto';
import { type Check, identityOf, innerOf, isExhaustive, isSchema, type Node, type Schema } from './schema-shape.js';

/** Fields of a definition that say nothing about which values pass, or that are told in another way. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  '_cachedInner',
  'abort',
  'checks',
  'defaultValue',
  'error',
  'getter',
  'params',
  'path',
]);
const NOTHING: ReadonlySet<string> = new Set();

/** Checks that only attach descriptions. */
const NOTES: ReadonlySet<string> = new Set(['describe', 'metadata']);

/** SHA-256, in hex, of the structure of a schema. */
export function fingerprint(schema: Schema): string {
  const text = new Text();
  text.tell(schema);
  return createHash('sha256').update(text.text).digest('hex');
}

class Text {
  text = '';
  // A schema that was told before is told by its number: cycles end, shared parts are told once.
  readonly #numbers = new Map<object, number>();

  tell(value: unknown): void {
    if (isSchema(value)) this.#schema(value);
    else if (typeof value === 'function') this.#word('function', String(value));
    else if (typeof value !== 'object' || value === null) this.#word(typeof value, String(value));
    else if (value instanceof RegExp || value instanceof Date) this.#word('object', String(value));
    else if (Array.isArray(value) || value instanceof Set) this.#list(value);
    else this.#fields(value, NOTHING);
  }

  #schema(node: Node): void {
    const identity = identityOf(node);
    const number = this.#numbers.get(identity);
    if (number !== undefined) {
      this.#word('seen', String(number));
      return;
    }
    this.#numbers.set(identity, this.#numbers.size);
    const { def } = node._zod;
    this.text += 'schema(';
    this.#fields(def, LEFT_OUT);
    if (def.type === 'lazy') this.tell(innerOf(node));
    // zod decides this from the key schema's values, which a record does not list itself.
    if (def.type === 'record') this.#word('exhaustive', String(isExhaustive(node)));
    for (const check of def.checks ?? []) this.#check(check);
    this.text += ')';
  }

  #check(check: Check): void {
    if (NOTES.has(check._zod.def.check)) return;
    this.text += 'check(';
    this.#fields(check._zod.def, LEFT_OUT);
    // `.check(fn)` keeps the function here; built-in checks have their parameters in the definition.
    if (check._zod.def.check === 'custom' && check._zod.def.fn === undefined) this.tell(check._zod.check);
    this.text += ')';
  }

  #fields(fields: object, leftOut: ReadonlySet<string>): void {
    this.text += '{';
    for (const key of Object.keys(fields).sort()) {
      if (leftOut.has(key)) continue;
      const value: unknown = Reflect.get(fields, key);
      if (value === undefined) continue;
      this.#word('key', key);
      this.tell(value);
    }
    this.text += '}';
  }

  #list(items: Iterable<unknown>): void {
    this.text += '[';
    for (const item of items) this.tell(item);
    this.text += ']';
  }

  // Lengths keep neighbours apart: no text can pass for the end of itself and the start of the next word.
  #word(kind: string, word: string): void {
    this.text += `${kind}:${word.length}:${word};`;
  }
}
