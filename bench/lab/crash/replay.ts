// Recorded calls, done again to a tree that knows what a power cut would leave.
//
// R1. A change is there from the line on which its call began: from then on a crash may keep it.
// R2. A sync counts from the line on which it ended, and covers what had ended before it began. What ran beside it may or
//     may not be covered, and is taken not to be: the state without it is one that the subject must expect.
// R3. An acknowledgement counts from the line on which it began to be printed: the subject had given its word by then.
// R4. A descriptor is free from the line on which its close began, and taken from that on which its open ended.
// R5. A call that meets the subject's folder and is not known here ends the replay.

import { DirectoryNode } from '../../../test/support/recording-nodes.js';
import { type Description, Descriptors } from './descriptors.js';
import { HARMLESS, HARMLESS_COMMANDS } from './system-calls.js';
import { bytesOf, hasFailed, isString, numberOf, type TracedCall, vectorOf } from './trace-text.js';
import { Tree } from './tree.js';

export interface Step {
  /** 'fsync /s/a.tmp' */
  what: string;
  acked: number;
  issued: number;
}

export interface Sync {
  call: string;
  /** In the model, as it was opened. */
  path: string;
  /** Among all of the recording. */
  ordinal: number;
}

export interface ReplayOptions {
  /** The folder that is the root of the model. */
  base: string;
  /** What it holds when the recording begins. @default nothing */
  root?: DirectoryNode;
  /** What was acknowledged and begun before. @default 0 */
  acked?: number;
  issued?: number;
  /** Names go through one log, of which a sync writes all that comes before. @default false */
  isLogged?: boolean;
  /** Such a sync does nothing. */
  ignoreSync?: (sync: Sync) => boolean;
}

/** The recording has something that the model has not: see R5. */
export class Unmodelled extends Error {
  override name = 'Unmodelled';
}

type Handler = (call: TracedCall, args: Args) => void;
type Args = [first: string, second: string, third: string, fourth: string, fifth: string];

export class Replay {
  readonly syncs: Sync[] = [];
  readonly #base: string;
  readonly #tree: Tree;
  readonly #ignoreSync: (sync: Sync) => boolean;
  #acked: number;
  #issued: number;
  #fds: Descriptors;

  constructor({ base, acked = 0, issued = 0, ignoreSync = () => false, ...options }: ReplayOptions) {
    this.#base = base;
    this.#tree = new Tree(options.root ?? new DirectoryNode(), options.isLogged ?? false);
    this.#acked = acked;
    this.#issued = issued;
    this.#ignoreSync = ignoreSync;
    this.#fds = new Descriptors(base);
  }

  get root(): DirectoryNode {
    return this.#tree.root;
  }

  /** One process, from its start to its end. A step for each call that changed or synced something. */
  *run(calls: readonly TracedCall[]): Generator<Step> {
    this.#fds = new Descriptors(this.#base);
    for (const { call, handlers } of this.#moments(calls)) {
      try {
        this.#handle(call, handlers);
      } catch (error) {
        throw new Unmodelled(`${show(call)}: ${(error as Error).message}`, { cause: error });
      }
      const what = this.#tree.takeChange();
      if (what !== null) yield { what, acked: this.#acked, issued: this.#issued };
    }
  }

  /** Beginnings and ends, line by line. A call on one line ends before the next begins. */
  #moments(calls: readonly TracedCall[]) {
    const all = calls.flatMap((call) => [
      { call, line: call.begin, handlers: this.#atBegin },
      { call, line: call.end, handlers: this.#atEnd },
    ]);
    return all.sort((a, b) => a.line - b.line);
  }

  #handle(call: TracedCall, handlers: Record<string, Handler>): void {
    const [first = '', second = '', third = '', fourth = '', fifth = ''] = call.args;
    const isKnown = Object.hasOwn(this.#atBegin, call.name) || Object.hasOwn(this.#atEnd, call.name);
    if (hasFailed(call) && !call.name.endsWith('sync')) return;
    if (isKnown) handlers[call.name]?.(call, [first, second, third, fourth, fifth]);
    else if (!HARMLESS.has(call.name)) this.#refuse(call);
  }

  readonly #atBegin: Record<string, Handler> = {
    write: (call, [fd, bytes]) => {
      if (fd === '1') this.#hear(bytes);
      this.#onFile(fd, (file) => this.#tree.append(call, file, bytesOf(bytes)));
    },
    writev: (call, [fd, parts]) => this.#onFile(fd, (file) => this.#tree.append(call, file, vectorOf(parts))),
    pwrite64: (call, [fd, bytes, , at]) =>
      this.#onFile(fd, (file) => this.#tree.write(call, file, bytesOf(bytes), numberOf(at))),
    pwritev: (call, [fd, parts, , at]) =>
      this.#onFile(fd, (file) => this.#tree.write(call, file, vectorOf(parts), numberOf(at))),
    ftruncate: (call, [fd, size]) =>
      this.#onFile(fd, ({ node, path }) => this.#tree.resize(call, node, path, numberOf(size))),
    truncate: (call, [name, size]) =>
      this.#onPath(this.#fds.path(name), (path) => {
        const node = this.#tree.find(path);
        if (node !== undefined) this.#tree.resize(call, node, path, numberOf(size));
      }),
    fallocate: (call, [fd, mode, offset, length]) =>
      this.#onFile(fd, (file) => {
        if (mode !== '0') this.#refuse(call);
        this.#tree.extend(call, file, numberOf(offset) + numberOf(length));
      }),
    copy_file_range: (call, [from, fromAt, to, toAt]) => this.#copy(call, { from, fromAt, to, toAt }),
    sendfile: (call, [to, from, fromAt]) => this.#copy(call, { from, fromAt, to, toAt: 'NULL' }),
    open: (call, [name, flags]) => this.#create(call, this.#fds.path(name), flags),
    openat: (call, [at, name, flags]) => this.#create(call, this.#fds.path(name, at), flags),
    mkdir: (call, [name]) => this.#onPath(this.#fds.path(name), (path) => this.#tree.makeDirectory(call, path)),
    mkdirat: (call, [at, name]) =>
      this.#onPath(this.#fds.path(name, at), (path) => this.#tree.makeDirectory(call, path)),
    rename: (call, [from, to]) => this.#rename(call, this.#fds.path(from), this.#fds.path(to)),
    renameat: (call, [fromAt, from, toAt, to]) =>
      this.#rename(call, this.#fds.path(from, fromAt), this.#fds.path(to, toAt)),
    renameat2: (call, [fromAt, from, toAt, to, flags]) => {
      if (flags !== '0' && flags !== 'RENAME_NOREPLACE') this.#refuse(call);
      this.#rename(call, this.#fds.path(from, fromAt), this.#fds.path(to, toAt));
    },
    link: (call, [from, to]) => this.#link(call, this.#fds.path(from), this.#fds.path(to)),
    linkat: (call, [fromAt, from, toAt, to]) =>
      this.#link(call, this.#fds.path(from, fromAt), this.#fds.path(to, toAt)),
    unlink: (call, [name]) => this.#onPath(this.#fds.path(name), (path) => this.#tree.remove(call, path)),
    rmdir: (call, [name]) => this.#onPath(this.#fds.path(name), (path) => this.#tree.remove(call, path)),
    unlinkat: (call, [at, name]) => this.#onPath(this.#fds.path(name, at), (path) => this.#tree.remove(call, path)),
    mmap: (_call, [, , protection, flags, fd]) =>
      this.#onFile(fd, ({ path }) => {
        const isShared = flags.includes('MAP_SHARED') && protection.includes('PROT_WRITE');
        if (isShared) throw new Error(`what is written to a mapping of ${path} cannot be seen`);
      }),
    close: (_call, [fd]) => this.#fds.delete(fd),
    // See TRANSIENT: a socket is not on the disk.
    bind: () => undefined,
    ioctl: (call, [, command]) => HARMLESS_COMMANDS.test(command) || this.#refuse(call),
    fcntl: (call, [, command]) => isDuplicate(command) || HARMLESS_COMMANDS.test(command) || this.#refuse(call),
    clone: (call) => refuseProcess(call),
    clone3: (call) => refuseProcess(call),
    fork: (call) => refuseProcess(call),
    vfork: (call) => refuseProcess(call),
    io_uring_setup: () => {
      throw new Error('what goes through a ring cannot be seen');
    },
    sync: () => {
      throw new Error('a sync of everything is not modelled');
    },
  };

  readonly #atEnd: Record<string, Handler> = {
    open: (call, [name, flags]) => this.#opened(call, this.#fds.path(name), flags),
    openat: (call, [at, name, flags]) => this.#opened(call, this.#fds.path(name, at), flags),
    dup: (call, [fd]) => this.#duplicated(call, fd),
    dup2: (call, [fd]) => this.#duplicated(call, fd),
    dup3: (call, [fd]) => this.#duplicated(call, fd),
    fcntl: (call, [fd, command]) => isDuplicate(command) && this.#duplicated(call, fd),
    lseek: (call, [fd]) => this.#onFile(fd, (file) => (file.position = numberOf(call.result))),
    read: (call, [fd]) => this.#onFile(fd, (file) => (file.position += numberOf(call.result))),
    readv: (call, [fd]) => this.#onFile(fd, (file) => (file.position += numberOf(call.result))),
    write: (call, [fd]) => this.#written(call, fd),
    writev: (call, [fd]) => this.#written(call, fd),
    pwrite64: (call, [fd]) => this.#written(call, fd),
    pwritev: (call, [fd]) => this.#written(call, fd),
    fsync: (call, [fd]) => this.#sync(call, fd),
    fdatasync: (call, [fd]) => this.#sync(call, fd),
  };

  // ── Shared by the calls above ──

  #onFile(fd: string, act: (file: Description) => void): void {
    const file = this.#fds.get(fd);
    if (file !== undefined) act(file);
  }

  #onPath(path: string | null, act: (path: string) => void): void {
    if (path !== null) act(path);
  }

  #create(call: TracedCall, path: string | null, flags: string): void {
    if (path === null) return;
    if (flags.includes('O_TMPFILE')) throw new Error(`a file without a name in ${path} is not modelled`);
    this.#tree.open(call, path, flags);
  }

  #opened({ result }: TracedCall, path: string | null, flags: string): void {
    // Nobody got to know the descriptor.
    if (result === '?') return;
    const fd = numberOf(result);
    this.#fds.delete(`${fd}`);
    if (path === null) return;
    const node = this.#tree.find(path);
    if (node === undefined) throw new Error(`${path} was gone again before its open returned`);
    const isSynchronous = /O_D?SYNC/.test(flags);
    this.#fds.set(fd, { node, path, position: 0, isAppending: flags.includes('O_APPEND'), isSynchronous });
  }

  #duplicated({ result }: TracedCall, fd: string): void {
    const file = this.#fds.get(fd);
    if (file === undefined) this.#fds.delete(`${numberOf(result)}`);
    else this.#fds.set(numberOf(result), file);
  }

  #rename(call: TracedCall, from: string | null, to: string | null): void {
    if (from !== null && to !== null) this.#tree.rename(call, from, to);
    else if (from !== to) throw new Error('a file that comes from elsewhere, or goes there, is not modelled');
  }

  #link(call: TracedCall, from: string | null, to: string | null): void {
    if (from !== null && to !== null) this.#tree.link(call, from, to);
    else if (from !== to) throw new Error('a file that is also elsewhere is not modelled');
  }

  #copy(call: TracedCall, { from, fromAt, to, toAt }: Record<'from' | 'fromAt' | 'to' | 'toAt', string>): void {
    const [source, target] = [this.#fds.get(from), this.#fds.get(to)];
    if (target === undefined) return;
    if (source?.node.kind !== 'file') throw new Error(`what is copied to ${target.path} from elsewhere cannot be seen`);
    const bytes = Buffer.alloc(numberOf(call.result));
    source.node.current.read(bytes, 0, bytes.length, offsetOf(fromAt) ?? source.position);
    this.#tree.write(call, target, bytes, offsetOf(toAt) ?? target.position);
    if (fromAt === 'NULL') source.position += bytes.length;
    if (toAt === 'NULL') target.position += bytes.length;
  }

  #written(call: TracedCall, fd: string): void {
    const file = this.#fds.get(fd);
    if (file?.isSynchronous && call.result !== '?') this.#tree.syncWrite(call, file);
  }

  #sync(call: TracedCall, fd: string): void {
    const file = this.#fds.get(fd);
    // Of one that never returned nothing is known.
    if (file === undefined || call.result === '?') return;
    if (hasFailed(call)) throw new Error('a sync that fails is not modelled');
    const sync = { call: call.name, path: file.path, ordinal: this.syncs.length };
    this.syncs.push(sync);
    if (this.#ignoreSync(sync)) this.#tree.skipSync(call, file);
    else this.#tree.sync(call, file);
  }

  #hear(arg: string): void {
    for (const line of bytesOf(arg).toString().split('\n')) {
      const [, word, n] = /^(issued|acked) (\d+)$/.exec(line) ?? [];
      if (word === 'issued') this.#issued = Number(n);
      if (word === 'acked') this.#acked = Number(n);
    }
  }

  #refuse({ name, args }: TracedCall): void {
    const [first = '', second = ''] = args;
    const path = this.#fds.get(first)?.path ?? this.#fds.path(first) ?? this.#fds.path(second, first);
    if (path !== null) throw new Error(`${name} of ${path} is not modelled`);
  }
}

function isDuplicate(command: string): boolean {
  return command.startsWith('F_DUPFD');
}

function refuseProcess({ args }: TracedCall): void {
  if (!args.join().includes('CLONE_THREAD')) throw new Error('what another process does is not followed');
}

/** Of `[512]` or `[512] => [1024]`; undefined for NULL. */
function offsetOf(arg: string): number | undefined {
  const [, number] = /^\[(\d+)\]/.exec(arg) ?? [];
  return number === undefined ? undefined : Number(number);
}

const SHOWN_BYTES = 120;

function show({ name, args, begin }: TracedCall): string {
  const text = (arg: string) =>
    bytesOf(arg.replace(/\.\.\.$/, ''))
      .subarray(0, SHOWN_BYTES)
      .toString();
  return `Line ${begin + 1}, ${name}(${args.map((arg) => (isString(arg) ? `'${text(arg)}'` : arg)).join(', ')})`;
}
