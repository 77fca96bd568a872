// About how many bytes a value takes on its way to disk. Not exact: for limits, not for layouts.

import { collectOps } from './collect.js';
import type { Marks } from './marks.js';
import { type Container, isContainer } from './plain.js';

/** What says of which kind and how long something is. */
const HEAD_BYTES = 3;
const OTHER_BYTES = 9;

/** With `enough` it looks no further once it has found so many. */
export function weigh(value: unknown, enough = Number.POSITIVE_INFINITY): number {
  if (typeof value === 'string') return value.length + HEAD_BYTES;
  if (!isContainer(value)) return OTHER_BYTES;
  let bytes = HEAD_BYTES;
  if (Array.isArray(value)) {
    for (const item of value) {
      if (bytes >= enough) break;
      bytes += weigh(item, enough - bytes);
    }
    return bytes;
  }
  for (const key in value) {
    if (bytes >= enough) break;
    bytes += key.length + HEAD_BYTES + weigh(value[key], enough - bytes);
  }
  return bytes;
}

/** Of everything that these marks say is new. */
export function weighMarks(marks: Marks, state: Container): number {
  return weigh(collectOps(marks, state));
}
