// From marks to ops: the values that are at the marked paths now.

import type { Marks } from './marks.js';
import { OP_DROP, OP_HEAD, OP_PUT, OP_TAIL, OP_TEXT, OP_WHOLE, type Op, type WirePath } from './ops.js';
import type { Container, Plain } from './plain.js';

export function collectOps(marks: Marks, state: Container): Op[] {
  const ops: Op[] = [];
  if (marks.whole) ops.push([OP_WHOLE, state]);
  else collect(marks, state, [], ops);
  return ops;
}

function collect(marks: Marks, value: Container, path: WirePath, ops: Op[]): void {
  if (marks.head > 0) ops.push([OP_HEAD, path, marks.head]);
  if (marks.drops.size > 0) ops.push([OP_DROP, path, ...marks.drops]);
  if (marks.puts.size > 0) ops.push(putOp(marks, value, path));
  for (const [stored, growth] of marks.growths) {
    ops.push([OP_TEXT, [...path, marks.keyOf(stored)], growth.from, growth.text]);
  }
  for (const [stored, kid] of marks.kids) {
    const key = marks.keyOf(stored);
    collect(kid, (value as Plain)[key] as Container, [...path, key], ops);
  }
  if (marks.tail !== Number.POSITIVE_INFINITY) {
    ops.push([OP_TAIL, path, marks.tailIndex, (value as unknown[]).slice(marks.tailIndex)]);
  }
}

function putOp(marks: Marks, value: Container, path: WirePath): Op {
  const op: Op = [OP_PUT, path];
  for (const stored of marks.puts) {
    const key = marks.keyOf(stored);
    op.push(key, (value as Plain)[key]);
  }
  return op;
}
