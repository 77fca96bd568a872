// What zod filled in, copied into what is stored: keys keep the order they have, new ones go behind them.

import { type Container, isObject } from './validate-whole.js';

/** `input` with what only `output` has. Nothing is changed in place; where nothing was missing it is `input` itself. */
export function filledIn(input: unknown, output: unknown): unknown {
  if (input === output) return input;
  if (input === undefined) return copied(output);
  if (!isObject(input) || !isObject(output) || Array.isArray(input) !== Array.isArray(output)) return input;
  if (Array.isArray(input)) return filledArray(input, output as readonly unknown[]);
  return filledObject(input as Container, output as Container);
}

function filledArray(input: readonly unknown[], output: readonly unknown[]): readonly unknown[] {
  const items = input.map((item, index) => filledIn(item, output[index]));
  const more = output.slice(input.length);
  // A tuple can skip an optional item and fill in a later one, but an array in a document has no holes.
  if (!more.includes(undefined)) items.push(...more.map(copied));
  return items.length === input.length && items.every((item, index) => item === input[index]) ? input : items;
}

function filledObject(input: Container, output: Container): Container {
  const changes: [string, unknown][] = [];
  for (const key of Object.keys(input)) {
    if (!Object.hasOwn(output, key)) continue;
    const value = filledIn(input[key], output[key]);
    if (value !== input[key]) changes.push([key, value]);
  }
  for (const key of Object.keys(output)) {
    if (!Object.hasOwn(input, key) && output[key] !== undefined) changes.push([key, copied(output[key])]);
  }
  // Entries define keys rather than assign them: `__proto__` stays a key.
  return changes.length === 0 ? input : Object.fromEntries([...Object.entries(input), ...changes]);
}

/** Defaults belong to the schema and may be frozen; the document gets its own. */
function copied(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copied);
  if (!isObject(value) || Object.getPrototypeOf(Object.getPrototypeOf(value) ?? {}) !== null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copied(item)]));
}
