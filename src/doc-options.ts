// What callers say when they open a document or a log.

import type { ZodType } from 'zod';
import type { StateChecker } from './change/tracked.js';

export interface DocOptions<T> {
  /** Every change is checked against it. */
  schema?: ZodType | undefined;
  /** The state of a document that is not there yet. */
  initial: T;
  /** Of the schema; raise it when the schema changes. @default 1 */
  version?: number;
  /** From a state of an earlier version to one of this. Gets a copy; the old state is kept in quarantine. */
  migrate?: (old: unknown, fromVersion: number) => T;
  /** Earlier versions of the JSON file that are kept. @default the store's */
  backups?: number;
  /** For this document. @default the store's */
  onDrift?: 'refuse' | 'adopt' | 'restore';
}

export interface LogOptions {
  /** Every entry is checked against it. */
  schema?: ZodType | undefined;
}

/** Whoever opens it again with a schema relies on that one; without a schema, on whatever it was opened with. */
export function assertSameSchema(
  name: string,
  checker: StateChecker | null | undefined,
  schema: ZodType | undefined,
): void {
  if (schema === undefined || checker?.isOf(schema) === true) return;
  const how = checker == null ? 'without a schema' : 'with another schema';
  throw new TypeError(
    `Expected the schema that '${name}' is open with; it was opened ${how}. Open it once, or give the same one.`,
  );
}

/** Who asks for another one would be given a state that is not of it. */
export function assertSameVersion(name: string, opened: number, version: number | undefined): void {
  if (version === undefined || version === opened) return;
  throw new TypeError(
    `Expected \`version\` to be ${opened}, which '${name}' is open with, got ${version}. Open it once, or give the same one.`,
  );
}
