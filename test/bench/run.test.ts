// One question for real, in small: only that figures come out, never which.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { compiled, moduleAt } from '../../bench/compiled.js';
import { DRIVERS, driverOf } from '../../bench/drivers/index.js';
import type { Context } from '../../bench/question.js';
import { threads } from '../../bench/questions/threads.js';
import { inRounds } from '../../bench/rounds.js';
import { run as runProgram } from '../support/process-child.js';

const scratch = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
const seen: string[] = [];
const context: Context = {
  ...{ isQuick: true, rivals: [], scratch, soakS: 1 },
  onProgress: (_done, _total, what) => seen.push(what),
};

afterAll(() => rmSync(scratch, { recursive: true, force: true }));

it('the smallest question is answered', async () => {
  const { tables, failures, charts } = await threads.run(context);
  expect(failures).toEqual([]);
  const figures = tables.flatMap((table) => table.figures);
  expect(new Set(figures.map(({ subject }) => subject))).toEqual(new Set(['nothing', 'holdfast']));
  for (const { rounds, metric } of figures) {
    expect(rounds, metric).toHaveLength(3);
    const least = metric.startsWith('pool') ? 0 : Number.MIN_VALUE;
    for (const value of rounds) expect(value, metric).toBeGreaterThanOrEqual(least);
  }
  expect(charts.length).toBeGreaterThan(0);
  expect(seen.length).toBeGreaterThan(0);
}, 30_000);

it('threads of the pool are seen when they have something to do, and only then', async () => {
  const { stdout, stderr } = await runProgram(`
    import { readFile } from 'node:fs/promises';
    import { poolThreads, timesRun } from ${JSON.stringify(compiled(moduleAt('pool')))};
    const threads = await poolThreads();
    const idle = timesRun(threads);
    for (const end = performance.now() + 100; performance.now() < end; );
    await new Promise((resolve) => setTimeout(resolve, 100));
    const after = timesRun(threads) - idle;
    for (let n = 0; n < 20; n++) await readFile('/proc/self/stat');
    console.log(threads.length, after, timesRun(threads) - idle >= 20);
  `);
  expect(stdout, stderr).toBe('4 0 true\n');
});

it('a subject that fails is named, and the others go on', async () => {
  const seat = (way: string) => ({ subject: way, at: '', start: { way, items: 10, iterations: 5 }, order: null });
  const module = moduleAt('micro/hand-over');
  const outcome = await inRounds(module, 'prepareHandOver', ['by pigeon', 'JSON.stringify'].map(seat), context, 2);
  expect(outcome.failures).toEqual([expect.stringContaining('by pigeon : ended with 1: TypeError: Expected one of')]);
  expect(outcome.played.map(({ seat: { subject }, rounds }) => [subject, rounds.length])).toEqual([
    ['JSON.stringify', 2],
  ]);
});

it('measured processes run what is compiled', () => {
  expect(compiled(moduleAt('child'))).toMatch(/\/\.build\/bench\/child\.js$/);
});

it('subjects have different names', () => {
  expect(new Set(DRIVERS.map(({ id }) => id)).size).toBe(DRIVERS.length);
  expect(() => driverOf('redis')).toThrow(TypeError);
});
