// What callers may say, checked before anything is done. Misuse is a TypeError.

import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BACKUPS_MAX } from '../projection/names.js';
import type { Dangling } from './target.js';
import type { Data } from './task.js';

export interface WriteOptions {
  /** Of a new file, masked by the umask. A file that is there keeps its own, and its owner. @default 0o666 */
  mode?: number | undefined;
  /** Earlier versions to keep beside the file, as `.bak1` (the newest) and so on. 0 to 9. @default 0 */
  backups?: number | undefined;
  /** Of text. @default 'utf8' */
  encoding?: BufferEncoding | undefined;
  /** False: complete after a kill; after a power cut perhaps the version before, or an empty file. @default true */
  durable?: boolean | undefined;
  /** While several such writes wait for one file, only the newest is done, and all of them resolve with it. @default false */
  coalesce?: boolean | undefined;
  /** What to do at a symbolic link that points to nothing. @default 'refuse' */
  dangling?: Dangling | undefined;
}

const DEFAULTS = {
  mode: 0o666,
  backups: 0,
  encoding: 'utf8',
  durable: true,
  coalesce: false,
  dangling: 'refuse',
} as const satisfies WriteOptions;

export type Settings = { [Key in keyof typeof DEFAULTS]: NonNullable<WriteOptions[Key]> };

type Check = readonly [isValid: (value: unknown) => boolean, wanted: string];

const isBoolean: Check = [(value) => typeof value === 'boolean', 'true or false'];

const CHECKS: Record<keyof WriteOptions, Check> = {
  mode: [(value) => isWithin(value, 0o7777), 'permission bits'],
  backups: [(value) => isWithin(value, BACKUPS_MAX), `a whole number from 0 to ${BACKUPS_MAX}`],
  encoding: [(value) => typeof value === 'string' && Buffer.isEncoding(value), 'an encoding that Buffer knows'],
  durable: isBoolean,
  coalesce: isBoolean,
  dangling: [(value) => value === 'refuse' || value === 'create', "'refuse' or 'create'"],
};

const NAMES = Object.keys(CHECKS) as (keyof WriteOptions)[];

function isWithin(value: unknown, max: number): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= max;
}

/** `others`: names that the caller looks at itself. `taken`: those that mean something to it; the rest is refused, not ignored. */
export function settingsOf(
  options: WriteOptions,
  others: readonly string[] = [],
  taken: readonly (keyof WriteOptions)[] = NAMES,
): Settings {
  assertObject(options);
  const settings: Record<string, unknown> = { ...DEFAULTS };
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || others.includes(name)) continue;
    const check = Object.hasOwn(CHECKS, name) ? CHECKS[name as keyof WriteOptions] : undefined;
    if (check === undefined) throw new TypeError(`Expected an option that exists, got \`${name}\``);
    if (!taken.includes(name as keyof WriteOptions))
      throw new TypeError(
        `Expected an option that is taken here (${[...taken, ...others].join(', ')}), got \`${name}\``,
      );
    const [isValid, wanted] = check;
    if (!isValid(value)) throw new TypeError(`Expected \`${name}\` to be ${wanted}, got ${show(value)}`);
    settings[name] = value;
  }
  return settings as Settings;
}

/** Of calls that read: an option that is not known would mean nothing, and the caller would not hear of it. */
export function assertKnown(options: unknown, known: readonly string[]): void {
  assertObject(options);
  const other = Object.keys(options).find((name) => !known.includes(name));
  if (other !== undefined)
    throw new TypeError(`Expected an option that is known here (${known.join(', ')}), got \`${other}\``);
}

function assertObject(options: unknown): asserts options is object {
  if (typeof options === 'object' && options !== null) return;
  throw new TypeError(`Expected options to be an object, got ${show(options)}`);
}

/** Absolute from here on: the program may change its directory before the call has its turn. */
export function pathOf(path: string | URL): string {
  const text = path instanceof URL ? fileURLToPath(path) : path;
  if (typeof text !== 'string' || text === '' || text.includes('\0')) {
    throw new TypeError(`Expected \`path\` to be the path of a file, got ${show(path)}`);
  }
  return resolve(text);
}

/** A copy: the caller may use its buffer for something else as soon as the call has returned. */
export function copyOf(data: string | NodeJS.ArrayBufferView, encoding: BufferEncoding): Data {
  if (typeof data === 'string') return { text: data, encoding };
  if (!ArrayBuffer.isView(data)) throw new TypeError(`Expected \`data\` to be text or bytes, got ${show(data)}`);
  return new Uint8Array(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
}

export function show(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
