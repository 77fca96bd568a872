// One step along a path, in the document and in its schema: which schema stands for what is there.

import type { ZodType } from 'zod';
import type { Marks } from './marks.js';
import { hasOwn, type Plain } from './plain.js';
import { type Definition, definitionOf, internalsOf } from './schema-shape.js';

/** Whether parts of this value can be checked on their own. */
export function canDescend(def: Definition, value: unknown, marks: Marks): boolean {
  switch (def.type) {
    case 'union':
      return optionFor(def, value as Plain) !== undefined && !isChanged(marks, def.discriminator as string);
    case 'tuple':
      return marks.head === 0 && (marks.tailIndex === Number.POSITIVE_INFINITY || isRest(def, marks.tailIndex));
    case 'object':
    case 'record':
    case 'array':
    case 'any':
    case 'unknown':
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'nonoptional':
    case 'readonly':
    case 'lazy':
      return true;
    default:
      return false;
  }
}

function isRest({ items = [], rest }: Definition, index: number): boolean {
  return rest != null && index >= items.length;
}

/** The option of a discriminated union that is in force; undefined when only zod can say. */
export function optionFor({ discriminator, options = [] }: Definition, value: Plain): ZodType | undefined {
  if (discriminator === undefined) return undefined;
  const tag = value[discriminator];
  if (tag === undefined) return undefined;
  return options.find((option) => internalsOf(option).propValues?.[discriminator]?.has(tag));
}

function isChanged(marks: Marks, key: string): boolean {
  return marks.puts.has(key) || marks.drops.has(key) || marks.growths.has(key);
}

export function changedKeys(marks: Marks): Iterable<string> {
  if (marks.drops.size === 0 && marks.growths.size === 0) return marks.puts as Set<string>;
  return new Set([...marks.drops, ...marks.puts, ...marks.growths.keys()] as string[]);
}

export function partOf(def: Definition, key: string): ZodType | undefined {
  if (def.shape !== undefined && hasOwn(def.shape, key)) return def.shape[key];
  return isStrict(def) ? undefined : def.catchall;
}

export function isStrict({ catchall }: Definition): boolean {
  return catchall !== undefined && definitionOf(catchall).type === 'never';
}

export function itemOf(def: Definition, index: number): ZodType {
  return (def.element ?? def.items?.[index] ?? def.rest) as ZodType;
}
