// Values as JSON files. A schema decides and never rewrites: what is read is what is in the file.

import type { z } from 'zod';
import { copyIn } from '../change/copy-in.js';
import { toProblem } from '../change/schema-problem.js';
import { inspectSchema } from '../change/usable.js';
import { HoldfastError, showPath } from '../errors.js';
import { parse } from '../projection/serialize.js';

export type Schema = z.ZodType;

const usable = new WeakSet<Schema>();

/** Throws for a schema that would change what it is given: then neither side would know what is in the file. */
export function assertUsable(schema: Schema, path: string): void {
  if (usable.has(schema)) return;
  inspectSchema(schema, path);
  usable.add(schema);
}

/** The text of a file for this value, taken at once; refused if JSON or the schema cannot hold it as it is. */
export function toJson(path: string, value: unknown, space: number | string, schema: Schema | undefined): string {
  const copy = copyFor(path, value);
  if (schema !== undefined) assertFits(path, copy, schema, 'Nothing was written.');
  return `${stringify(path, copy, space)}\n`;
}

function copyFor(path: string, value: unknown): unknown {
  try {
    return copyIn(value, { depth: 0, path: () => [], noteOdd: () => undefined });
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    const { code, message, path: at } = error;
    const details = at === undefined ? { cause: error } : { cause: error, path: at };
    throw new HoldfastError(code, `${path} was not written: ${message}`, details);
  }
}

function stringify(path: string, value: unknown, space: number | string): string {
  try {
    return JSON.stringify(value, null, space);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new HoldfastError('HF_VALUE', `${path} was not written: too large for one JSON file (about 512 MB).`, {
      cause: error,
    });
  }
}

export function fromJson(path: string, bytes: Uint8Array, schema: Schema | undefined): unknown {
  const parsed = parse(bytes);
  if (parsed.kind === 'unparseable') {
    const what = bytes.length === 0 ? 'is empty' : `is not JSON: ${parsed.reason}`;
    throw new HoldfastError('HF_DAMAGED', `${path} ${what}. It was left as it is: mend it, or restore a backup.`);
  }
  if (schema !== undefined) assertFits(path, parsed.value, schema, 'It was left as it is.');
  return parsed.value;
}

function assertFits(path: string, value: unknown, schema: Schema, state: string): void {
  const problem = toProblem(schema.safeParse(value), null);
  if (problem === null) return;
  const { message, issues: details } = problem;
  const at = problem.path;
  throw new HoldfastError('HF_SCHEMA', `The schema refuses ${path} at ${showPath(at)}: ${message}. ${state}`, {
    path: at,
    details,
  });
}
