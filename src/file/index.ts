// Whole files: replaced or not, never half, and several of them all or none. See docs/file.md.
//
// Not promised: that other programs see several files change at the same moment; they are renamed one after the other.

import { dirname, join } from 'node:path';
import type { z } from 'zod';
import { assertUsable, fromJson, type Schema, toJson } from './json.js';
import { enqueue } from './line.js';
import { assertKnown, copyOf, pathOf, settingsOf, show, type WriteOptions } from './options.js';
import { setWorkersUrl } from './pool.js';
import type { RecoveryReport } from './recover.js';
import type { FileTask, WriteTask } from './task.js';

export { ERROR_CODES, type ErrorCode, HoldfastError } from '../errors.js';
export type { Conflict } from './complete.js';
export type { RecoveryReport, WriteOptions };

export type FilePath = string | URL;
export type FileData = string | NodeJS.ArrayBufferView;

/** Resolves when the file holds `data` and would after a power cut, too. `data` is copied before the call returns. */
export async function writeFile(
  path: FilePath,
  data: FileData,
  options: WriteOptions | BufferEncoding = {},
): Promise<void> {
  const settings = settingsOf(typeof options === 'string' ? { encoding: options } : options);
  await write({ kind: 'write', path: pathOf(path), data: copyOf(data, settings.encoding), ...settings, isJson: false });
}

function write(task: WriteTask): Promise<unknown> {
  return enqueue(task, [task.path], undefined, (newer) => merge(task, newer));
}

function merge(older: WriteTask, newer: FileTask): FileTask | null {
  if (newer.kind !== 'write' || !newer.coalesce || !older.coalesce) return null;
  return { ...newer, durable: newer.durable || older.durable };
}

export interface ReadOptions {
  /** With it the content comes as text. */
  encoding?: BufferEncoding | undefined;
}

/** The content of a file. Errors of the file system (ENOENT, EACCES …) come as they are. */
export async function readFile(path: FilePath, options?: { encoding?: undefined }): Promise<Buffer>;
export async function readFile(path: FilePath, options: { encoding: BufferEncoding } | BufferEncoding): Promise<string>;
export async function readFile(path: FilePath, options: ReadOptions | BufferEncoding = {}): Promise<string | Buffer> {
  const given: ReadOptions = typeof options === 'string' ? { encoding: options } : options;
  assertKnown(given, ['encoding']);
  const { encoding } = given;
  if (encoding !== undefined && !Buffer.isEncoding(encoding)) {
    throw new TypeError(`Expected \`encoding\` to be an encoding that Buffer knows, got ${show(encoding)}`);
  }
  const bytes = await readBytes(pathOf(path));
  return encoding === undefined ? bytes : bytes.toString(encoding);
}

async function readBytes(path: string): Promise<Buffer> {
  const { bytes } = await enqueue({ kind: 'read', path }, [path]);
  if (bytes === null) throw new Error(`Nothing was read of ${path}`);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export interface WriteJsonOptions extends Omit<WriteOptions, 'encoding'> {
  /** Decides whether the value may be written; it is not changed by it. */
  schema?: Schema | undefined;
  /** As of `JSON.stringify`. @default 2 */
  space?: number | string | undefined;
}

/** The value as it is now. One that JSON or the schema cannot hold as it is leaves the file as it was. */
export async function writeJson(path: FilePath, value: unknown, options: WriteJsonOptions = {}): Promise<void> {
  const settings = settingsOf(options, ['schema', 'space'], ['mode', 'backups', 'durable', 'coalesce', 'dangling']);
  const { schema, space = 2 } = options;
  const full = pathOf(path);
  if (schema !== undefined) assertUsable(schema, full);
  const data = { text: toJson(full, value, space, schema), encoding: 'utf8' } as const;
  await write({ kind: 'write', path: full, data, ...settings, isJson: true });
}

/** What the file holds. The schema decides whether it is right; it does not change it. */
export async function readJson<S extends Schema>(path: FilePath, options: { schema: S }): Promise<z.input<S>>;
export async function readJson(path: FilePath, options?: { schema?: undefined }): Promise<unknown>;
export async function readJson(path: FilePath, options: { schema?: Schema | undefined } = {}): Promise<unknown> {
  assertKnown(options, ['schema']);
  const { schema } = options;
  const full = pathOf(path);
  if (schema !== undefined) assertUsable(schema, full);
  return fromJson(full, await readBytes(full), schema);
}

export interface FileToWrite {
  path: FilePath;
  data: FileData;
  /** Of a new file, masked by the umask. @default 0o666 */
  mode?: number | undefined;
}

/** Replaces all of the files or, whatever happens, none. */
export async function writeFiles(
  files: Iterable<FileToWrite>,
  options: Pick<WriteOptions, 'encoding' | 'dangling'> = {},
): Promise<void> {
  const { encoding, dangling } = settingsOf(options, [], ['encoding', 'dangling']);
  const copies = Array.from(files, ({ path, data, ...own }) => {
    return { path: pathOf(path), data: copyOf(data, encoding), mode: settingsOf(own, [], ['mode']).mode };
  });
  if (copies.length === 0) return;
  const paths = copies.map(({ path }) => path);
  await enqueue({ kind: 'write-all', files: copies, dangling }, paths, (real) => {
    assertDistinct(real);
    return [...real, ...real.map((path) => directoryKey(dirname(path)))];
  });
}

function assertDistinct(paths: readonly string[]): void {
  const twice = paths.find((path, index) => paths.indexOf(path) !== index);
  if (twice !== undefined) throw new TypeError(`Expected each file once, got ${twice} more than once`);
}

/** No file has a path that ends like this. */
function directoryKey(directory: string): string {
  return join(directory, '/');
}

export interface RecoverOptions {
  /** Also what a process left that cannot be proven dead. Only if you are certain that it is. @default false */
  takeover?: boolean | undefined;
}

/** Ends what a crash interrupted in this directory. Every call for a file in it does so, too. */
export async function recover(directory: FilePath, options: RecoverOptions = {}): Promise<RecoveryReport> {
  assertKnown(options, ['takeover']);
  const { takeover = false } = options;
  if (typeof takeover !== 'boolean')
    throw new TypeError(`Expected \`takeover\` to be true or false, got ${show(takeover)}`);
  const full = pathOf(directory);
  const { report } = await enqueue({ kind: 'recover', directory: full, takeover }, [full], (real) => {
    return real.map(directoryKey);
  });
  return report;
}

/** For bundlers that moved this module away from its worker files: the directory they are in. */
export function configure({ workersUrl }: { workersUrl: string | URL }): void {
  setWorkersUrl(new URL(workersUrl));
}
