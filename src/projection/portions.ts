// `JSON.stringify(state, null, 2)`, portion by portion: a large document is never one text, which would take as much
// memory again as its bytes do, and which JavaScript has no room for beyond 512 MB.
//
// Byte for byte the same, because every portion is what JSON.stringify makes of some neighbours, at the depth at which
// they stand.

import { type Container, isContainer, type Plain, setOwn } from '../change/plain.js';
import { weigh } from '../change/weigh.js';

/** About; a text that alone is larger stays in one piece. */
export const PORTION_BYTES = 1024 * 1024;

export function* portionsOf(value: unknown, depth = 0): Generator<string> {
  if (!isContainer(value) || weigh(value, PORTION_BYTES) < PORTION_BYTES) {
    yield textAt(value, depth);
    return;
  }
  const keys = Array.isArray(value) ? null : Object.keys(value);
  const { length } = keys ?? (value as unknown[]);
  const indent = `\n${'  '.repeat(depth + 1)}`;
  let opening = keys === null ? '[' : '{';
  for (let at = 0; at < length; opening = ',') {
    const end = endOfLight(value, keys, at);
    if (end > at) {
      yield opening + withoutBrackets(textAt(range(value, keys, at, end), depth), depth);
      at = end;
    } else {
      yield opening + indent + (keys === null ? '' : `${JSON.stringify(keys[at])}: `);
      yield* portionsOf(itemAt(value, keys, at), depth + 1);
      at++;
    }
  }
  yield `\n${'  '.repeat(depth)}${keys === null ? ']' : '}'}`;
}

/** The text of a value inside so many containers: its lines are indented, its beginning is not. */
function textAt(value: unknown, depth: number): string {
  let wrapped = value;
  for (let level = 0; level < depth; level++) wrapped = [wrapped];
  const text = JSON.stringify(wrapped, null, 2);
  // Level n opens with a bracket, a newline and n indents, and closes with a newline, n - 1 indents and a bracket.
  return text.slice(depth * (depth + 3), text.length - depth * (depth + 1));
}

/** Of the text of a container that is not empty. */
function withoutBrackets(text: string, depth: number): string {
  return text.slice(1, -2 - 2 * depth);
}

/** Where the neighbours end, from `at` on, that make one portion; `at` itself when that one is too heavy. */
function endOfLight(value: Container, keys: string[] | null, at: number): number {
  const { length } = keys ?? (value as unknown[]);
  let left = PORTION_BYTES;
  for (let next = at; next < length; next++) {
    left -= (keys?.[next] as string | undefined)?.length ?? 0;
    if (left > 0) left -= weigh(itemAt(value, keys, next), left);
    if (left <= 0) return next;
  }
  return length;
}

function itemAt(value: Container, keys: string[] | null, at: number): unknown {
  return keys === null ? (value as unknown[])[at] : (value as Plain)[keys[at] as string];
}

function range(value: Container, keys: string[] | null, from: number, to: number): Container {
  if (keys === null) return (value as unknown[]).slice(from, to);
  const part: Plain = {};
  for (let at = from; at < to; at++) setOwn(part, keys[at] as string, (value as Plain)[keys[at] as string]);
  return part;
}
