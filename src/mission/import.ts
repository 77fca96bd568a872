// A project whose files were the truth so far, as the first event of its history.

import type { ZodType } from 'zod';
import type { EventOf } from './events.js';
import { assertFits } from './refusals.js';
import { listOf, stepsDone } from './summaries.js';

export interface ImportSource {
  /** A list of features with `id` and `status`, or an object of them by id. */
  features: unknown;
  /** Per feature: `{ ok }` or `{ status: 'passed' }`. */
  validation?: unknown;
}

export function importedFrom(
  { features, validation }: ImportSource,
  lifecycle: readonly string[],
  schema: { feature?: ZodType | undefined; evidence?: ZodType | undefined },
): Omit<EventOf<'imported'>, 'at'> {
  const list = wholeListOf((features as { features?: unknown } | null)?.features ?? features, 'features');
  if (list.length === 0)
    throw new TypeError('Expected `features` to be a list of objects with an id, or an object of them by id');
  const standing = list.map(({ id, feature }) => {
    assertFits(schema.feature, feature, `The payload of '${id}'`);
    return { id, done: stepsDone(feature, lifecycle), payload: feature };
  });
  const checks = wholeListOf((validation as { assertions?: unknown } | null)?.assertions ?? validation, 'validation');
  return {
    type: 'imported',
    lifecycle: [...lifecycle],
    features: standing,
    validation: checks.map(({ id, feature }) => {
      assertFits(schema.evidence, feature.evidence, `The evidence for '${id}'`);
      return {
        id,
        ok: feature.ok === true || stepsDone(feature, lifecycle) > 0,
        validator: typeof feature.validator === 'string' ? feature.validator : 'imported',
        evidence: feature.evidence,
      };
    }),
  };
}

/** What is left out here would vanish, and of what is there twice the last one would count, perhaps a pending one. */
function wholeListOf(value: unknown, what: string): ReturnType<typeof listOf> {
  const list = listOf(value);
  const given = typeof value === 'object' && value !== null ? Object.keys(value).length : 0;
  if (list.length < given)
    throw new TypeError(
      `Expected each of \`${what}\` to be an object with a text as its id, got ${given - list.length} of ${given} that are not`,
    );
  const ids = new Set<string>();
  for (const { id } of list) {
    if (ids.has(id)) throw new TypeError(`Expected each of \`${what}\` once, got '${id}' more than once`);
    ids.add(id);
  }
  return list;
}
