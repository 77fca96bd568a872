import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Access, Disk, Handle } from '../../src/disk/disk.js';
import { nodeDisk } from '../../src/disk/node-disk.js';
import { type Call, faultOf, RecordingDisk, Stopped, type Verdict } from './recording-disk.js';

const text = (content: string) => Buffer.from(content);
const textAt = (disk: RecordingDisk, path: string) => Buffer.from(disk.files().get(path) ?? 'MISSING').toString();

function put(disk: Disk, path: string, content: string): Handle {
  const handle = disk.open(path, 'create');
  disk.write(handle, text(content), 0, content.length, 0);
  return handle;
}

/** What a call gives, in a form that two disks can be compared by. */
function outcome(run: () => unknown, root: string): unknown {
  try {
    return run();
  } catch (error) {
    const { code, syscall, path, dest } = error as Record<string, string | undefined>;
    const inside = (full?: string) => full && (full.slice(root.length) || '/');
    return { code, syscall, path: inside(path), dest: inside(dest) };
  }
}

type Run = (disk: Disk, handles: Handle[], root: string) => unknown;

/** One call, made on both disks. Shows by its name when a sequence fails. */
interface Op {
  name: string;
  run: Run;
}

function named(name: string, run: Run): Op {
  return Object.assign({ name, run }, { [fc.toStringMethod]: () => name });
}

const under = (root: string, at: string) => (at === '/' ? root || '/' : root + at);

const NO_HANDLE = 1_000_000;
const PATHS = ['/a', '/b', '/d', '/e', '/d/a', '/d/b', '/d/e', '/d/e/a', '/d/e/f', '/a/x', '/none/x'];
const path = fc.constantFrom(...PATHS);
const pathOrRoot = fc.constantFrom(...PATHS, '/');
const slot = fc.nat(5);
const position = fc.oneof(fc.nat(20), fc.nat(9000));

const ops: fc.Arbitrary<Op> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.tuple(pathOrRoot, fc.constantFrom<Access>('create', 'create', 'read', 'write')).map(open),
  },
  { weight: 6, arbitrary: fc.tuple(slot, position, fc.integer({ min: 1, max: 6000 }), fc.nat(255)).map(write) },
  { weight: 4, arbitrary: fc.tuple(slot, position, fc.integer({ min: 1, max: 6000 })).map(read) },
  { weight: 2, arbitrary: fc.tuple(slot, position).map(truncate) },
  { weight: 5, arbitrary: fc.tuple(path, path).map(rename) },
  {
    weight: 3,
    arbitrary: fc.tuple(fc.constantFrom('unlink', 'makeDirectory', 'list', 'entry'), pathOrRoot).map(byPath),
  },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom('size', 'sync', 'syncData'), slot).map(byHandle) },
  { weight: 1, arbitrary: pathOrRoot.map((at) => byPath(['syncDirectory', at])) },
);

function open([at, access]: [string, Access]): Op {
  const run: Run = (disk, handles, root) => {
    handles.push(disk.open(under(root, at), access));
    return 'opened';
  };
  return named(`open ${at} ${access}`, run);
}

function write([index, at, length, fill]: [number, number, number, number]): Op {
  const bytes = Buffer.alloc(length + 3, fill);
  return named(`write ${index} ${at}+${length}`, (disk, handles) =>
    disk.write(pick(handles, index), bytes, 3, length, at),
  );
}

function read([index, at, length]: [number, number, number]): Op {
  const run: Run = (disk, handles) => {
    const into = Buffer.alloc(length + 2);
    const count = disk.read(pick(handles, index), into, 2, length, at);
    return { count, bytes: into.toString('latin1') };
  };
  return named(`read ${index} ${at}+${length}`, run);
}

function truncate([index, size]: [number, number]): Op {
  return named(`truncate ${index} ${size}`, (disk, handles) => disk.truncate(pick(handles, index), size));
}

function rename([from, to]: [string, string]): Op {
  return named(`rename ${from} ${to}`, (disk, _handles, root) => disk.rename(root + from, root + to));
}

function byPath([name, at]: [string, string]): Op {
  const run: Run = (disk, _handles, root) => {
    const full = under(root, at);
    if (name === 'list') return disk.list(full).sort();
    if (name === 'unlink') return disk.unlink(full);
    if (name === 'makeDirectory') return disk.makeDirectory(full);
    if (name === 'syncDirectory') return disk.syncDirectory(full);
    const entry = disk.entry(full);
    return entry?.kind === 'directory' ? 'directory' : entry && { kind: entry.kind, size: entry.size };
  };
  return named(`${name} ${at}`, run);
}

function byHandle([name, index]: [string, number]): Op {
  const run: Run = (disk, handles) => {
    const handle = pick(handles, index);
    if (name === 'sync') return disk.sync(handle);
    if (name === 'syncData') return disk.syncData(handle);
    // The size of a directory is the file system's own business.
    return outcome(() => disk.read(handle, Buffer.alloc(1), 0, 1, 0), '') instanceof Object
      ? 'no file'
      : disk.size(handle);
  };
  return named(`${name} ${index}`, run);
}

function pick(handles: Handle[], index: number): Handle {
  return handles[index] ?? NO_HANDLE;
}

function realFiles(root: string): Map<string, string> {
  const files = new Map<string, string>();
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    const full = join(entry.parentPath, entry.name);
    files.set(full.slice(root.length), entry.isFile() ? readFileSync(full, 'latin1') : 'directory');
  }
  return files;
}

function recordedFiles(disk: RecordingDisk, folder = '', files = new Map<string, string>()): Map<string, string> {
  for (const name of disk.list(folder || '/')) {
    const at = `${folder}/${name}`;
    const content = disk.files().get(at);
    files.set(at, content === undefined ? 'directory' : Buffer.from(content).toString('latin1'));
    if (content === undefined) recordedFiles(disk, at, files);
  }
  return files;
}

function runBoth(sequence: Op[]): void {
  const root = mkdtempSync(join(tmpdir(), 'recording-'));
  const recording = new RecordingDisk();
  const real: Handle[] = [];
  const recorded: Handle[] = [];
  try {
    for (const { name, run } of sequence) {
      const expected = outcome(() => run(nodeDisk, real, root), root);
      const got = outcome(() => run(recording, recorded, ''), '');
      expect({ name, result: got }).toEqual({ name, result: expected });
    }
    expect(recordedFiles(recording)).toEqual(realFiles(root));
  } finally {
    for (const handle of real) nodeDisk.close(handle);
    rmSync(root, { recursive: true });
  }
}

describe('to the process that runs, a recording disk is a file system', () => {
  it('answers any sequence of calls as the real one does, errors included', () => {
    const start: Op[] = [byPath(['makeDirectory', '/d']), open(['/a', 'create']), open(['/d/a', 'create'])];
    const sequences = fc.array(ops, { minLength: 5, maxLength: 40 }).map((sequence) => [...start, ...sequence]);
    fc.assert(fc.property(sequences, runBoth), { seed: 20, numRuns: 400 });
  });

  it('refuses a rename of a directory into itself, onto its parent and over a full one as Linux does', () => {
    runBoth([
      byPath(['makeDirectory', '/d']),
      byPath(['makeDirectory', '/d/e']),
      byPath(['makeDirectory', '/e']),
      open(['/d/a', 'create']),
      open(['/b', 'create']),
      ...(['/d/e', '/d/e/f', '/d/b/x', '/a/x/y'] as const).map((to) => rename(['/d', to])),
      ...(['/d/e', '/d/a', '/d/none', '/e', '/b', '/none'] as const).map((from) => rename([from, '/d'])),
      ...(['/b', '/e', '/d', '/d/e'] as const).map((to) => rename(['/d', to])),
      rename(['/e', '/b']),
      rename(['/b', '/e']),
    ]);
  });

  it('keeps a handle on its file through rename and unlink', () => {
    const disk = new RecordingDisk();
    const handle = put(disk, '/a', 'one');
    disk.rename('/a', '/b');
    disk.write(handle, text('two'), 0, 3, 0);
    expect(textAt(disk, '/b')).toBe('two');
    disk.unlink('/b');
    disk.write(handle, text('!'), 0, 1, 3);
    expect(disk.size(handle)).toBe(4);
    expect(disk.files().size).toBe(0);
  });

  it('has no use for a handle once closed, and never gives it out again', () => {
    const disk = new RecordingDisk();
    const first = put(disk, '/a', 'x');
    disk.close(first);
    const second = disk.open('/a', 'write');
    expect(second).not.toBe(first);
    expect(() => disk.size(first)).toThrow(expect.objectContaining({ code: 'EBADF', syscall: 'fstat' }));
    expect(() => disk.close(first)).toThrow(expect.objectContaining({ code: 'EBADF', syscall: 'close' }));
  });

  it('keeps what was written, not the buffer it was written from', () => {
    const disk = new RecordingDisk();
    const bytes = text('first');
    const handle = disk.open('/a', 'create');
    disk.write(handle, bytes, 0, 5, 0);
    bytes.fill(0);
    expect(textAt(disk, '/a')).toBe('first');
  });

  it('refuses paths that need tidying', () => {
    const disk = new RecordingDisk();
    for (const bad of ['a', '/a/', '/a//b', '/a/../b', '/./a', '']) expect(() => disk.entry(bad)).toThrow(TypeError);
  });
});

describe('what tells files apart', () => {
  it('an inode stays with its file through rename and link, and in copies of the disk', () => {
    const disk = new RecordingDisk();
    put(disk, '/a', 'abc');
    const ino = disk.entry('/a')?.ino;
    disk.rename('/a', '/b');
    disk.link('/b', '/c');
    put(disk, '/a', 'abc');
    expect(disk.entry('/a')?.ino).not.toBe(ino);
    for (const copy of [disk, disk.clone(), disk.afterKill()]) {
      expect([copy.entry('/b')?.ino, copy.entry('/c')?.ino]).toEqual([ino, ino]);
    }
    expect(disk.clone().entry('/')?.ino).toBe(disk.entry('/')?.ino);
  });

  it('a write changes the time, a rename does not; modes are kept', () => {
    const disk = new RecordingDisk();
    const handle = put(disk, '/a', 'abc');
    const before = disk.entry('/a')?.mtimeMs;
    disk.setMode(handle, 0o640);
    disk.rename('/a', '/b');
    expect(disk.entry('/b')).toMatchObject({ mtimeMs: before, mode: 0o640 });
    disk.write(handle, text('x'), 0, 1, 0);
    expect(disk.clone().entry('/b')?.mtimeMs).not.toBe(before);
    expect(disk.clone().entry('/b')?.mode).toBe(0o640);
    expect(disk.realPath('/b')).toBe('/b');
    expect(() => disk.realPath('/none')).toThrow(/ENOENT/);
  });
});

describe('steps', () => {
  it('counts and records every call that changes or syncs something, and no other', () => {
    const disk = new RecordingDisk();
    disk.makeDirectory('/d');
    const handle = put(disk, '/d/a', 'abc');
    disk.read(handle, Buffer.alloc(3), 0, 3, 0);
    disk.list('/d');
    disk.entry('/d/a');
    disk.size(handle);
    disk.truncate(handle, 2);
    disk.sync(handle);
    disk.syncData(handle);
    disk.close(disk.open('/d/a', 'read'));
    disk.rename('/d/a', '/b');
    disk.syncDirectory('/d');
    disk.unlink('/b');
    expect(disk.calls.map(({ step, name, path: at }) => `${step} ${name} ${at}`)).toEqual([
      '1 makeDirectory /d',
      '2 open /d/a',
      '3 write /d/a',
      '4 truncate /d/a',
      '5 sync /d/a',
      '6 syncData /d/a',
      '7 rename /d/a',
      '8 syncDirectory /d',
      '9 unlink /b',
    ]);
    expect(disk.steps).toBe(9);
    expect(disk.calls[2]).toMatchObject({ position: 0, length: 3 });
    expect(disk.calls[6]).toMatchObject({ to: '/b' });
  });

  it('stops after a step: nothing more is done, and nothing can be read', () => {
    const disk = new RecordingDisk();
    disk.stopAfter(2);
    const handle = put(disk, '/a', 'abc');
    expect(disk.isStopped).toBe(true);
    const calls: (() => unknown)[] = [
      () => disk.write(handle, text('x'), 0, 1, 0),
      () => disk.read(handle, Buffer.alloc(1), 0, 1, 0),
      () => disk.open('/a', 'read'),
      () => disk.open('/b', 'create'),
      () => disk.close(handle),
      () => disk.size(handle),
      () => disk.truncate(handle, 0),
      () => disk.sync(handle),
      () => disk.syncData(handle),
      () => disk.syncDirectory('/'),
      () => disk.rename('/a', '/b'),
      () => disk.unlink('/a'),
      () => disk.makeDirectory('/d'),
      () => disk.list('/'),
      () => disk.entry('/a'),
    ];
    for (const call of calls) expect(call).toThrow(Stopped);
    expect(disk.steps).toBe(2);
    expect(textAt(disk, '/a')).toBe('abc');
  });

  it('stops in the middle of a write, with its first bytes done', () => {
    const disk = new RecordingDisk();
    disk.stopAfter(1, { bytesOfNext: 2 });
    const handle = disk.open('/a', 'create');
    expect(disk.size(handle)).toBe(0);
    expect(() => disk.write(handle, text('abcdef'), 1, 5, 4)).toThrow(Stopped);
    expect(textAt(disk, '/a')).toBe('\0\0\0\0bc');
    expect(() => disk.size(handle)).toThrow(Stopped);
    expect(disk.steps).toBe(2);
  });

  it('stops before a call that cannot be half done', () => {
    const disk = RecordingDisk.fromFiles(new Map([['/a', text('a')]]));
    disk.stopAfter(0, { bytesOfNext: 100 });
    expect(() => disk.rename('/a', '/b')).toThrow(Stopped);
    expect([...disk.files().keys()]).toEqual(['/a']);
    expect(disk.isStopped).toBe(true);
  });

  it('tells the sites of a sync apart by the functions of src/ that led to it', () => {
    const disk = new RecordingDisk({ siteDepth: 3 });
    const handle = put(disk, '/a', 'x');
    const source = `
      function publish(disk, handle) { disk.sync(handle); [1].forEach(() => disk.syncDirectory('/')); }
      class Tail { begin(disk, handle) { return publish(disk, handle); } }
      function createTail(disk, handle) { return new Tail().begin(disk, handle); }
      function replaceTail(disk, handle) { return createTail(disk, handle); }
      ({ publish, replaceTail })`;
    const filename = fileURLToPath(new URL('../../src/pretend/tail.js', import.meta.url));
    const sources = new Script(source, { filename }).runInThisContext();
    const limit = Error.stackTraceLimit;
    sources.replaceTail(disk, handle);
    sources.publish(disk, handle);
    expect(disk.calls.slice(2).map(({ site }) => site)).toEqual([
      'publish<begin<createTail',
      'publish<begin<createTail',
      'publish',
      'publish',
    ]);
    expect(Error.stackTraceLimit).toBe(limit);
    expect(disk.calls[1]?.site).toBe('');
  });
});

describe('faults', () => {
  const failing =
    (name: Call['name'], nth: number, verdict: (call: Call) => Verdict, counter = { count: 0 }) =>
    (call: Call): Verdict =>
      call.name === name && ++counter.count === nth ? verdict(call) : undefined;

  it('fails the n-th call of a kind, which then does nothing', () => {
    const disk = new RecordingDisk({ inject: failing('write', 2, (call) => faultOf('ENOSPC', call)) });
    const handle = put(disk, '/a', 'one');
    expect(() => disk.write(handle, text('two'), 0, 3, 0)).toThrow(
      expect.objectContaining({ code: 'ENOSPC', syscall: 'write', message: 'ENOSPC: no space left on device, write' }),
    );
    expect(textAt(disk, '/a')).toBe('one');
    expect(disk.write(handle, text('two'), 0, 3, 0)).toBe(3);
    expect(disk.steps).toBe(4);
  });

  it('fails calls that are no steps, with paths as Node gives them', () => {
    const disk = new RecordingDisk({ inject: (call) => (call.name === 'list' ? faultOf('EACCES', call) : undefined) });
    expect(() => disk.list('/')).toThrow(expect.objectContaining({ code: 'EACCES', syscall: 'scandir', path: '/' }));
  });

  it('writes and reads short', () => {
    const disk = new RecordingDisk({ inject: failing('write', 1, () => 'short') });
    const handle = disk.open('/a', 'create');
    expect(disk.write(handle, text('abcde'), 0, 5, 0)).toBe(2);
    expect(textAt(disk, '/a')).toBe('ab');
    disk.inject = () => 'short';
    const into = Buffer.alloc(2);
    expect(disk.read(handle, into, 0, 2, 0)).toBe(1);
    expect(into.toString()).toBe('a\0');
  });

  it('closes also when close fails', () => {
    const disk = new RecordingDisk({ inject: failing('close', 1, (call) => faultOf('EIO', call)) });
    const handle = put(disk, '/a', 'x');
    expect(() => disk.close(handle)).toThrow(expect.objectContaining({ code: 'EIO' }));
    expect(() => disk.size(handle)).toThrow(expect.objectContaining({ code: 'EBADF' }));
  });
});

describe('copies', () => {
  it('go their own way, handles and pending operations included', () => {
    const disk = new RecordingDisk();
    const handle = put(disk, '/a', 'one');
    const unnamed = put(disk, '/b', 'gone');
    disk.unlink('/b');
    const copy = disk.clone();
    expect(copy.hash()).toBe(disk.hash());
    copy.write(handle, text('two'), 0, 3, 0);
    disk.write(handle, text('!'), 0, 1, 3);
    copy.makeDirectory('/d');
    disk.rename('/a', '/c');
    expect([...copy.files()].map(String)).toEqual(['/a,two']);
    expect([...disk.files()].map(String)).toEqual(['/c,one!']);
    expect(copy.size(unnamed)).toBe(4);
    expect(copy.hash()).not.toBe(disk.hash());
    expect(disk.steps).toBe(7);
    expect(copy.steps).toBe(7);
  });

  it('do not see what the original writes over unsynced bytes', () => {
    const disk = new RecordingDisk();
    const handle = put(disk, '/a', 'one');
    const copy = disk.clone();
    disk.write(handle, text('two'), 0, 3, 0);
    expect(textAt(copy, '/a')).toBe('one');
  });

  it('of a file share no page once one of them writes', () => {
    const big = Buffer.alloc(20_000, 1);
    const disk = RecordingDisk.fromFiles(new Map([['/d/a', big]]));
    const copy = disk.clone();
    const handle = disk.open('/d/a', 'write');
    disk.write(handle, text('xy'), 0, 2, 8191);
    disk.truncate(handle, 9000);
    expect(Buffer.from(copy.files().get('/d/a') ?? []).equals(big)).toBe(true);
    const mine = disk.files().get('/d/a') ?? Buffer.alloc(0);
    expect([mine.length, mine[8190], mine[8191], mine[8192], mine[8193]]).toEqual([9000, 1, 120, 121, 1]);
  });

  it('have the same hash only with the same names, bytes, sizes and directories', () => {
    const hashes = [
      new Map(),
      new Map([['/a', text('')]]),
      new Map([['/b', text('')]]),
      new Map([['/a', text('\0')]]),
      new Map([['/a', text('x')]]),
      new Map([['/d/a', text('x')]]),
    ].map((files) => RecordingDisk.fromFiles(files).hash());
    const withDirectory = new RecordingDisk();
    withDirectory.makeDirectory('/a');
    expect(new Set([...hashes, withDirectory.hash()]).size).toBe(7);
  });

  it('have another hash after each write', () => {
    const disk = new RecordingDisk();
    const handle = put(disk, '/a', 'one');
    const before = disk.hash();
    disk.write(handle, text('two'), 0, 3, 0);
    expect(disk.hash()).not.toBe(before);
    disk.write(handle, text('one'), 0, 3, 0);
    expect(disk.hash()).toBe(before);
  });

  it('dump shows what is not yet durable', () => {
    const disk = RecordingDisk.fromFiles(new Map([['/a', text('abc')]]));
    const handle = put(disk, '/b', 'x');
    disk.sync(handle);
    disk.truncate(disk.open('/a', 'write'), 1);
    expect(disk.dump()).toBe('/\n  dirty add /b\n/a 1 bytes, durable 3; dirty truncate to 1\n/b 1 bytes, durable');
  });
});
