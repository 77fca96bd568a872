// What can be seen of a running store from outside, and no more than that.

import { expect, it } from 'vitest';
import { isLoopLike, LoopWatch } from '../../src/inspect/loop-watch.js';
import { Pulse } from '../../src/inspect/pulse.js';
import { Truth } from '../../src/truth.js';
import { flip, folder, hiddenFiles, Life, LOOP } from './support.js';

class Writer {
  readonly directory = folder();
  nowMs = Date.UTC(2026, 10, 18);
  readonly truth = new Truth(this.directory, { now: () => this.nowMs });
  readonly loop = this.truth.doc('loop', { initial: { completed: [] as string[], failed: [] as unknown[] } });

  end(item: string, afterMs: number): void {
    this.nowMs += afterMs;
    this.loop.update((draft) => void draft.completed.push(item));
  }

  get now(): Date {
    return new Date(this.nowMs);
  }
}

it('commits and bytes are counted from one look to the next', () => {
  const writer = new Writer();
  const pulse = new Pulse(writer.directory);
  expect(pulse.look(writer.now)).toMatchObject({ lastSeq: 1, commitsPerSec: 0, bytesPerSec: 0, gap: null });
  for (let n = 0; n < 10; n++) writer.end(`item-${n}`, 200);
  const beat = pulse.look(writer.now);
  expect(beat).toMatchObject({ lastSeq: 11, commitsPerSec: 5 });
  expect(beat.bytesPerSec).toBeGreaterThan(100);
  expect(beat.commits.map(({ seq }) => seq)).toEqual([11, 10, 9, 8, 7, 6, 5, 4, 3, 2]);
  writer.nowMs += 1000;
  expect(pulse.look(writer.now)).toMatchObject({ commitsPerSec: 0, bytesPerSec: 0, commits: [] });
  writer.truth.close();
});

it('a commit is on disk at the latest when a later one says so; the quickest counts', () => {
  const writer = new Writer();
  writer.truth.flush();
  const pulse = new Pulse(writer.directory);
  pulse.look(writer.now);
  // Nobody says anything of these two yet.
  writer.end('a', 1000);
  writer.end('b', 30);
  expect(pulse.look(writer.now)).toMatchObject({ onDiskWithinMs: expect.anything(), lagMs: 30 });
  writer.truth.flush();
  writer.end('c', 4);
  // 'b' took less than 5 ms, 'a' less than 35.
  expect(pulse.look(writer.now)).toMatchObject({ onDiskWithinMs: 5, lagMs: 0 });
  writer.nowMs += 500;
  expect(pulse.look(writer.now)).toMatchObject({ onDiskWithinMs: null, lagMs: 500 });
  writer.truth.mark();
  const beat = pulse.look(writer.now);
  expect(beat).toMatchObject({ lagMs: 0, durableSeq: beat.lastSeq });
  writer.truth.close();
});

it('what cannot be read is named', () => {
  const life = new Life();
  life.make('loop', LOOP);
  for (let n = 0; n < 20; n++) life.item(n);
  life.truth.flush();
  const [tail = ''] = hiddenFiles(life.directory, '.tail');
  life.truth.close();
  flip(tail, 1500);
  const { gap } = new Pulse(life.directory).look();
  expect(gap).not.toBeNull();
});

it('the progress of a loop is known at the first look, from when its items ended', () => {
  const writer = new Writer();
  for (let n = 0; n < 11; n++) writer.end(`item-${n}`, 2000);
  const pulse = new Pulse(writer.directory);
  const watch = new LoopWatch('loop');
  const { state } = writer.loop;
  const first = watch.look(
    { ...state, completed: [...state.completed], failed: [], inProgress: 'next', total: 20 },
    pulse.look(writer.now).commits,
    writer.now,
  );
  expect(first).toMatchObject({ completed: 11, failed: 0, total: 20, inProgress: ['next'] });
  expect(first.perSec).toBeCloseTo(0.5, 1);
  const between = { ...state, completed: [...state.completed], failed: [] };
  expect(watch.look(between, [], writer.now).total).toBe(20);
  const put = { kind: 'put' as const, path: ['total'], value: 40 };
  const document = { kind: 'document' as const, name: 'loop', fromVersion: 1, version: 2, changes: [put] };
  const begun = [{ seq: 2, time: writer.now, documents: [document] }];
  expect(new LoopWatch('loop').look(between, begun as never, writer.now).total).toBe(40);
  expect(
    watch.look({ ...state, completed: [...state.completed], failed: [], total: 3 }, [], writer.now).total,
  ).toBeNull();
  // It hangs, and is seen to.
  writer.nowMs += 200_000;
  expect(watch.look(state as never, [], writer.now).perSec).toBeCloseTo(10 / 220, 2);
  writer.nowMs += 600_000;
  expect(watch.look(state as never, [], writer.now).perSec).toBeNull();
  writer.truth.close();
});

it('only what has the shape of a loop is one', () => {
  expect(isLoopLike({ completed: [], failed: [] })).toBe(true);
  expect(isLoopLike({ completed: [], failed: [], inProgress: 'a', attempts: [], total: 3 })).toBe(true);
  expect(isLoopLike({ completed: [], failed: [], other: 1 })).toBe(false);
  expect(isLoopLike({ completed: {}, failed: [] })).toBe(false);
  expect(isLoopLike([])).toBe(false);
  expect(isLoopLike(undefined)).toBe(false);
});
