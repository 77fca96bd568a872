// Options of looking into a store. A misspelt one would be passed over, and everything read in place of a part: misuse is a
// TypeError before anything is read.

import { z } from 'zod';
import { assertOptions, isFunction } from '../misuse.js';

const doc = z.string().optional();
const signal = z.custom((value) => value instanceof AbortSignal, 'an AbortSignal').optional();
/** Looked at where they are used. */
const later = z.unknown().optional();

const History = z.strictObject({ doc, signal, since: later, limit: later });
const Follow = z.strictObject({ doc, signal, since: later, intervalMs: later });
const Verify = z.strictObject({ onProgress: isFunction.optional(), signal });

const SCHEMAS = { history: History, follow: Follow, verify: Verify } as const;

export function assertLookOptions(options: unknown, what: keyof typeof SCHEMAS): void {
  assertOptions(SCHEMAS[what], options, what);
}
