// About how many bytes a value takes on its way to disk. Not exact: for limits, not for layouts.

import { collectOps } from './collect.js';
import type { Marks } from './marks.js';
import { type Container, isContainer } from './plain.js';

/** What says of which kind and how long something is. */
const HEAD_BYTES = 3;
const OTHER_BYTES = 9;

export function weigh(value: unknown): number {
  if (typeof value === 'string') return value.length + HEAD_BYTES;
  if (!isContainer(value)) return OTHER_BYTES;
  let bytes = HEAD_BYTES;
  if (Array.isArray(value)) for (const item of value) bytes += weigh(item);
  else for (const key in value) bytes += key.length + HEAD_BYTES + weigh(value[key]);
  return bytes;
}

/** Of everything that these marks say is new. */
export function weighMarks(marks: Marks, state: Container): number {
  return weigh(collectOps(marks, state));
}
