import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CrashOptions, crashStates, killState } from './crash-states.js';
import { faultOf, RecordingDisk, Stopped } from './recording-disk.js';

const text = (content: string) => Buffer.from(content);

/** A disk with these files, durable. */
function holding(files: Record<string, string | Buffer>): RecordingDisk {
  return RecordingDisk.fromFiles(new Map(Object.entries(files).map(([path, bytes]) => [path, Buffer.from(bytes)])));
}

function overwrite(disk: RecordingDisk, path: string, content: string | Buffer, position = 0): number {
  const handle = disk.entry(path) === null ? disk.open(path, 'create') : disk.open(path, 'write');
  const bytes = Buffer.from(content);
  disk.write(handle, bytes, 0, bytes.length, position);
  return handle;
}

/** Each state as 'path=content …', zeros as dots. */
function statesOf(disk: RecordingDisk, options?: CrashOptions): string[] {
  return [...crashStates(disk, options)].map(show).sort();
}

function show(disk: RecordingDisk): string {
  const files = [...disk.files()].map(
    ([path, bytes]) => `${path}=${Buffer.from(bytes).toString().replaceAll('\0', '.')}`,
  );
  return files.join(' ');
}

/** Each state's content of one file; runs of a letter as its count: 'A512.3584'. */
function contentsOf(disk: RecordingDisk, path: string, options?: CrashOptions): string[] {
  return [...crashStates(disk, options)].map((state) => {
    const content = Buffer.from(state.files().get(path) ?? 'MISSING')
      .toString()
      .replaceAll('\0', '.');
    return content.replace(/(.)\1*/g, (run, letter) => `${letter}${run.length}`);
  });
}

describe('data', () => {
  it('that was written and not synced may be kept or lost', () => {
    const disk = holding({ '/a': 'AAAA' });
    overwrite(disk, '/a', 'BB', 1);
    expect(statesOf(disk)).toEqual(['/a=AAAA', '/a=ABBA']);
  });

  it('that extended the file may be absent, or zero', () => {
    const disk = holding({ '/a': 'A' });
    overwrite(disk, '/a', 'BB', 1);
    expect(statesOf(disk)).toEqual(['/a=A', '/a=A..', '/a=ABB']);
  });

  it('is what was written, whatever became of the buffer since', () => {
    const disk = holding({ '/a': '' });
    const bytes = text('xy');
    disk.write(disk.open('/a', 'write'), bytes, 0, 2, 0);
    bytes.fill('!');
    expect(statesOf(disk)).toEqual(['/a=', '/a=..', '/a=xy']);
  });

  it('is lost page by page, in any combination', () => {
    const disk = holding({ '/a': Buffer.alloc(3 * 4096, 'A') });
    overwrite(disk, '/a', Buffer.alloc(3 * 4096, 'B'));
    const contents = contentsOf(disk, '/a', { random: 300 });
    expect(contents).toEqual(expect.arrayContaining(['A12288', 'B12288', 'A4096B4096A4096', 'B4096A4096B4096']));
    expect(contents).toEqual(expect.arrayContaining(['A4096B8192', 'A8192B4096', 'B4096A8192', 'B8192A4096']));
  });

  it('tears at every sector of a page, and nowhere else', () => {
    const disk = holding({ '/a': Buffer.alloc(4096, 'A') });
    overwrite(disk, '/a', Buffer.alloc(4000, 'B'), 90);
    const contents = contentsOf(disk, '/a', { random: 200 });
    for (let at = 512; at < 4096; at += 512) {
      expect(contents).toContain(`A90B${at - 90}A${4096 - at}`);
      expect(contents).toContain(`A${at}B${4090 - at}A6`);
    }
    expect(new Set(contents).size).toBe(16);
  });

  it('torn where the file grows leaves it short, or long with zeros', () => {
    const disk = holding({ '/a': '' });
    overwrite(disk, '/a', Buffer.alloc(1000, 'B'));
    expect(contentsOf(disk, '/a').sort()).toEqual(['', '.1000', '.512B488', 'B1000', 'B512', 'B512.488'].sort());
  });

  it('splits at the pages of the file, not of the write', () => {
    const disk = holding({ '/a': Buffer.alloc(5000, 'A') });
    overwrite(disk, '/a', Buffer.alloc(200, 'B'), 4000);
    expect(contentsOf(disk, '/a').sort()).toEqual(['A5000', 'A4000B96A904', 'A4096B104A800', 'A4000B200A800'].sort());
  });

  it('is safe once synced, whatever follows', () => {
    const disk = holding({ '/a': 'AAAA' });
    const handle = overwrite(disk, '/a', 'BBBB');
    disk.syncData(handle);
    expect(statesOf(disk)).toEqual(['/a=BBBB']);
    overwrite(disk, '/a', 'C');
    expect(statesOf(disk)).toEqual(['/a=BBBB', '/a=CBBB']);
  });

  it('of one file is not synced by the sync of another', () => {
    const disk = holding({ '/a': 'A', '/b': 'B' });
    overwrite(disk, '/a', 'x');
    disk.sync(overwrite(disk, '/b', 'y'));
    expect(statesOf(disk)).toEqual(['/a=A /b=y', '/a=x /b=y']);
  });

  it('of a truncate may come back, also under what was written after it', () => {
    const disk = holding({ '/a': 'AAAA' });
    const handle = disk.open('/a', 'write');
    disk.truncate(handle, 0);
    disk.write(handle, text('B'), 0, 1, 1);
    expect(statesOf(disk, { random: 50 })).toEqual(['/a=', '/a=.B', '/a=AAAA', '/a=ABAA']);
  });

  it('that a page cache holds is kept with all that was written to its page before', () => {
    const disk = holding({ '/a': Buffer.alloc(5000, 'A') });
    overwrite(disk, '/a', 'BB', 10);
    overwrite(disk, '/a', 'CC', 12);
    overwrite(disk, '/a', 'D', 4999);
    const cached = contentsOf(disk, '/a', { random: 50, pages: 'cached' });
    expect(cached.sort()).toEqual(
      ['A5000', 'A4999D1', 'A10B2A4988', 'A10B2A4987D1', 'A10B2C2A4986', 'A10B2C2A4985D1'].sort(),
    );
    expect(contentsOf(disk, '/a', { random: 50 })).toContain('A12C2A4986');
  });

  it('of a preallocation is one piece, however long', () => {
    const disk = holding({ '/a': 'A' });
    overwrite(disk, '/a', Buffer.alloc(256 * 1024), 1);
    expect(contentsOf(disk, '/a')).toEqual(['A1', 'A1.262144']);
    overwrite(disk, '/a', 'B', 1);
    expect(contentsOf(disk, '/a', { random: 50 }).sort()).toEqual(
      ['A1', 'A1.262144', 'A1B1', 'A1B1.262143', 'A1.1'].sort(),
    );
  });

  it('of zeros written over bytes is lost like any other', () => {
    const disk = holding({ '/a': Buffer.alloc(8192, 'A') });
    overwrite(disk, '/a', Buffer.alloc(8192));
    expect(contentsOf(disk, '/a')).toEqual(expect.arrayContaining(['A8192', '.8192', '.4096A4096', 'A512.7680']));
  });
});

type Op = { kind: 'write'; position: number; length: number } | { kind: 'truncate'; size: number } | { kind: 'sync' };

const dataOps: fc.Arbitrary<Op[]> = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('write' as const),
      position: fc.nat(9000),
      length: fc.integer({ min: 1, max: 5000 }),
    }),
    fc.record({ kind: fc.constant('truncate' as const), size: fc.nat(12000) }),
    fc.record({ kind: fc.constant('sync' as const) }),
  ),
  { minLength: 1, maxLength: 8 },
);

/** Every value each byte may have after a cut, and the sizes in between which the file must lie. */
class Expectation {
  allowed: Set<number>[] = [];
  #current: number[] = [];
  sizeMin = 0;
  sizeMax = 0;

  apply(op: Op, fill: number): void {
    const { length } = this.#current;
    if (op.kind === 'write') this.#write(op.position, op.position + op.length, fill);
    else if (op.kind === 'truncate') this.#resize(op.size);
    else this.#sync();
    if (op.kind === 'truncate') this.#noteZeros(op.size, length);
    this.sizeMin = Math.min(this.sizeMin, this.#current.length);
    this.sizeMax = Math.max(this.sizeMax, this.#current.length);
  }

  #write(start: number, end: number, fill: number): void {
    if (end > this.#current.length) this.#resize(end);
    for (let at = start; at < end; at++) {
      this.#current[at] = fill;
      this.#allow(at, fill);
    }
  }

  #resize(size: number): void {
    for (let at = this.#current.length; at < size; at++) {
      this.#current.push(0);
      this.#allow(at, 0);
    }
    this.#current.length = size;
  }

  /** Once a cut-off part is extended again, by this or a later write, it may read as zero. */
  #noteZeros(from: number, to: number): void {
    for (let at = from; at < to; at++) this.#allow(at, 0);
  }

  #sync(): void {
    this.allowed = this.#current.map((value) => new Set([value]));
    this.sizeMin = this.#current.length;
    this.sizeMax = this.#current.length;
  }

  #allow(at: number, value: number): void {
    this.allowed[at] ??= new Set([0]);
    this.allowed[at].add(value);
  }
}

describe('any sequence of writes, truncates and syncs', () => {
  it('leaves each byte with its synced value or one written since, and all of them when nothing is pending', () => {
    const run = (ops: Op[], seed: number) => {
      const disk = holding({ '/a': '' });
      const handle = disk.open('/a', 'write');
      const expectation = new Expectation();
      ops.forEach((op, index) => {
        if (op.kind === 'write') disk.write(handle, Buffer.alloc(op.length, index + 1), 0, op.length, op.position);
        else if (op.kind === 'truncate') disk.truncate(handle, op.size);
        else disk.sync(handle);
        expectation.apply(op, index + 1);
      });
      for (const state of crashStates(disk, { random: 30, seed })) {
        const bytes = state.files().get('/a') ?? Buffer.alloc(0);
        expect(bytes.length).toBeGreaterThanOrEqual(expectation.sizeMin);
        expect(bytes.length).toBeLessThanOrEqual(expectation.sizeMax);
        const wrong = bytes.findIndex((value, at) => !expectation.allowed[at]?.has(value));
        if (wrong >= 0) expect.fail(`byte ${wrong} is ${bytes[wrong]}\n${state.dump()}`);
      }
    };
    fc.assert(fc.property(dataOps, fc.nat(), run), { seed: 7, numRuns: 200 });
  });
});

describe('names', () => {
  it('of a rename without a directory sync may be lost, or half there', () => {
    const disk = holding({ '/a': 'old', '/tmp': 'new' });
    disk.rename('/tmp', '/a');
    expect(statesOf(disk)).toEqual(['/a=new', '/a=new /tmp=new', '/a=old', '/a=old /tmp=new']);
    expect(statesOf(disk, { model: 'journal' })).toEqual(['/a=new', '/a=old /tmp=new']);
    disk.syncDirectory('/');
    expect(statesOf(disk)).toEqual(['/a=new']);
  });

  it('of a new file are not durable by a sync of the file', () => {
    const disk = holding({});
    const handle = overwrite(disk, '/a', 'x');
    disk.sync(handle);
    expect(statesOf(disk)).toEqual(['', '/a=x']);
    disk.syncDirectory('/');
    expect(statesOf(disk)).toEqual(['/a=x']);
  });

  it('may be durable without the data', () => {
    const disk = holding({});
    overwrite(disk, '/a', 'xy');
    disk.syncDirectory('/');
    expect(statesOf(disk)).toEqual(['/a=', '/a=..', '/a=xy']);
  });

  it('may all be kept without any data, short or zero, however many they are', () => {
    const disk = holding({});
    for (let count = 0; count < 7; count++) disk.sync(overwrite(disk, `/${count}`, ''));
    overwrite(disk, '/0', 'x');
    overwrite(disk, '/0', 'y', 1);
    const whole = [...crashStates(disk)].filter((state) => state.list('/').length === 7);
    expect(whole.map((state) => show(state).split(' ')[0])).toEqual(expect.arrayContaining(['/0=', '/0=..', '/0=xy']));
  });

  it('in a new directory are lost with the directory, synced or not', () => {
    const disk = holding({});
    disk.makeDirectory('/d');
    disk.sync(overwrite(disk, '/d/a', 'x'));
    disk.syncDirectory('/d');
    expect(statesOf(disk)).toEqual(['', '/d/a=x']);
    disk.syncDirectory('/');
    expect(statesOf(disk)).toEqual(['/d/a=x']);
  });

  it('removed may come back', () => {
    const disk = holding({ '/a': 'A' });
    disk.unlink('/a');
    expect(statesOf(disk)).toEqual(['', '/a=A']);
  });

  it('of a rename across directories may be in both or neither in the posix model', () => {
    const disk = holding({ '/from/a': 'A', '/to/b': 'B' });
    disk.rename('/from/a', '/to/a');
    expect(statesOf(disk)).toEqual(['/from/a=A /to/a=A /to/b=B', '/from/a=A /to/b=B', '/to/a=A /to/b=B', '/to/b=B']);
    expect(statesOf(disk, { model: 'journal' })).toEqual(['/from/a=A /to/b=B', '/to/a=A /to/b=B']);
    disk.syncDirectory('/to');
    expect(statesOf(disk)).toEqual(['/from/a=A /to/a=A /to/b=B', '/to/a=A /to/b=B']);
    disk.syncDirectory('/from');
    expect(statesOf(disk)).toEqual(['/to/a=A /to/b=B']);
  });

  it('are kept in the order they were made in the journal model, in any in the posix model', () => {
    const disk = holding({ '/d/x': '', '/e/x': '' });
    disk.unlink('/d/x');
    disk.unlink('/e/x');
    disk.makeDirectory('/f');
    const trees = (model: 'posix' | 'journal') => [...crashStates(disk, { model })].map((state) => state.dump());
    expect(trees('journal')).toHaveLength(4);
    expect(trees('posix')).toHaveLength(8);
    expect(statesOf(disk, { model: 'journal' })).not.toContain('/d/x=');
  });

  it('of one file left twice are one file still, and renaming one onto the other does nothing', () => {
    const disk = holding({ '/a': 'A' });
    disk.rename('/a', '/b');
    const both = [...crashStates(disk)].find((state) => state.files().size === 2);
    if (both === undefined) return expect.fail('no state has both names');
    overwrite(both, '/a', 'x');
    expect(show(both)).toBe('/a=x /b=x');
    both.rename('/a', '/b');
    expect(both.list('/').sort()).toEqual(['a', 'b']);
  });

  it('of a directory are never two, and never a loop', () => {
    const disk = holding({ '/a/b/f': 'F' });
    disk.rename('/a/b', '/b');
    disk.rename('/a', '/b/a');
    for (const state of crashStates(disk)) expect(state.files().size).toBeLessThanOrEqual(1);
  });

  it('up to five are tried in every combination, each with and without the data', () => {
    const disk = holding({ '/a': 'A' });
    overwrite(disk, '/a', 'x');
    for (let count = 0; count < 5; count++) disk.makeDirectory(`/${count}`);
    expect([...crashStates(disk)]).toHaveLength(2 * 2 ** 5);
  });

  it('more than five are tried without each one and with each one alone, with and without the data', () => {
    const disk = holding({ '/a': Buffer.alloc(1024, 'A') });
    overwrite(disk, '/a', 'x');
    overwrite(disk, '/a', 'y', 512);
    for (let count = 0; count < 7; count++) disk.makeDirectory(`/${count}`);
    const tried = [...crashStates(disk)].map((state) => {
      const bytes = state.files().get('/a');
      return `${state.list('/').length - 1} ${String.fromCharCode(bytes?.[0] ?? 0, bytes?.[512] ?? 0)}`;
    });
    const times = (state: string) => tried.filter((other) => other === state).length;
    expect(['0 AA', '0 xy', '7 AA', '7 xy', '7 xA', '7 Ay'].map(times)).toEqual([1, 1, 1, 1, 1, 1]);
    expect(['1 AA', '1 xy', '6 AA', '6 xy'].map(times)).toEqual([7, 7, 7, 7]);
    expect(tried).toHaveLength(6 + 4 * 7);
  });
});

describe('a failed sync', () => {
  it('makes nothing durable, and neither does the next one that succeeds', () => {
    const disk = holding({ '/a': 'AAAA' });
    const handle = overwrite(disk, '/a', 'BB');
    disk.inject = (call) => (call.name === 'sync' ? faultOf('EIO', call) : undefined);
    expect(() => disk.sync(handle)).toThrow(expect.objectContaining({ code: 'EIO', syscall: 'fsync' }));
    disk.inject = undefined;
    disk.sync(handle);
    expect(show(disk)).toBe('/a=BBAA');
    expect(statesOf(disk)).toEqual(['/a=AAAA', '/a=BBAA']);
  });

  it('does not spoil what is written and synced after it, not even over the same bytes', () => {
    const disk = holding({ '/a': 'AAAA' });
    const handle = overwrite(disk, '/a', 'BBB');
    disk.inject = (call) => (call.name === 'syncData' ? faultOf('EIO', call) : undefined);
    expect(() => disk.syncData(handle)).toThrow();
    overwrite(disk, '/a', 'CC', 2);
    disk.sync(handle);
    overwrite(disk, '/a', 'D', 3);
    expect(statesOf(disk)).toEqual(['/a=AACC', '/a=AACD', '/a=BBCC', '/a=BBCD']);
  });

  it('of a directory leaves its names in doubt for good', () => {
    const disk = holding({ '/a': 'A' });
    disk.rename('/a', '/b');
    disk.inject = (call) => (call.name === 'syncDirectory' ? faultOf('EIO', call) : undefined);
    expect(() => disk.syncDirectory('/')).toThrow();
    disk.inject = undefined;
    disk.makeDirectory('/d');
    disk.syncDirectory('/');
    const listings = [...crashStates(disk)].map((state) => state.list('/').sort().join(' '));
    expect(listings.sort()).toEqual(['a b d', 'a d', 'b d', 'd']);
  });
});

describe('an ignored sync', () => {
  it('says it succeeded and makes nothing durable; the next one does', () => {
    const disk = holding({});
    disk.ignoreSync = ({ name }) => name === 'syncDirectory';
    const handle = overwrite(disk, '/a', 'x');
    disk.sync(handle);
    disk.syncDirectory('/');
    expect(disk.steps).toBe(4);
    expect(statesOf(disk)).toEqual(['', '/a=x']);
    disk.ignoreSync = undefined;
    disk.syncDirectory('/');
    expect(statesOf(disk)).toEqual(['/a=x']);
  });
});

describe('a machine that stops', () => {
  it('within a write leaves some of its first bytes', () => {
    const disk = holding({ '/a': 'AAAA' });
    disk.stopAfter(0, { bytesOfNext: 2 });
    const handle = disk.open('/a', 'write');
    expect(() => disk.write(handle, text('BBBB'), 0, 4, 0)).toThrow(Stopped);
    expect(statesOf(disk)).toEqual(['/a=AAAA', '/a=BBAA']);
  });

  it('leaves disks that run again, whole and durable', () => {
    const disk = holding({});
    disk.stopAfter(2);
    overwrite(disk, '/a', 'x');
    for (const state of crashStates(disk)) {
      expect(state.isStopped).toBe(false);
      expect(state.steps).toBe(0);
      expect([...crashStates(state)].map(show)).toEqual([show(state)]);
    }
  });
});

describe('a killed process', () => {
  it('leaves all it saw, which a later power cut may still take', () => {
    const disk = holding({ '/a': 'A' });
    const handle = overwrite(disk, '/a', 'x');
    disk.stopAfter(2);
    disk.rename('/a', '/b');
    const left = killState(disk);
    expect(show(left)).toBe('/b=x');
    expect(left.isStopped).toBe(false);
    expect(() => left.size(handle)).toThrow(expect.objectContaining({ code: 'EBADF' }));
    expect(statesOf(left)).toEqual(statesOf(disk));
    left.sync(left.open('/b', 'read'));
    left.syncDirectory('/');
    expect(statesOf(left)).toEqual(['/b=x']);
    expect(statesOf(disk)).toContain('/a=A');
  });

  it('keeps the order of names made before and after it', () => {
    const disk = holding({});
    disk.makeDirectory('/a');
    disk.makeDirectory('/b');
    const left = killState(disk);
    left.makeDirectory('/c');
    const listings = [...crashStates(left, { model: 'journal' })].map((state) => state.list('/').join(''));
    expect(listings.sort()).toEqual(['', 'a', 'ab', 'abc']);
  });
});

describe('enumeration', () => {
  function busy(): RecordingDisk {
    const disk = holding({ '/a': Buffer.alloc(20_000, 'A'), '/d/b': 'B' });
    overwrite(disk, '/a', Buffer.alloc(9000, 'x'), 100);
    overwrite(disk, '/c', Buffer.alloc(5000, 'y'));
    disk.rename('/d/b', '/e');
    disk.makeDirectory('/d/f');
    return disk;
  }
  const hashes = (options: CrashOptions) => [...crashStates(busy(), options)].map((state) => state.hash());

  it('is the same every time, and differs by seed', () => {
    expect(hashes({ random: 100, seed: 1 })).toEqual(hashes({ random: 100, seed: 1 }));
    expect(hashes({ random: 100, seed: 2 })).not.toEqual(hashes({ random: 100, seed: 1 }));
  });

  it('begins with all lost and all kept, and gives no disk twice', () => {
    const disk = busy();
    const states = [...crashStates(disk, { random: 500 })];
    expect(states[0]?.files()).toEqual(
      new Map([
        ['/a', Buffer.alloc(20_000, 'A')],
        ['/d/b', text('B')],
      ]),
    );
    expect(states[1]?.hash()).toBe(disk.hash());
    expect(new Set(states.map((state) => state.hash())).size).toBe(states.length);
    expect(states.length).toBeGreaterThan([...crashStates(disk)].length + 100);
  });

  it('leaves the disk asked about as it was', () => {
    const disk = busy();
    const before = disk.dump();
    for (const state of crashStates(disk, { random: 20 })) overwrite(state, '/a', 'changed', 50);
    expect(disk.dump()).toBe(before);
    expect(disk.hash()).toBe(busy().hash());
  });

  it('says of each state what was kept and lost', () => {
    const disk = holding({});
    overwrite(disk, '/a', Buffer.alloc(600, 'x'));
    const dumps = [...crashStates(disk)].map((state) => state.dump());
    expect(dumps[0]).toBe('power cut:\n  add /a lost\n  /a bytes 0..600 lost\n/');
    disk.makeDirectory('/d');
    disk.syncDirectory('/');
    disk.makeDirectory('/d/first');
    disk.makeDirectory('/second');
    const [first] = crashStates(disk);
    expect(first?.dump()).toMatch(/add \/d\/first lost\n {2}add \/second lost/);
    expect(dumps.join('\n')).toContain('/a bytes 0..600 torn at 512, before it kept, size extended');
  });
});
