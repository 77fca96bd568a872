// A task of the file threads, and what comes of it, as data: errors lose their codes on the way between threads.

import { basename, dirname } from 'node:path';
import { codeOf } from '../disk/faults.js';
import { readFrom } from '../disk/files.js';
import { type ErrorCode, HoldfastError } from '../errors.js';
import { fileAt } from '../projection/target.js';
import { fileDisk } from './disk.js';
import { fileFault } from './faults.js';
import { type Pointer, readPointer } from './intent.js';
import { liveness } from './liveness.js';
import { emptyReport, type RecoveryReport, settle, type Tools } from './recover.js';
import { replaceFile } from './replace.js';
import { type Dangling, resolveTarget } from './target.js';
import { sweepTemps } from './temps.js';
import { type NewFile, replaceFiles } from './transaction.js';

export type Data = { text: string; encoding: BufferEncoding } | Uint8Array;

export interface WriteTask {
  kind: 'write';
  path: string;
  data: Data;
  mode: number;
  backups: number;
  durable: boolean;
  dangling: Dangling;
  coalesce: boolean;
  isJson: boolean;
}

export type FileTask =
  | WriteTask
  | { kind: 'write-all'; files: { path: string; data: Data; mode: number }[]; dangling: Dangling }
  | { kind: 'read'; path: string }
  | { kind: 'recover'; directory: string; takeover: boolean };

export type FileResult =
  | { kind: 'done'; bytes: Uint8Array | null; report: RecoveryReport }
  | { kind: 'failed'; fault: Fault; report: RecoveryReport };

export async function runFileTask(task: FileTask, tools: Tools = { disk: fileDisk, liveness }): Promise<FileResult> {
  const report = emptyReport();
  try {
    return { kind: 'done', bytes: await run(task, tools, report), report };
  } catch (error) {
    return { kind: 'failed', fault: toFault(error), report };
  }
}

async function run(task: FileTask, tools: Tools, report: RecoveryReport): Promise<Uint8Array | null> {
  switch (task.kind) {
    case 'write':
      await write(task, tools, report);
      return null;
    case 'write-all':
      await writeAll(task.files, task.dangling, tools, report);
      return null;
    case 'read':
      return read(task.path, tools, report);
    case 'recover': {
      const directory = tools.disk.realPath(task.directory);
      await settle(tools, {
        directory,
        report,
        isCompatible: () => true,
        isUnrelated: () => false,
        takeover: task.takeover,
      });
      sweep(tools, directory);
      return null;
    }
    default:
      return task satisfies never;
  }
}

async function write(task: WriteTask, tools: Tools, report: RecoveryReport): Promise<void> {
  const target = locate(tools, task.path, task.dangling);
  const directory = dirname(target);
  const isUnrelated = isUnrelatedTo(target);
  await settle(tools, { directory, report, isCompatible: isUnrelated, isUnrelated, takeover: false });
  sweepOnce(tools, directory);
  replaceFile(tools.disk, { ...task, target, bytes: bytesOf(task.data) });
}

async function writeAll(
  files: { path: string; data: Data; mode: number }[],
  dangling: Dangling,
  tools: Tools,
  report: RecoveryReport,
): Promise<void> {
  const located: NewFile[] = files.map(({ path, data, mode }) => {
    return { target: locate(tools, path, dangling), bytes: bytesOf(data), mode };
  });
  const paths = new Map<string, string>();
  for (const [index, { target }] of located.entries()) {
    const path = files[index]?.path ?? '';
    const other = paths.get(target);
    if (other !== undefined) throw new TypeError(`Expected each file once, got ${target} as '${other}' and '${path}'`);
    paths.set(target, path);
  }
  await replaceFiles(tools, located, report);
  for (const directory of new Set(located.map(({ target }) => dirname(target)))) sweepOnce(tools, directory);
}

async function read(path: string, tools: Tools, report: RecoveryReport): Promise<Uint8Array> {
  const target = tools.disk.realPath(path);
  const isUnrelated = isUnrelatedTo(target);
  await settle(tools, { directory: dirname(target), report, isCompatible: () => true, isUnrelated, takeover: false });
  fileAt(tools.disk, target);
  return readFrom(tools.disk, target);
}

function isUnrelatedTo(target: string): (pointer: Pointer) => boolean {
  const name = basename(target);
  return ({ files }) => !files.some((file) => file.name === name);
}

function locate({ disk }: Tools, path: string, dangling: Dangling): string {
  try {
    return resolveTarget(disk, path, dangling);
  } catch (error) {
    throw fileFault(error, 'Writing', path);
  }
}

function bytesOf(data: Data): Buffer {
  if ('text' in data) return Buffer.from(data.text, data.encoding);
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}

/** What dead processes left is there from the start: one look per directory is enough. */
const swept = new Set<string>();
const SWEPT_MAX = 1_000;

function sweepOnce(tools: Tools, directory: string): void {
  if (swept.has(directory)) return;
  if (swept.size >= SWEPT_MAX) swept.clear();
  swept.add(directory);
  sweep(tools, directory);
}

function sweep({ disk }: Tools, directory: string): void {
  sweepTemps(disk, directory, () => readPointer(disk, directory)?.id ?? null);
}

export interface Fault {
  kind: 'holdfast' | 'misuse' | 'system' | 'other';
  message: string;
  code: string | undefined;
  /** What else Node says of a system error: errno, syscall, path, dest. */
  facts: Record<string, unknown>;
  details: unknown;
  stack: string | undefined;
  cause: Fault | undefined;
}

const FACTS = ['errno', 'syscall', 'path', 'dest'] as const;

function toFault(error: unknown): Fault {
  const given = error instanceof Error ? error : new Error(String(error));
  const code = codeOf(given);
  const facts = Object.fromEntries(FACTS.flatMap((key) => (key in given ? [[key, given[key as never]]] : [])));
  const kind = given instanceof HoldfastError ? 'holdfast' : given instanceof TypeError ? 'misuse' : 'system';
  const details = given instanceof HoldfastError ? given.details : undefined;
  const cause = given.cause === undefined ? undefined : toFault(given.cause);
  const { message, stack } = given;
  return {
    kind: kind === 'system' && code === undefined ? 'other' : kind,
    message,
    code,
    facts,
    details,
    stack,
    cause,
  };
}

/** The error as it was thrown in the thread. */
export function toError({ kind, message, code, facts, details, stack, cause }: Fault): Error {
  const reason = cause === undefined ? undefined : toError(cause);
  if (kind === 'holdfast') return new HoldfastError(code as ErrorCode, message, { cause: reason, details });
  const error = kind === 'misuse' ? new TypeError(message) : new Error(message);
  if (stack !== undefined) error.stack = stack;
  if (code !== undefined) Object.assign(error, facts, { code });
  return error;
}
