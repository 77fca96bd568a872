// `replace` writes what differs: the present state is edited into the next one, so an unchanged save writes nothing.

import type { DraftNode } from './draft.js';
import { placeIndex, placeKey, pushAll, removeKey, setLength } from './edit.js';
import { type Container, getOwn, hasOwn, isContainer, isVisible, type Plain } from './plain.js';

/** Edits `node` into `next`, a private copy of the same kind, key order included. */
export function reconcile(node: DraftNode, next: Container): void {
  if (Array.isArray(next)) reconcileArray(node, next);
  else reconcileObject(node, next);
}

function reconcileArray(node: DraftNode, next: unknown[]): void {
  const raw = node.raw as unknown[];
  if (raw.length > next.length) setLength(node, next.length);
  const common = raw.length;
  for (let index = 0; index < common; index++) {
    const kid = sameKind(raw[index], next[index]);
    if (kid !== null) reconcile(node.session.node(kid, node, index), next[index] as Container);
    else if (raw[index] !== next[index]) placeIndex(node, index, next[index]);
  }
  pushAll(node, next.slice(common));
}

function reconcileObject(node: DraftNode, next: Plain): void {
  const raw = node.raw as Plain;
  for (const key of Object.keys(raw)) if (!hasOwn(next, key)) removeKey(node, key);
  const wanted = Object.keys(next);
  const present = Object.keys(raw);
  let inPlace = 0;
  while (inPlace < present.length && present[inPlace] === wanted[inPlace]) inPlace++;
  // From here on the order differs: taking these keys out and putting them back in order moves them.
  for (const key of present.slice(inPlace)) removeKey(node, key);
  for (const key of wanted) {
    if (!isVisible(raw, key)) placeKey(node, key, getOwn(next, key));
    else reconcileKey(node, key, next[key]);
  }
}

function reconcileKey(node: DraftNode, key: string, next: unknown): void {
  const now = (node.raw as Plain)[key];
  const kid = sameKind(now, next);
  if (kid !== null) reconcile(node.session.node(kid, node, key), next as Container);
  else if (now !== next) placeKey(node, key, next);
}

function sameKind(now: unknown, next: unknown): Container | null {
  return isContainer(now) && isContainer(next) && Array.isArray(now) === Array.isArray(next) ? now : null;
}
