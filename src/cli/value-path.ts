// A place in a document as it is typed: `outputs.item-812.tries[3]`, `outputs["item 7"]`.

import { isContainer } from '../change/plain.js';
import { HoldfastError, type Path, showPath } from '../errors.js';

const PART = /^(?:\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|\.?([^.[\]]+))/;

export function parsePath(text: string): Path {
  const path: (string | number)[] = [];
  for (let rest = text; rest !== ''; ) {
    const match = PART.exec(rest);
    if (match === null) throw notAPath(text);
    const [whole, index, quoted, key] = match;
    if (index !== undefined) path.push(Number(index));
    else path.push(quoted === undefined ? (key as string) : unquoted(quoted, text));
    rest = rest.slice(whole.length);
  }
  return path;
}

function unquoted(quoted: string, text: string): string {
  try {
    return String(JSON.parse(quoted));
  } catch (error) {
    throw notAPath(text, error);
  }
}

function notAPath(text: string, cause?: unknown): TypeError {
  return new TypeError(`Expected --path like outputs.item[3] or outputs["item 7"], got '${text}'`, { cause });
}

const SHOWN_MAX = 8;

/** What is there. HF_MISSING, with what is there instead. */
export function valueAt(state: unknown, path: Path): unknown {
  let value = state;
  for (const [depth, key] of path.entries()) {
    if (!isContainer(value) || !Object.hasOwn(value, key)) throw missing(value, path.slice(0, depth), key);
    value = (value as Record<string | number, unknown>)[key];
  }
  return value;
}

function missing(parent: unknown, path: Path, key: string | number): HoldfastError {
  return new HoldfastError('HF_MISSING', `There is no ${showPath([...path, key])}: ${describe(parent, path)}.`);
}

function describe(parent: unknown, path: Path): string {
  const name = path.length === 0 ? 'the document' : showPath(path);
  if (!isContainer(parent)) return `${name} is ${JSON.stringify(parent)?.slice(0, 40)}`;
  if (Array.isArray(parent)) return `${name} has ${parent.length} items`;
  const keys = Object.keys(parent);
  if (keys.length === 0) return `${name} is empty`;
  const more = keys.length > SHOWN_MAX ? ` and ${keys.length - SHOWN_MAX} more` : '';
  return `${name} has ${keys.slice(0, SHOWN_MAX).join(', ')}${more}`;
}
