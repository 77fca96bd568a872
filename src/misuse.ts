// Misuse is a TypeError before anything is touched: what was expected, and what was given.

import { type ZodType, z } from 'zod';

export const isFunction = z.custom((value) => typeof value === 'function', 'a function');

/** `what` is called by its options, as in `open` or `doc`. */
export function assertOptions(schema: ZodType, options: unknown, what: string): void {
  assertGiven(options, what);
  const result = schema.safeParse(options);
  if (result.success) return;
  throw new TypeError(describe(result.error.issues[0] as z.core.$ZodIssue, options, what));
}

export function assertGiven(options: unknown, what: string): void {
  if (typeof options === 'object' && options !== null && !Array.isArray(options)) return;
  throw new TypeError(`Expected the options of ${what} to be an object, got ${show(options)}`);
}

function describe(issue: z.core.$ZodIssue, options: unknown, what: string): string {
  const { path } = issue;
  const name = path.join('.');
  if (issue.code === 'unrecognized_keys')
    return `Expected options that ${what} knows, got ${issue.keys.map((key) => `\`${name === '' ? '' : `${name}.`}${key}\``).join(', ')}`;
  return `Expected \`${name}\`${wanted(issue)}, got ${show(at(options, path))}`;
}

function wanted(issue: z.core.$ZodIssue): string {
  const isNumber = 'origin' in issue && (issue.origin === 'number' || issue.origin === 'int');
  if (isNumber && issue.code === 'too_small') return ` ≥ ${String(issue.minimum)}`;
  if (isNumber && issue.code === 'too_big') return ` ≤ ${String(issue.maximum)}`;
  if (issue.code === 'invalid_value') return ` to be ${issue.values.map((value) => show(value)).join(' or ')}`;
  if (issue.code === 'invalid_type') return ` to be of type ${issue.expected}`;
  return issue.code === 'custom' ? ` to be ${issue.message}` : ` to be right: ${issue.message}`;
}

function at(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inside, key) => (inside as Record<PropertyKey, unknown> | undefined)?.[key], value);
}

function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object';
  return String(value);
}

/** An option that is given as undefined is not given: its default counts. */
export function withoutUndefined<O extends object>(given: O): { [K in keyof O]?: Exclude<O[K], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as never;
}
