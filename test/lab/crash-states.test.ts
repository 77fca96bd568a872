import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { calibrate } from '../../bench/lab/crash/calibrate.js';
import { check, checkRecovery, violations, withRecording } from '../../bench/lab/crash/check.js';
import { withLoaders } from '../../bench/lab/crash/loaders.js';
import { Replay, type Step } from '../../bench/lab/crash/replay.js';
import { groupOf } from '../../bench/lab/crash/sync-controls.js';
import { parseTrace } from '../../bench/lab/crash/trace-text.js';
import { holdfastStore } from '../../bench/lab/drivers/holdfast.js';
import type { LoaderPool } from '../../bench/lab/loader-pool.js';
import { RowCounter } from '../../bench/lab/report.js';
import { crashStates } from '../support/crash-states.js';
import { because, whyNoFaults } from '../support/process-means.js';
import { RecordingDisk } from '../support/recording-disk.js';

const hex = (text: string) =>
  `"${[...Buffer.from(text)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')}"`;

const create = (thread: number, fd: number, path: string) =>
  `${thread} openat(AT_FDCWD, ${hex(`/b/${path}`)}, O_RDWR|O_CREAT|O_CLOEXEC, 0666) = ${fd}`;

function replay(...lines: string[]): { steps: Step[]; states: string[] } {
  const one = new Replay({ base: '/b' });
  const steps = [...one.run(parseTrace(lines.join('\n')))];
  return { steps, states: statesOf(one) };
}

/** Each disk that a crash may leave, as 'name=content …'. */
function statesOf({ root }: Replay): string[] {
  const states = [...crashStates(RecordingDisk.fromTree(root, () => ''))];
  const show = (state: RecordingDisk) => [...state.files()].map(([path, bytes]) => `${path}=${Buffer.from(bytes)}`);
  return states.map((state) => show(state).join(' ').replaceAll('\0', '.')).sort();
}

describe('a trace', () => {
  it('gives calls with their arguments, whatever brackets and commas these have', () => {
    const [call] = parseTrace(`7 writev(3, [{iov_base=${hex('a,"(')}, iov_len=4}, {iov_base="", iov_len=0}], 2) = 4`);
    expect(call).toMatchObject({ thread: 7, name: 'writev', result: '4', begin: 0, end: 0 });
    expect(call?.args).toEqual(['3', expect.stringContaining('iov_len=0'), '2']);
  });

  it('gives one call for what was printed in two parts, other threads between them', () => {
    const calls = parseTrace(
      ['7 fsync(3 <unfinished ...>', '8 close(4)   = 0', '--- SIGCHLD ---', '7 <... fsync resumed>)   = 0'].join('\n'),
    );
    expect(calls.map(({ name, begin, end }) => [name, begin, end])).toEqual([
      ['fsync', 0, 3],
      ['close', 1, 1],
    ]);
  });

  it('gives a call that never returned', () => {
    expect(parseTrace('7 fsync(3 <unfinished ...>\n7 +++ exited with 0 +++')).toMatchObject([
      { name: 'fsync', result: '?' },
    ]);
  });

  it('that is none is refused', () => {
    expect(() => parseTrace('7 this is no call')).toThrow(/Expected a system call on line 1/);
    expect(() => parseTrace('7 <... fsync resumed>) = 0')).toThrow(/Nothing to resume/);
  });
});

describe('a replay', () => {
  it('follows descriptors, positions and names', () => {
    const { states } = replay(
      create(7, 3, 'a'),
      `7 write(3, ${hex('one')}, 3) = 3`,
      `7 write(3, ${hex('two')}, 3) = 2`,
      `7 pwrite64(3, ${hex('O')}, 1, 0) = 1`,
      '7 fcntl(3, F_DUPFD_CLOEXEC, 0) = 5',
      '7 close(3) = 0',
      '7 fsync(5) = 0',
      `7 rename(${hex('/b/a')}, ${hex('/b/b')}) = 0`,
      `7 openat(AT_FDCWD, ${hex('/b')}, O_RDONLY|O_DIRECTORY) = 3`,
      '7 fsync(3) = 0',
    );
    expect(states).toEqual(['/b=Onetw']);
  });

  it('counts a sync for what had ended before it began, and nothing that ran beside it', () => {
    const { states } = replay(
      create(7, 3, 'a'),
      `7 openat(AT_FDCWD, ${hex('/b')}, O_RDONLY|O_DIRECTORY) = 4`,
      '7 fsync(4) = 0',
      `7 pwrite64(3, ${hex('A')}, 1, 0) = 1`,
      `8 pwrite64(3, ${hex('B')}, 1, 1 <unfinished ...>`,
      '7 fsync(3 <unfinished ...>',
      '8 <... pwrite64 resumed>) = 1',
      '7 <... fsync resumed>) = 0',
    );
    expect(states).toEqual(['/a=A', '/a=A.', '/a=AB']);
  });

  it('counts what a synchronous descriptor wrote, and nothing written beside it', () => {
    const { states } = replay(
      create(7, 3, 'a'),
      `7 openat(AT_FDCWD, ${hex('/b')}, O_RDONLY|O_DIRECTORY) = 4`,
      '7 fsync(4) = 0',
      `7 openat(AT_FDCWD, ${hex('/b/a')}, O_WRONLY|O_DSYNC) = 5`,
      `7 pwrite64(3, ${hex('A')}, 1, 0) = 1`,
      `7 pwrite64(5, ${hex('B')}, 1, 1) = 1`,
    );
    expect(states).toEqual(['/a=.B', '/a=AB']);
  });

  it('takes along the names before a sync where they go through one log, unless it is of bytes in place', () => {
    const begin = [create(7, 3, 'a'), `7 pwrite64(3, ${hex('A')}, 1, 0) = 1`];
    const logged = (...lines: string[]) => {
      const one = new Replay({ base: '/b', isLogged: true });
      for (const _ of one.run(parseTrace([...begin, ...lines].join('\n'))));
      return statesOf(one);
    };
    expect(logged('7 fsync(3) = 0')).toEqual(['/a=A']);
    const unlinked = [create(7, 4, 'b'), '7 fsync(3) = 0', `7 unlink(${hex('/b/b')}) = 0`];
    expect(logged(...unlinked)).toEqual(['/a=A', '/a=A /b=']);
    expect(logged(...unlinked, `7 pwrite64(3, ${hex('B')}, 1, 0) = 1`, '7 fsync(3) = 0')).toEqual(['/a=B', '/a=B /b=']);
    expect(logged(...unlinked, `7 pwrite64(3, ${hex('B')}, 1, 1) = 1`, '7 fsync(3) = 0')).toEqual(['/a=AB']);
    expect(replay(...begin, '7 fsync(3) = 0').states).toEqual(['', '/a=A']);
  });

  it('knows at each step what was begun and acknowledged', () => {
    const { steps } = replay(
      create(7, 3, 'a'),
      `7 write(1, ${hex('issued 1\n')}, 9) = 9`,
      `7 pwrite64(3, ${hex('A')}, 1, 0) = 1`,
      '7 fdatasync(3) = 0',
      `7 write(1, ${hex('acked 1\n')}, 8 <unfinished ...>`,
      `8 unlink(${hex('/b/a')}) = 0`,
      '7 <... write resumed>) = 8',
    );
    expect(steps).toEqual([
      { what: 'openat /a', acked: 0, issued: 0 },
      { what: 'pwrite64 /a 0+1', acked: 0, issued: 1 },
      { what: 'fdatasync /a', acked: 0, issued: 1 },
      { what: 'unlink /a', acked: 1, issued: 1 },
    ]);
  });

  it('ignores what lies elsewhere, what failed, and what is made anew after a crash', () => {
    const { steps } = replay(
      `7 unlink(${hex('/elsewhere/a')}) = 0`,
      `7 symlink(${hex('x')}, ${hex('/elsewhere/b')}) = 0`,
      `7 unlink(${hex('/b/a')}) = -1 ENOENT (No such file or directory)`,
      create(7, 3, 'state.db-shm'),
      '7 mmap(NULL, 32768, PROT_READ|PROT_WRITE, MAP_SHARED, 3, 0) = 0x7f0000000000',
    );
    expect(steps).toEqual([]);
  });

  it.each([
    [`7 setxattr(${hex('/b/a')}, "", "", 0, 0) = 0`, /setxattr of \/a is not modelled/],
    ['7 ioctl(3, FICLONE, 4) = 0', /ioctl of \/a is not modelled/],
    ['7 fallocate(3, FALLOC_FL_PUNCH_HOLE, 0, 4096) = 0', /fallocate of \/a is not modelled/],
    ['7 mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 3, 0) = 0x7f0000000000', /a mapping of \/a cannot be seen/],
    [`7 symlink(${hex('/b/a')}, ${hex('/b/c')}) = 0`, /symlink of \/a is not modelled/],
    [`7 write(3, ${hex('ab')}..., 900) = 900`, /cut short/],
    [`7 rename(${hex('/b/a')}, ${hex('/elsewhere/a')}) = 0`, /elsewhere/],
    ['7 fork() = 9', /another process/],
    ['7 io_uring_setup(8, {}) = 9', /a ring/],
  ])('ends loudly at %s', (line, why) => {
    expect(() => replay(create(7, 3, 'a'), line)).toThrow(why);
  });
});

const whyNot = whyNoFaults();

describe.skipIf(whyNot !== null)(because('crash states of real programs', whyNot), { timeout: 180_000 }, () => {
  let scratch = '';
  const seed = 3;

  beforeAll(() => {
    scratch = mkdtempSync(join(tmpdir(), 'holdfast-lab-'));
  });
  afterAll(() => rmSync(scratch, { recursive: true }));

  it('are told right from wrong, as SQLite says that they are', async () => {
    const { controls } = await withLoaders((pool) => calibrate({ size: 60, seed, scratch, pool }));
    expect(controls.filter(({ isMet }) => !isMet)).toEqual([]);
  });

  it('lose nothing that holdfast acknowledged, and are noticed when the sync of the tail is left out', async () => {
    const checkAll = (pool: LoaderPool) =>
      withRecording(holdfastStore, { scratch, seed }, async (recording, folder) => {
        const options = { scratch: folder, pool, seed, size: 60 } as const;
        const counters = ['posix', 'journal', 'recovery', 'control'].map((name) => new RowCounter(holdfastStore, name));
        const [posix, journal, recovery, control] = counters as [RowCounter, RowCounter, RowCounter, RowCounter];
        const cases = await check(posix, holdfastStore, recording, { ...options, model: 'posix' });
        await check(journal, holdfastStore, recording, { ...options, model: 'journal' });
        const last = cases.findLast(({ moments }) => moments.some(({ acked }) => acked > 0));
        if (last !== undefined) await checkRecovery(recovery, holdfastStore, last, { ...options, model: 'posix' });
        const ignoreSync = (sync: Parameters<typeof groupOf>[0]) => /fdatasync .*tail/.test(groupOf(sync));
        await check(control, holdfastStore, recording, { ...options, model: 'posix', ignoreSync });
        for (const { row } of [posix, journal, recovery])
          expect({ row, wrong: violations(row) }).toEqual({ row, wrong: 0 });
        expect(recovery.row.trials).toBeGreaterThan(10);
        expect(violations(control.row)).toBeGreaterThan(10);
      });
    await withLoaders(checkAll);
  });
});
