import { writeFileSync } from 'node:fs';
import { expect, it, vi } from 'vitest';
import { Glitch, resumable } from '../../src/loop/index.js';
import { asOriginal, collect, create, fast, read, statePath } from './support.js';

it('gives every item that is not done, once', async () => {
  const path = statePath();
  writeFileSync(path, asOriginal({ completed: ['a'], failed: [{ id: 'b', reason: 'x' }], inProgress: 'd' }));
  const ran: string[] = [];
  const outputs: unknown[] = [];
  const options = { ...fast, onProgress: ({ output }: { output?: unknown }) => void outputs.push(output) };
  for await (const job of resumable(['a', 'b', 'c', 'd', 'e'], path, options)) {
    ran.push(job.item);
    await job.done(job.id.toUpperCase());
  }
  expect(ran).toEqual(['d', 'c', 'e']);
  expect(outputs).toEqual(['D', 'C', 'E']);
  expect(read(path)).toEqual({ completed: ['a', 'd', 'c', 'e'], failed: [{ id: 'b', reason: 'x' }] });
  expect(await collect(resumable(['a', 'b', 'c', 'd', 'e'], path, fast))).toEqual([]);
});

it('gives a job that failed again, then records it', async () => {
  const path = statePath();
  const seen: string[] = [];
  for await (const job of resumable([{ id: 'a' }, { id: 'b' }], path, { ...fast, retries: 2 })) {
    seen.push(`${job.item.id}${job.attempt}`);
    if (job.id === 'a' && job.attempt < 3) await job.failed(new Error('later'));
    else if (job.id === 'a') await job.done();
    else await job.failed('never');
  }
  expect(seen).toEqual(['a1', 'a2', 'a3', 'b1', 'b2', 'b3']);
  expect(read(path)).toEqual({ completed: ['a'], failed: [{ id: 'b', reason: 'never' }] });
});

it('leaves a glitch outstanding', async () => {
  const path = statePath();
  for await (const job of resumable(['a', 'b', 'a'], path, fast)) await (job.id === 'a' ? job.glitch() : job.done());
  expect(read(path)).toEqual({ completed: ['b'], failed: [] });
});

it('takes one result per job, and wants one', async () => {
  const path = statePath();
  for await (const job of resumable(['a', 'b'], path, { ...fast, retries: 1 })) {
    await (job.attempt === 1 ? job.failed('slow') : job.done());
    await expect(job.done()).rejects.toMatchObject({ code: 'HF_LOOP', details: { id: job.id } });
  }
  const careless = async () => {
    for await (const job of resumable(['a', 'b', 'c', 'd'], path, fast)) if (job.id !== 'd') void job.done();
  };
  await expect(careless()).rejects.toMatchObject({
    code: 'HF_LOOP',
    message: expect.stringContaining("'d' got no result"),
  });
  expect(read(path)).toMatchObject({ completed: ['a', 'b', 'c'], inProgress: 'd' });
});

it.each(['break', 'throw'])(
  'keeps the job in hand in progress after a %s, and gives it first next time',
  async (how) => {
    const path = statePath();
    const body = async () => {
      for await (const job of resumable(['a', 'b', 'c'], path, fast)) {
        if (job.id === 'b' && how === 'break') break;
        if (job.id === 'b') throw new Error('the body failed');
        await job.done();
      }
    };
    if (how === 'break') await body();
    else await expect(body()).rejects.toThrow('the body failed');
    expect(read(path)).toMatchObject({ completed: ['a'], inProgress: 'b' });
    const onInterrupted = vi.fn();
    const ran: string[] = [];
    for await (const job of resumable(['c', 'a', 'b'], path, { ...fast, onInterrupted })) {
      ran.push(job.id);
      await job.done();
    }
    expect(ran).toEqual(['b', 'c']);
    expect(onInterrupted).toHaveBeenCalledExactlyOnceWith([
      { id: 'b', item: 'b', tries: 1, beganAt: expect.any(Date) },
    ]);
  },
);

it('ends after the job in hand when it is stopped', async () => {
  const path = statePath();
  const stop = new AbortController();
  for await (const job of resumable(['a', 'b', 'c'], path, { ...fast, signal: stop.signal })) {
    if (job.id === 'b') stop.abort();
    await job.done();
  }
  expect(read(path)).toEqual({ completed: ['a', 'b'], failed: [] });
  const again = new AbortController();
  const options = { ...fast, retries: 3, retryDelayMs: 50_000, signal: again.signal };
  for await (const job of resumable(['c'], path, options)) {
    await job.failed('x');
    setTimeout(() => again.abort(), 20);
  }
  expect(read(path)).toEqual({ completed: ['a', 'b'], failed: [] });
});

it('records nothing of a job that failed because it was stopped', async () => {
  const path = statePath();
  const stop = new AbortController();
  for await (const job of resumable(['a', 'b'], path, { ...fast, signal: stop.signal })) {
    stop.abort();
    await job.failed(stop.signal.reason);
  }
  expect(read(path)).toEqual({ completed: [], failed: [] });
  expect((await collectIds(path)).sort()).toEqual(['a', 'b']);
});

it('tries a job that failed by a glitch again, and then records nothing', async () => {
  const path = statePath();
  const seen: number[] = [];
  for await (const job of resumable(['a'], path, { ...fast, retries: 1 })) {
    seen.push(job.attempt);
    await job.failed(new Glitch('rate limit'));
  }
  expect(seen).toEqual([1, 2]);
  expect(read(path)).toEqual({ completed: [], failed: [] });
});

it('gives the job that it left first next time, also where somebody has the state open all the time', async () => {
  const path = statePath();
  const state = await create(path);
  for await (const job of resumable(['a', 'b'], path, fast)) {
    expect(job.id).toBe('a');
    break;
  }
  expect(state.isRunning('a')).toBe(false);
  expect(state.interrupted).toEqual([{ id: 'a', tries: 1, beganAt: expect.any(Date) }]);
  expect(await collectIds(path, ['b', 'a'])).toEqual(['a', 'b']);
});

async function collectIds(path: string, items = ['a', 'b']): Promise<string[]> {
  const ids: string[] = [];
  for await (const job of resumable(items, path, fast)) {
    ids.push(job.id);
    await job.done();
  }
  return ids;
}
