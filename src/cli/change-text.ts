// A change in a few words: `completed += "item-812"`, `outputs.item-812 = {…}`.

import { isContainer } from '../change/plain.js';
import { type Path, showPath } from '../errors.js';
import type { Change, ChangedDocument } from '../inspect/index.js';

const VALUE_CHARS_MAX = 40;
/** Larger ones are not turned into text only to be cut. */
const CONTENTS_MAX = 4;

/** What was added first: of an item that ended, that is what people look for. */
export function changesText({ changes }: ChangedDocument): string {
  const isAdded = ({ kind }: Change) => kind === 'tail' || kind === 'entries';
  return [...changes.filter(isAdded), ...changes.filter((change) => !isAdded(change))].map(changeText).join(', ');
}

export function changeText(change: Change): string {
  switch (change.kind) {
    case 'whole':
      return `= ${valueText(change.value)}`;
    case 'put':
      return `${showPath(change.path)} = ${valueText(change.value)}`;
    case 'drop':
      return `${showPath(change.path)} removed`;
    case 'tail':
      return change.items.length === 0
        ? `${rootless(change.path)} cut at ${change.from}`
        : `${rootless(change.path)} += ${change.items.map(valueText).join(', ')}`;
    case 'head':
      return `${rootless(change.path)} without its first ${change.count}`;
    case 'text':
      return `${showPath(change.path)} += ${valueText(change.text)}`;
    case 'removed':
      return 'removed';
    case 'schema':
      return `schema version ${change.version}`;
    case 'adopted':
      return 'taken from its file';
    case 'entries':
      return `+= ${change.entries.map(valueText).join(', ')}`;
    default:
      return change satisfies never;
  }
}

function rootless(path: Path): string {
  return path.length === 0 ? '' : showPath(path);
}

export function valueText(value: unknown): string {
  if (Array.isArray(value) && value.length > CONTENTS_MAX) return '[…]';
  if (isContainer(value) && Object.keys(value).length > CONTENTS_MAX) return '{…}';
  const text = JSON.stringify(typeof value === 'string' ? value.slice(0, VALUE_CHARS_MAX) : value);
  if (text.length <= VALUE_CHARS_MAX) return text;
  if (isContainer(value)) return Array.isArray(value) ? '[…]' : '{…}';
  return `${text.slice(0, VALUE_CHARS_MAX - 1)}…`;
}
