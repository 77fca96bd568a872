// Every option, its meaning and its default, in one table. Misuse is a TypeError before anything is touched.

import { constants } from 'node:os';
import { z } from 'zod';
import { assertOptions, isFunction, withoutUndefined } from './misuse.js';

export interface ExitOptions {
  /** Save on these signals, then let them take their default action. @default ['SIGINT', 'SIGTERM', 'SIGHUP'] */
  signals?: readonly NodeJS.Signals[];
  /** The longest that saving may hold up the end of the program. @default 5000 */
  timeoutMs?: number;
}

export interface StoreOptions {
  /** An update that nobody flushes survives a power cut after at most this long. Minimum 0. @default 100 */
  syncDelayMs?: number;
  /** Hold hot fields back on purpose: updates within this time become one commit. A kill then loses as much. Minimum 0. @default 0 */
  coalesceMs?: number;
  /** The JSON file of a document follows its changes after this long. Minimum 0. @default 250 */
  projectDelayMs?: number;
  /** JSON files of large documents lag rather than cost more than this. Minimum 1. @default 1 MiB */
  projectBytesPerSecMax?: number;
  /** Earlier versions of each JSON file that are kept beside it, 0 to 9. @default 3 */
  backups?: number;
  /** Above this many bytes not yet on disk, `update` throws HF_BACKPRESSURE. Minimum 64 KiB. @default 64 MiB */
  pendingBytesMax?: number;
  exit?: ExitOptions;
  /** A JSON file that somebody else changed: refuse the document, or settle it at once. @default 'refuse' */
  onDrift?: 'refuse' | 'adopt' | 'restore';
  /** Damage: refuse the store; take the newest backup of a file that cannot be imported; or keep what can be saved. @default 'refuse' */
  onDamage?: 'refuse' | 'backup' | 'salvage';
  /** Take the store over from an owner that cannot be proved dead. @default false */
  takeover?: boolean;
  /** Where the built worker files are, when a bundler moved this module away from them. */
  workersUrl?: string | URL;
  /** `state` throws when written to. Costs a proxy per object read: for development and tests. @default false */
  guard?: boolean;
  /** Compare memory and the JSON files at every projection. For tests: costs a serialization each. @default false */
  audit?: boolean;
}

const MIB = 1024 * 1024;

export const DEFAULTS = {
  syncDelayMs: 100,
  coalesceMs: 0,
  projectDelayMs: 250,
  projectBytesPerSecMax: MIB,
  backups: 3,
  pendingBytesMax: 64 * MIB,
  exit: { signals: ['SIGINT', 'SIGTERM', 'SIGHUP'], timeoutMs: 5000 },
  onDrift: 'refuse',
  onDamage: 'refuse',
  takeover: false,
  workersUrl: new URL('../workers/', import.meta.url),
  guard: false,
  audit: false,
} as const satisfies StoreOptions;

export type Settings = Required<Omit<StoreOptions, 'exit' | 'workersUrl'>> & {
  exit: Required<ExitOptions>;
  workersUrl: URL;
};

const ms = z.number().min(0).max(86_400_000);

const backups = z.int().min(0).max(9).optional();
const onDrift = z.enum(['refuse', 'adopt', 'restore']).optional();

/** No program hears of the other two. */
const isSignal = z.custom(
  (value) => typeof value === 'string' && value in constants.signals && value !== 'SIGKILL' && value !== 'SIGSTOP',
  'a signal that a program can handle',
);
const isFolderUrl = z.custom(
  (value) =>
    (typeof value === 'string' || value instanceof URL) &&
    URL.canParse(String(value)) &&
    new URL(value).protocol === 'file:',
  'the URL of a folder (file:///…/)',
);
/** Not by its class: other realms have their own. */
const isAbortSignal = z.custom(
  (value) => typeof value === 'object' && value !== null && 'aborted' in value && 'addEventListener' in value,
  'an AbortSignal',
);

const Options = z.strictObject({
  syncDelayMs: ms.optional(),
  coalesceMs: ms.optional(),
  projectDelayMs: ms.optional(),
  projectBytesPerSecMax: z.number().min(1).optional(),
  backups,
  pendingBytesMax: z
    .number()
    .min(64 * 1024)
    .optional(),
  exit: z.strictObject({ signals: z.array(isSignal).optional(), timeoutMs: ms.optional() }).optional(),
  onDrift,
  onDamage: z.enum(['refuse', 'backup', 'salvage']).optional(),
  takeover: z.boolean().optional(),
  workersUrl: isFolderUrl.optional(),
  guard: z.boolean().optional(),
  audit: z.boolean().optional(),
});

/** The schema and the state are looked at where they are used. */
const Doc = z.strictObject({
  schema: z.unknown().optional(),
  initial: z.unknown().optional(),
  version: z.int().min(1).optional(),
  migrate: isFunction.optional(),
  backups,
  onDrift,
});

const Log = Doc.pick({ schema: true });

export function assertDocOptions(options: unknown, what: 'doc' | 'collection'): void {
  assertOptions(Doc, options, what);
}

export function assertLogOptions(options: unknown, what = 'log'): void {
  assertOptions(Log, options, what);
}

const Flush = z.strictObject({ projected: z.boolean().optional(), signal: isAbortSignal.optional() });
const Read = z.strictObject({ since: z.unknown().optional(), signal: isAbortSignal.optional() });

export function assertFlushOptions(options: unknown): void {
  assertOptions(Flush, options, 'flush');
}

/** `since` is looked at where it is used. */
export function assertReadOptions(options: unknown): void {
  assertOptions(Read, options, 'read');
}

export function settle(options: StoreOptions = {}): Settings {
  assertOptions(Options, options, 'open');
  const { exit, workersUrl, ...rest } = options;
  const { exit: defaultExit, workersUrl: defaultUrl, ...defaults } = DEFAULTS;
  return {
    ...defaults,
    ...withoutUndefined(rest),
    exit: { ...defaultExit, ...withoutUndefined(exit ?? {}) },
    workersUrl: workersUrl === undefined ? defaultUrl : asFolder(new URL(workersUrl)),
  };
}

function asFolder(url: URL): URL {
  return url.href.endsWith('/') ? url : new URL(`${url.href}/`);
}
