// What a refusal says: where in the document, what, and zod's issues with their paths from the root.

import type { z } from 'zod';
import type { Key } from './marks.js';
import type { Problem } from './tracked.js';

/** A path that costs nothing until someone has to read it. */
export type Where = { readonly key: Key; readonly above: Where } | null;

export function toProblem(result: z.ZodSafeParseResult<unknown>, where: Where): Problem | null {
  if (result.success) return null;
  const prefix = pathOf(where);
  const issues = result.error.issues.map((issue) => ({ ...issue, path: [...prefix, ...issue.path] }));
  const [first] = issues;
  return { path: (first?.path ?? prefix) as Key[], message: first?.message ?? 'invalid', issues };
}

export function unknownKey(where: Where): Problem {
  const path = pathOf(where);
  const key = String(path.at(-1));
  const message = `Unrecognized key ${JSON.stringify(key)}; add it to the schema, or use z.looseObject()`;
  return { path, message, issues: [{ code: 'unrecognized_keys', keys: [key], path, message }] };
}

function pathOf(where: Where): Key[] {
  const path: Key[] = [];
  for (let at = where; at !== null; at = at.above) path.unshift(at.key);
  return path;
}
