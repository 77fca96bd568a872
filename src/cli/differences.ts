// What is different between two states, by path. Lists are compared from both ends: what was pushed, shifted or spliced
// shows as that, and not as a change of everything behind it.

import { isContainer } from '../change/plain.js';
import type { Path } from '../errors.js';

export type Difference =
  | { kind: 'added'; path: Path; after: unknown }
  | { kind: 'removed'; path: Path; before: unknown }
  | { kind: 'changed'; path: Path; before: unknown; after: unknown };

export function* differences(before: unknown, after: unknown, path: Path = []): Generator<Difference> {
  if (isEqual(before, after)) return;
  if (Array.isArray(before) && Array.isArray(after)) yield* inLists(before, after, path);
  else if (isObject(before) && isObject(after)) yield* inObjects(before, after, path);
  else yield { kind: 'changed', path, before, after };
}

function* inObjects(
  before: Record<string, unknown>,
  after: Record<string, unknown>,
  path: Path,
): Generator<Difference> {
  for (const key of Object.keys(before)) {
    const at = [...path, key];
    if (Object.hasOwn(after, key)) yield* differences(before[key], after[key], at);
    else yield { kind: 'removed', path: at, before: before[key] };
  }
  for (const key of Object.keys(after))
    if (!Object.hasOwn(before, key)) yield { kind: 'added', path: [...path, key], after: after[key] };
}

function* inLists(before: readonly unknown[], after: readonly unknown[], path: Path): Generator<Difference> {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && isEqual(before[start], after[start])) start++;
  let end = 0;
  while (end < shorter - start && isEqual(before[before.length - 1 - end], after[after.length - 1 - end])) end++;
  const gone = before.length - end;
  const come = after.length - end;
  const both = Math.min(gone, come);
  for (let index = start; index < both; index++) yield* differences(before[index], after[index], [...path, index]);
  for (let index = both; index < gone; index++)
    yield { kind: 'removed', path: [...path, index], before: before[index] };
  for (let index = both; index < come; index++) yield { kind: 'added', path: [...path, index], after: after[index] };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return isContainer(value) && !Array.isArray(value);
}

function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (!isContainer(a) || !isContainer(b) || Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && isEqual(a[key as never], b[key as never]));
}
