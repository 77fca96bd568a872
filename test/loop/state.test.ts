import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { LoopState, type Recovered } from '../../src/loop/index.js';
import type { LoopResult } from '../../src/loop/shape.js';
import { asOriginal, create, read, statePath, workersUrl } from './support.js';

describe('the file', () => {
  it('is empty lists for a new loop', async () => {
    const path = statePath();
    await using state = await create(path);
    await state.close();
    expect(readFileSync(path, 'utf8')).toBe(asOriginal({ completed: [], failed: [] }));
  });

  it('has the three keys and nothing else once nothing is in progress', async () => {
    const path = statePath();
    const state = await create(path);
    for (const id of ['a', 'b', 'c']) state.begin(id);
    await state.end('a', { status: 'success', output: 'not kept' });
    await state.end('b', { status: 'error', reason: 'no such file' });
    await state.end('c', { status: 'glitch', reason: 'rate limit' });
    await state.close();
    const failed = [{ id: 'b', reason: 'no such file' }];
    expect(readFileSync(path, 'utf8')).toBe(asOriginal({ completed: ['a'], failed }));
  });

  it('names one item in progress by a string and several by an array', async () => {
    const path = statePath();
    const state = await create(path);
    expect(state.inProgress).toBeUndefined();
    state.begin('a');
    expect(state.inProgress).toBe('a');
    state.begin('b');
    expect(state.inProgress).toEqual(['a', 'b']);
    await state.end('a', { status: 'success' });
    expect(state.inProgress).toBe('b');
    await state.close();
    expect(read(path)).toMatchObject({ completed: ['a'], failed: [], inProgress: 'b' });
  });

  it('that another program wrote is taken over', async () => {
    const path = statePath();
    writeFileSync(path, asOriginal({ completed: ['a'], failed: [{ id: 'b', reason: 'bad' }], inProgress: 'c' }));
    const state = await create(path);
    expect([state.isDone('a'), state.isDone('b'), state.isDone('c')]).toEqual([true, true, false]);
    expect(state.inProgress).toBe('c');
    expect(state.interrupted).toEqual([{ id: 'c', tries: 1, beganAt: null }]);
    state.begin('c');
    await state.end('c', { status: 'success' });
    await state.close();
    expect(readFileSync(path, 'utf8')).toBe(
      asOriginal({ completed: ['a', 'c'], failed: [{ id: 'b', reason: 'bad' }] }),
    );
  });

  it('may leave out lists, and keep more about a failure', async () => {
    const path = statePath();
    writeFileSync(path, asOriginal({ failed: [{ id: 'b', reason: 'bad', cost: 3 }] }));
    const state = await create(path);
    expect(state.completed).toEqual([]);
    await state.close();
    expect(read(path)).toEqual({ completed: [], failed: [{ id: 'b', reason: 'bad', cost: 3 }] });
  });

  it.each([
    ['another version of the project', { version: 2, results: { a: { status: 'success' } }, claims: {} }],
    ['lists of something else', { completed: [1, 2], failed: [] }],
  ])('of %s is refused and not touched: it is not taken for one in which nothing is done', async (_, other) => {
    const path = statePath();
    writeFileSync(path, asOriginal(other));
    await expect(create(path)).rejects.toMatchObject({ code: 'HF_SCHEMA' });
    expect(readFileSync(path, 'utf8')).toBe(asOriginal(other));
  });

  it('the file says how many items there are while one is in progress, where that is known', async () => {
    const path = statePath();
    const state = await create(path, { total: 3 });
    state.begin('a');
    await state.close();
    expect(read(path)).toMatchObject({ inProgress: 'a', total: 3 });
    const again = await create(path);
    await again.end('a', { status: 'success' });
    await again.close();
    expect(read(path)).toEqual({ completed: ['a'], failed: [] });
  });

  it('of ours is read by the project that it comes from, which reads past what it does not know', async () => {
    const path = statePath();
    const state = await create(path);
    state.begin('a');
    await state.end('a', { status: 'success' });
    state.begin('b');
    await state.close();
    const { completed, failed, inProgress } = read(path);
    expect({ completed, failed, inProgress }).toEqual({ completed: ['a'], failed: [], inProgress: 'b' });
    expect(read(path).attempts).toEqual([{ id: 'b', tries: 1, beganAt: expect.any(String) }]);
  });
});

describe('items', () => {
  it('that completed never run again, also when an earlier failure of them is reopened', async () => {
    const path = statePath();
    writeFileSync(path, asOriginal({ completed: ['a'], failed: [{ id: 'a', reason: 'at first' }] }));
    const state = await create(path);
    state.reopen();
    expect([state.isDone('a'), state.failed]).toEqual([true, []]);
  });

  it('are outstanding until they completed or failed', async () => {
    const state = await create(statePath());
    const seen = async (id: string, result: LoopResult) => {
      state.begin(id);
      expect([state.isOutstanding(id), state.isDone(id), state.isRunning(id)]).toEqual([true, false, true]);
      await state.end(id, result);
      return state.isOutstanding(id);
    };
    expect(await seen('a', { status: 'success' })).toBe(false);
    expect(await seen('b', { status: 'error', reason: 'x' })).toBe(false);
    expect(await seen('c', { status: 'failure', reason: 'y' })).toBe(false);
    expect(await seen('d', { status: 'glitch' })).toBe(true);
    expect(await seen('d', { status: 'success' })).toBe(false);
    expect(state.completed).toEqual(['a', 'd']);
    expect(state.failed).toEqual([
      { id: 'b', reason: 'x' },
      { id: 'c', reason: 'y' },
    ]);
  });

  it.each(['__proto__', 'constructor', 'a/b\n"c"', '\ud800', 'é'])('may be called %j', async (id) => {
    const path = statePath();
    const state = await create(path);
    expect(state.isDone(id)).toBe(false);
    state.begin(id);
    await state.end(id, { status: 'success' });
    await state.close();
    const again = await create(path);
    expect(again.isDone(id)).toBe(true);
    expect(again.completed).toEqual([id]);
  });

  it('that failed become outstanding by reopen', async () => {
    const state = await create(statePath());
    for (const id of ['a', 'b', 'c']) {
      state.begin(id);
      await state.end(id, { status: 'error', reason: id });
    }
    state.reopen(['b']);
    expect(state.failed.map(({ id }) => id)).toEqual(['a', 'c']);
    state.begin('b');
    await state.end('b', { status: 'success' });
    state.reopen();
    state.reopen();
    expect(state.failed).toEqual([]);
    expect([state.isDone('a'), state.isDone('b')]).toEqual([false, true]);
    expect(() => state.reopen(['b'])).toThrow(expect.objectContaining({ code: 'HF_LOOP' }));
  });

  it('count their tries over several runs, with the last time', async () => {
    const path = statePath();
    for (let run = 1; run <= 3; run++) {
      const state = await create(path);
      expect(state.interrupted.map(({ tries }) => tries)).toEqual(run === 1 ? [] : [run - 1]);
      if (run > 1) expect(Date.now() - (state.interrupted[0]?.beganAt?.getTime() ?? 0)).toBeLessThan(30_000);
      state.begin('a');
      expect(state.interrupted).toEqual([]);
      await state.close();
    }
    const state = await create(path);
    state.begin('a');
    state.beginAgain('a');
    await state.flush();
    expect(() => state.beginAgain('b')).toThrow(expect.objectContaining({ code: 'HF_LOOP' }));
    await state.close();
    expect(read(path).attempts).toMatchObject([{ id: 'a', tries: 5 }]);
  });

  it('that were interrupted stay known while others are worked on, and may be ended without beginning them', async () => {
    const path = statePath();
    writeFileSync(path, asOriginal({ completed: [], failed: [], inProgress: ['a', 'b'] }));
    const first = await create(path);
    first.begin('c');
    expect(first.inProgress).toBe('c');
    await first.close();
    const second = await create(path);
    expect(second.interrupted.map(({ id }) => id).sort()).toEqual(['a', 'b', 'c']);
    await second.end('b', { status: 'success' });
    await second.end('a', { status: 'glitch' });
    await second.end('c', { status: 'glitch' });
    await second.close();
    expect(read(path)).toEqual({ completed: ['b'], failed: [] });
  });

  it('that a file names as done and in progress are done', async () => {
    const path = statePath();
    writeFileSync(path, asOriginal({ completed: ['a'], failed: [], inProgress: 'a' }));
    const state = await create(path);
    expect(state.interrupted).toEqual([]);
    expect(() => state.begin('a')).toThrow(expect.objectContaining({ code: 'HF_LOOP' }));
  });

  it('are found as fast among 200,000 as among ten', async () => {
    const path = statePath();
    const completed = Array.from({ length: 200_000 }, (_, n) => `item-${n}`);
    writeFileSync(path, asOriginal({ completed, failed: [] }));
    const state = await create(path);
    const startMs = performance.now();
    let done = 0;
    for (let n = 0; n < 400_000; n++) done += Number(state.isDone(`item-${n}`));
    expect(done).toBe(200_000);
    // A search through the list would take minutes.
    expect(performance.now() - startMs).toBeLessThan(5000);
  });
});

describe('misuse', () => {
  it('is refused, and changes nothing', async () => {
    const state = await create(statePath());
    state.begin('a');
    expect(() => state.begin('a')).toThrow(expect.objectContaining({ code: 'HF_LOOP', details: { id: 'a' } }));
    await state.end('a', { status: 'success' });
    expect(() => state.begin('a')).toThrow(/completed/);
    await expect(state.end('a', { status: 'success' })).rejects.toThrow(/has ended/);
    await expect(state.end('b', { status: 'success' })).rejects.toThrow(/never begun/);
    state.begin('c');
    await state.end('c', { status: 'error', reason: 'x' });
    expect(() => state.begin('c')).toThrow(/failed; reopen/);
    expect(state.completed).toEqual(['a']);
    expect(state.failed).toHaveLength(1);
    expect(state.inProgress).toBeUndefined();
  });

  it('of types is a TypeError', async () => {
    const state = await create(statePath());
    for (const id of ['', 7, undefined, null]) expect(() => state.begin(id as string)).toThrow(TypeError);
    state.begin('a');
    const wrong = [
      undefined,
      null,
      'success',
      {},
      { status: 'ok' },
      { status: 'error' },
      { status: 'failure', reason: 1 },
    ];
    for (const result of wrong) await expect(state.end('a', result as LoopResult)).rejects.toThrow(TypeError);
    expect(state.isRunning('a')).toBe(true);
    await expect(LoopState.create('')).rejects.toThrow(TypeError);
    await expect(LoopState.create(statePath(), { workersUrl, nonsense: 1 } as never)).rejects.toThrow(TypeError);
  });

  it('after close is refused; closing twice is not', async () => {
    const path = statePath();
    const state = await create(path);
    const other = await create(path);
    await state.close();
    await state.close();
    // Closing one twice does not close the other.
    other.begin('a');
    await other.end('a', { status: 'success' });
    expect(state.isDone('a')).toBe(true);
    await other.close();
    expect(() => state.begin('b')).toThrow(expect.objectContaining({ code: 'HF_CLOSED' }));
  });
});

describe('a file that was damaged', () => {
  async function saved(path: string): Promise<void> {
    const state = await create(path);
    for (const id of ['a', 'b']) {
      state.begin(id);
      await state.end(id, { status: 'success' });
    }
    await state.close();
  }

  it.each([
    ['empty', (path: string) => writeFileSync(path, ''), 'empty'],
    ['cut', (path: string) => writeFileSync(path, readFileSync(path).subarray(0, 20)), 'unparseable'],
    ['gone', (path: string) => rmSync(path), 'missing'],
  ])('(%s) heals from what is saved, and says so', async (_, harm, found) => {
    const path = statePath();
    await saved(path);
    harm(path);
    const heard: Recovered[] = [];
    const lines: string[] = [];
    const state = await create(path, { onRecovered: (one) => heard.push(one), log: (line) => lines.push(line) });
    expect(heard).toMatchObject([{ path, found }]);
    expect(lines).toEqual([heard[0]?.message]);
    expect(lines[0]).toMatch(/^recovered: .*state\.json was .*Nothing is lost; 2 done$/);
    expect(state.completed).toEqual(['a', 'b']);
    await state.close();
    expect(read(path)).toEqual({ completed: ['a', 'b'], failed: [] });
  });

  it.each(['', '{"completed": ["a", '])(
    'with nothing saved beside it (%j) is refused with the ways out',
    async (text) => {
      const path = statePath();
      writeFileSync(path, text);
      await expect(create(path)).rejects.toMatchObject({
        code: 'HF_DAMAGED',
        message: expect.stringMatching(/Nothing was touched.*Mend the file, or move it away to begin anew/),
      });
      expect(readFileSync(path, 'utf8')).toBe(text);
      writeFileSync(`${path}.bak1`, '{"completed": [');
      writeFileSync(`${path}.bak2`, asOriginal({ completed: ['a'], failed: [], inProgress: 'b' }));
      writeFileSync(`${path}.bak3`, asOriginal({ completed: [], failed: [] }));
      await expect(create(path)).rejects.toThrow(/onDamage: 'backup' to take .*state\.json\.bak2/);
      const heard: Recovered[] = [];
      const state = await create(path, { onDamage: 'backup', onRecovered: (one) => heard.push(one) });
      expect(heard).toMatchObject([{ found: 'backup' }]);
      expect(state.completed).toEqual(['a']);
      expect(state.inProgress).toBe('b');
    },
  );

  it('and one that somebody else changed: refused, or taken over when asked', async () => {
    const path = statePath();
    await saved(path);
    writeFileSync(path, asOriginal({ completed: ['a', 'b', 'z'], failed: [] }));
    await expect(create(path)).rejects.toMatchObject({ code: 'HF_DRIFT' });
    const state = await create(path, { onDrift: 'adopt' });
    expect(state.isDone('z')).toBe(true);
  });
});
