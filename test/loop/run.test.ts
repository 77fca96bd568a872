import { writeFileSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import { Glitch, type InterruptedItem, type Progress, runLoop } from '../../src/loop/index.js';
import { retryDelay } from '../../src/loop/pause.js';
import { asOriginal, create, fast, read, statePath } from './support.js';

const names = (n: number) => Array.from({ length: n }, (_, index) => `item-${index}`);
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('a run', () => {
  it('does every item once, and the next run does none', async () => {
    const path = statePath();
    const ran: string[] = [];
    const work = (item: string) => void ran.push(item);
    const first = await runLoop(names(20), path, work, fast);
    expect(first).toMatchObject({ done: 20, failed: 0, skipped: 0, outstanding: 0, interrupted: 0, stopped: null });
    expect(ran).toEqual(names(20));
    expect(read(path)).toEqual({ completed: names(20), failed: [] });
    const second = await runLoop(names(25), path, work, fast);
    expect(second).toMatchObject({ done: 5, skipped: 20 });
    expect(ran).toEqual(names(25));
  });

  it('works on as many items at a time as it may, and no more', async () => {
    let active = 0;
    let most = 0;
    const seen: unknown[] = [];
    const path = statePath();
    const work = async () => {
      most = Math.max(most, ++active);
      seen.push(read(path).inProgress);
      await sleep(5);
      active--;
    };
    await runLoop(names(60), path, work, { ...fast, concurrency: 30 });
    expect(most).toBe(30);
    await runLoop(names(20), statePath(), work, fast);
    expect(read(path)).toEqual({ completed: expect.arrayContaining(names(60)), failed: [] });
  });

  it('takes items only when it needs them', async () => {
    let made = 0;
    let active = 0;
    let ahead = 0;
    async function* endless() {
      while (made < 500) {
        ahead = Math.max(ahead, ++made - active);
        await sleep(0);
        yield { id: `n${made}` };
      }
    }
    const work = () => void active++;
    const summary = await runLoop(endless(), statePath(), work, { ...fast, concurrency: 4 });
    expect(summary.done).toBe(500);
    expect(ahead).toBeLessThanOrEqual(5);
  });

  it('takes sets, maps, generators and streams', async () => {
    const ran: unknown[] = [];
    const work = (item: unknown) => void ran.push(item);
    await runLoop(new Set(['a', 'b']), statePath(), work, fast);
    await runLoop(new Map([['k', 1]]), statePath(), work, { ...fast, key: ([key]) => key });
    await runLoop([{ id: 'x' }, { id: 'y' }].values(), statePath(), work, fast);
    await runLoop(new Blob(['z']).stream() as AsyncIterable<Uint8Array>, statePath(), work, {
      ...fast,
      key: (chunk) => String(chunk[0]),
    });
    expect(ran).toEqual(['a', 'b', ['k', 1], { id: 'x' }, { id: 'y' }, new Uint8Array([122])]);
  });

  it('runs items of one key once', async () => {
    const ran: string[] = [];
    const work = async (item: { id: string; n: number }) => {
      ran.push(`${item.id}${item.n}`);
      await sleep(10);
      if (item.id === 'b') throw new Glitch();
    };
    const items = ['a', 'a', 'b', 'b', 'a', 'b'].map((id, n) => ({ id, n }));
    const summary = await runLoop(items, statePath(), work, { ...fast, concurrency: 2 });
    expect(ran).toEqual(['a0', 'b2']);
    expect(summary).toMatchObject({ done: 1, outstanding: 1, skipped: 4 });
  });

  it('lets others have a turn while it skips', async () => {
    const path = statePath();
    writeFileSync(path, asOriginal({ completed: names(50_000), failed: [] }));
    let turns = 0;
    let others = setImmediate(function turn() {
      turns++;
      others = setImmediate(turn);
    });
    const atTurn: number[] = [];
    function* source() {
      for (const name of names(50_000)) {
        atTurn.push(turns);
        yield name;
      }
    }
    const summary = await runLoop(source(), path, () => undefined, fast);
    clearImmediate(others);
    expect(summary.skipped).toBe(50_000);
    // One after each 10,000, and never in between: a million skips do not take a turn each.
    expect(new Set(atTurn).size).toBe(5);
  });
});

describe('work that throws', () => {
  it('is recorded with its reason, and not run again until that is asked for', async () => {
    const path = statePath();
    let tries = 0;
    const work = (item: string) => {
      if (item !== 'item-1') return;
      tries++;
      throw new Error('no such file');
    };
    expect(await runLoop(names(3), path, work, fast)).toMatchObject({ done: 2, failed: 1 });
    expect(read(path)).toEqual({ completed: ['item-0', 'item-2'], failed: [{ id: 'item-1', reason: 'no such file' }] });
    expect(await runLoop(names(3), path, work, fast)).toMatchObject({ done: 0, failed: 0, skipped: 3 });
    expect(tries).toBe(1);
    expect(await runLoop(names(3), path, () => 1, { ...fast, retryFailed: true })).toMatchObject({
      done: 1,
      skipped: 2,
    });
    expect(read(path)).toEqual({ completed: ['item-0', 'item-2', 'item-1'], failed: [] });
  });

  it('is tried again after a growing delay', async () => {
    const startedMs: number[] = [];
    const attempts: number[] = [];
    const work = (_: string, { attempt }: { attempt: number }) => {
      startedMs.push(performance.now());
      attempts.push(attempt);
      if (attempt < 4) throw new Error('later');
    };
    const summary = await runLoop(['a'], statePath(), work, { ...fast, retries: 3, retryDelayMs: 40 });
    expect(summary).toMatchObject({ done: 1, failed: 0 });
    expect(attempts).toEqual([1, 2, 3, 4]);
    const waits = startedMs.slice(1).map((ms, index) => ms - (startedMs[index] as number));
    // At least half of 40, 80 and 160.
    [20, 40, 80].forEach((leastMs, index) => {
      expect(waits[index]).toBeGreaterThanOrEqual(leastMs - 2);
    });
  });

  it('warns nobody when many wait at a time', async () => {
    const warn = vi.fn();
    process.on('warning', warn);
    const work = (_: string, { attempt }: { attempt: number }) => {
      if (attempt < 3) throw new Error('later');
    };
    const options = { ...fast, retries: 2, concurrency: 40, signal: new AbortController().signal };
    expect(await runLoop(names(80), statePath(), work, options)).toMatchObject({ done: 80 });
    process.off('warning', warn);
    expect(warn).not.toHaveBeenCalled();
  });

  it('waits no longer than it may', () => {
    const limits = { retryDelayMs: 100, retryDelayMaxMs: 500 };
    expect([1, 2, 3, 4, 50].map((retry) => retryDelay(retry, limits, () => 0))).toEqual([100, 200, 400, 500, 500]);
    expect(retryDelay(1, limits, () => 1)).toBe(50);
  });

  it.each([
    [new Error(''), 'Error'],
    ['text', 'text'],
    [undefined, 'undefined'],
    ['', 'no reason given'],
  ])('gives a reason whatever it throws (%o)', async (thrown, reason) => {
    const path = statePath();
    await runLoop(['a'], path, () => Promise.reject(thrown), { ...fast, retries: 1 });
    expect(read(path).failed).toEqual([{ id: 'a', reason }]);
  });

  it('records nothing when the item is not at fault', async () => {
    const path = statePath();
    const work = () => {
      throw new Glitch('rate limit');
    };
    expect(await runLoop(names(2), path, work, { ...fast, retries: 1 })).toMatchObject({ failed: 0, outstanding: 2 });
    expect(read(path)).toEqual({ completed: [], failed: [] });
    expect(await runLoop(names(2), path, () => 1, fast)).toMatchObject({ done: 2 });
  });

  it('goes on under the fake timers of a program', async () => {
    vi.useFakeTimers();
    try {
      const work = (_: string, { attempt }: { attempt: number }) => {
        if (attempt === 1) throw new Error('later');
      };
      expect(await runLoop(names(3), statePath(), work, { ...fast, retries: 1 })).toMatchObject({ done: 3 });
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('what was interrupted', () => {
  const before = { completed: ['item-0'], failed: [], inProgress: ['item-7', 'gone', 'item-3'] };

  it('runs first when the items can be walked twice, and is told beforehand', async () => {
    const path = statePath();
    writeFileSync(path, asOriginal(before));
    const ran: string[] = [];
    const told: (readonly InterruptedItem<string>[])[] = [];
    const lines: string[] = [];
    const onInterrupted = async (items: readonly InterruptedItem<string>[]) => {
      await sleep(5);
      expect(ran).toEqual([]);
      told.push(items);
    };
    const log = (line: string) => void lines.push(line);
    const work = (item: string) => void ran.push(item);
    const summary = await runLoop(names(2000), path, work, { ...fast, concurrency: 8, onInterrupted, log });
    expect(ran.slice(0, 3)).toEqual(['item-3', 'item-7', 'item-1']);
    expect(told).toEqual([
      [
        { id: 'item-7', item: 'item-7', tries: 1, beganAt: null },
        { id: 'gone', tries: 1, beganAt: null },
        { id: 'item-3', item: 'item-3', tries: 1, beganAt: null },
      ],
    ]);
    expect(lines).toEqual([
      expect.stringContaining('was taken over; 1 done'),
      'resumed: 1 of 2,000 done, 3 were interrupted',
    ]);
    expect(summary).toMatchObject({ done: 1999, skipped: 1, interrupted: 3 });
    // Nobody will ever end an item that is no longer there.
    expect(read(path)).not.toHaveProperty('attempts');
    expect(read(path)).not.toHaveProperty('inProgress');
  });

  it('runs when it comes when they cannot', async () => {
    const path = statePath();
    writeFileSync(path, asOriginal(before));
    const ran: string[] = [];
    const summary = await runLoop(names(9).values(), path, (item) => void ran.push(item), fast);
    expect(ran).toEqual(names(9).slice(1));
    expect(summary).toMatchObject({ done: 8, skipped: 1, interrupted: 3 });
  });

  it('is not looked for without end', async () => {
    const path = statePath();
    writeFileSync(path, asOriginal(before));
    const endless = {
      *[Symbol.iterator]() {
        for (let n = 0; ; n++) yield `item-${n}`;
      },
    };
    const stop = new AbortController();
    const ran: string[] = [];
    const work = (item: string) => {
      if (ran.push(item) === 3) stop.abort();
    };
    expect(await runLoop(endless, path, work, { ...fast, signal: stop.signal })).toMatchObject({ done: 3 });
    expect(ran).toEqual(['item-3', 'item-7', 'item-1']);
    expect(read(path).attempts).toEqual([{ id: 'gone', tries: 1 }]);
  });

  it('that no longer comes is forgotten in one go, so that nothing of another loop is ended', async () => {
    const path = statePath();
    writeFileSync(path, asOriginal({ completed: [], failed: [], inProgress: ['x', 'y', 'z'] }));
    const state = await create(path);
    const first = runLoop([] as string[], path, () => 1, fast);
    // The other loop begins one as soon as the file says anything new about them.
    while (state.interrupted.length === 3) await sleep(0);
    for (const id of ['x', 'y', 'z']) state.begin(id);
    await first;
    for (const id of ['x', 'y', 'z']) await state.end(id, { status: 'success' });
    expect(state.completed).toEqual(['x', 'y', 'z']);
  });

  it('is not told when there is nothing', async () => {
    const onInterrupted = vi.fn();
    const log = vi.fn();
    await runLoop(names(2), statePath(), () => 1, { ...fast, onInterrupted, log });
    expect(onInterrupted).not.toHaveBeenCalled();
    expect(log).not.toHaveBeenCalled();
  });

  it('keeps the run from starting when its handler throws', async () => {
    const path = statePath();
    writeFileSync(path, asOriginal(before));
    const work = vi.fn();
    const onInterrupted = () => Promise.reject(new Error('cannot clean up'));
    await expect(runLoop(names(9), path, work, { ...fast, onInterrupted })).rejects.toThrow('cannot clean up');
    expect(work).not.toHaveBeenCalled();
    expect(read(path).inProgress).toEqual(before.inProgress);
  });
});

describe('progress', () => {
  it('counts, and says how long the rest will take', async () => {
    const told: Progress[] = [];
    const path = statePath();
    writeFileSync(path, asOriginal({ completed: ['item-0'], failed: [] }));
    const work = async (item: string) => {
      await sleep(10);
      if (item === 'item-2') throw new Error('bad');
      return item.length;
    };
    await runLoop(names(11), path, work, { ...fast, onProgress: (progress) => void told.push(progress) });
    expect(told).toHaveLength(10);
    expect(told[0]).toMatchObject({
      id: 'item-1',
      status: 'done',
      output: 6,
      done: 1,
      skipped: 1,
      total: 11,
      remaining: 9,
    });
    expect(told[1]).toMatchObject({ id: 'item-2', status: 'failed', reason: 'bad', done: 1, failed: 1, remaining: 8 });
    expect(told[4]?.etaMs).toBeGreaterThan(40);
    expect(told[9]).toMatchObject({ done: 9, failed: 1, remaining: 0, etaMs: 0 });
  });

  it('knows no end of items that do not say how many they are, unless told', async () => {
    const told: Progress[] = [];
    const onProgress = (progress: Progress) => void told.push(progress);
    await runLoop(names(1).values(), statePath(), () => 1, { ...fast, onProgress });
    await runLoop(names(1).values(), statePath(), () => 1, { ...fast, onProgress, total: 3 });
    expect(told[0]).not.toHaveProperty('etaMs');
    expect(told[1]).toMatchObject({ total: 3, remaining: 2 });
  });
});

describe('a run that is stopped', () => {
  it('waits for what it has begun, saves, and says so', async () => {
    const path = statePath();
    const stop = new AbortController();
    const ended: string[] = [];
    const work = async (item: string, { signal }: { signal: AbortSignal }) => {
      if (item === 'item-4') stop.abort();
      await sleep(20);
      ended.push(item);
      if (item === 'item-3') signal.throwIfAborted();
    };
    const summary = await runLoop(names(50), path, work, { ...fast, concurrency: 3, signal: stop.signal, retries: 5 });
    expect(summary).toMatchObject({ done: 4, outstanding: 1, failed: 0, stopped: 'signal' });
    expect(ended.sort()).toEqual(names(5));
    expect(read(path)).toEqual({ completed: expect.arrayContaining(['item-0', 'item-4']), failed: [] });
    expect(await runLoop(names(50), path, () => 1, fast)).toMatchObject({ done: 46, skipped: 4, stopped: null });
  });

  it('does not wait out a delay before a retry', async () => {
    const stop = new AbortController();
    const work = () => {
      setTimeout(() => stop.abort(), 20);
      throw new Error('x');
    };
    const options = { ...fast, retries: 3, retryDelayMs: 50_000, signal: stop.signal };
    expect(await runLoop(['a'], statePath(), work, options)).toMatchObject({ outstanding: 1, stopped: 'signal' });
  });

  it('does not wait for items that never come', async () => {
    const stop = new AbortController();
    async function* stuck() {
      yield 'a';
      await new Promise(() => undefined);
    }
    const work = () => void setTimeout(() => stop.abort(), 20);
    const summary = await runLoop(stuck(), statePath(), work, { ...fast, concurrency: 3, signal: stop.signal });
    expect(summary).toMatchObject({ done: 1, stopped: 'signal' });
  });

  it('before it began runs nothing, and lets generators clean up when it is stopped later', async () => {
    const work = vi.fn();
    const summary = await runLoop(names(5), statePath(), work, { ...fast, signal: AbortSignal.abort() });
    expect(summary).toMatchObject({ done: 0, stopped: 'signal' });
    expect(work).not.toHaveBeenCalled();
    const stop = new AbortController();
    const cleared = vi.fn(() => {
      throw new Error('nobody wants to know');
    });
    function* source() {
      try {
        yield* names(5);
      } finally {
        cleared();
      }
    }
    await runLoop(source(), statePath(), () => stop.abort(), { ...fast, signal: stop.signal });
    expect(cleared).toHaveBeenCalledOnce();
  });

  it('by SIGINT lets the signal have its way once everything is saved', async () => {
    const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
    const before = process.listenerCount('SIGINT');
    const path = statePath();
    const work = async (item: string) => {
      if (item === 'item-2') process.emit('SIGINT');
      await sleep(20);
      expect(kill).not.toHaveBeenCalled();
    };
    const runs = [path, statePath()].map((at) => runLoop(names(50), at, work, { ...fast, concurrency: 2 }));
    const summaries = await Promise.all(runs);
    expect(summaries.map(({ stopped }) => stopped)).toEqual(['SIGINT', 'SIGINT']);
    expect(kill).toHaveBeenCalledExactlyOnceWith(process.pid, 'SIGINT');
    expect(process.listenerCount('SIGINT')).toBe(before);
    expect(read(path)).toEqual({ completed: expect.arrayContaining(['item-0']), failed: [] });
    kill.mockRestore();
  });

  it('by its signal and then by SIGINT lets that have its way too, and later runs are none the worse', async () => {
    const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
    const stop = new AbortController();
    const work = async () => {
      stop.abort();
      process.emit('SIGINT');
      await sleep(20);
      expect(kill).not.toHaveBeenCalled();
    };
    const summary = await runLoop(names(3), statePath(), work, { ...fast, signal: stop.signal });
    expect(summary).toMatchObject({ done: 1, stopped: 'signal' });
    expect(kill).toHaveBeenCalledExactlyOnceWith(process.pid, 'SIGINT');
    const broken = () => {
      process.emit('SIGINT');
      throw new Error('bad listener');
    };
    await expect(runLoop(names(3), statePath(), () => 1, { ...fast, onProgress: broken })).rejects.toThrow(/bad/);
    expect(kill).toHaveBeenCalledTimes(2);
    kill.mockRestore();
  });

  it('leaves SIGINT to a program that listens to it, also where the store does not', async () => {
    const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
    const mine = vi.fn();
    process.on('SIGINT', mine);
    const work = () => void process.emit('SIGINT');
    const summary = await runLoop(names(2), statePath(), work, { ...fast, exit: { signals: [] } });
    process.off('SIGINT', mine);
    expect(summary).toMatchObject({ done: 2, stopped: null });
    expect(mine).toHaveBeenCalledTimes(2);
    expect(kill).not.toHaveBeenCalled();
    kill.mockRestore();
  });

  it('leaves no listener behind', async () => {
    const listeners = process.listenerCount('SIGINT');
    await runLoop(names(2), statePath(), () => expect(process.listenerCount('SIGINT')).toBe(listeners + 2), fast);
    expect(process.listenerCount('SIGINT')).toBe(listeners);
  });
});

describe('a run that cannot go on', () => {
  it('rejects with what the items threw, once everything begun has ended', async () => {
    const path = statePath();
    function* source() {
      yield* names(3);
      throw new Error('the list is broken');
    }
    const work = () => sleep(20);
    await expect(runLoop(source(), path, work, { ...fast, concurrency: 4 })).rejects.toThrow('the list is broken');
    expect(read(path)).toEqual({ completed: names(3), failed: [] });
  });

  it.each([
    ['no key', [{ name: 'a' }], {}],
    ['a key that is no string', [{ name: 'a' }], { key: () => 7 as never }],
    ['an empty key', [''], {}],
  ])('rejects items with %s', async (_, items, options) => {
    await expect(runLoop<unknown>(items, statePath(), () => 1, { ...fast, ...options })).rejects.toThrow(TypeError);
  });

  it('rejects when a listener to progress throws; the item is done', async () => {
    const path = statePath();
    const onProgress = () => {
      throw new Error('bad listener');
    };
    await expect(runLoop(names(3), path, () => 1, { ...fast, onProgress })).rejects.toThrow('bad listener');
    expect(read(path).completed).toEqual(['item-0']);
  });

  it('rejects when a listener to progress rejects, too', async () => {
    const onProgress = async () => {
      await sleep(1);
      throw new Error('bad listener');
    };
    await expect(runLoop(names(3), statePath(), () => 1, { ...fast, onProgress })).rejects.toThrow('bad listener');
  });

  it('leaves nothing behind when what was to be told first throws', async () => {
    const path = statePath();
    const bad = () => {
      throw new Error('bad listener');
    };
    writeFileSync(path, asOriginal({ completed: ['a'], failed: [], inProgress: 'b' }));
    const listeners = process.listenerCount('exit');
    await expect(runLoop(['a', 'b'], path, () => 1, { ...fast, onRecovered: bad })).rejects.toThrow('bad listener');
    expect(process.listenerCount('exit')).toBe(listeners);
    const stop = new AbortController();
    const removed = vi.spyOn(stop.signal, 'removeEventListener');
    const options = { ...fast, signal: stop.signal, onInterrupted: bad };
    await expect(runLoop(['a', 'b'], path, () => 1, options)).rejects.toThrow('bad listener');
    expect(removed).toHaveBeenCalledWith('abort', expect.any(Function));
    expect(process.listenerCount('exit')).toBe(listeners);
  });

  it.each([
    { concurrency: 0 },
    { retries: -1 },
    { retryDelayMs: Number.NaN },
    { signal: {} },
    { key: 'id' },
    { onProgress: 1 },
    { total: 1.5 },
    { backups: 99 },
    { nonsense: 1 },
  ])('rejects %o as misuse before anything is made', async (options) => {
    const path = statePath();
    await expect(runLoop(names(1), path, () => 1, { ...fast, ...options } as never)).rejects.toThrow(TypeError);
    expect(read(path)).toEqual({});
  });

  it('rejects what is no list and what is no function', async () => {
    await expect(runLoop(7 as never, statePath(), () => 1, fast)).rejects.toThrow(TypeError);
    await expect(runLoop('abc' as never, statePath(), () => 1, fast)).rejects.toThrow(TypeError);
    await expect(runLoop([], statePath(), 'x' as never, fast)).rejects.toThrow(TypeError);
  });
});
