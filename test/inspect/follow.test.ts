import { readFileSync, renameSync, rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type FollowOptions, follow, type HistoryStep, inspect } from '../../src/inspect/index.js';
import { all, flip, folder, hiddenFiles, Life, LOOP } from './support.js';

/** Gathers steps until there are `count`, then stops following. */
function following(path: string, count: number, options: FollowOptions = {}) {
  const stop = new AbortController();
  const steps: HistoryStep[] = [];
  const ended = (async () => {
    for await (const step of follow(path, { intervalMs: 5, signal: stop.signal, ...options })) {
      steps.push(step);
      if (steps.length === count) stop.abort();
    }
    return steps.map((step) => (step.kind === 'gap' ? step : step.seq));
  })();
  return { ended, stop };
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 20));

describe('follow', () => {
  it('gives each commit once and in order, through rotation, compaction and another opening', async () => {
    const life = new Life();
    life.make('loop', LOOP);
    const { ended } = following(life.directory, 40, { since: 0 });
    for (let n = 2; n <= 40; n++) {
      life.item(n);
      if (n % 9 === 0) life.truth.rotate();
      if (n === 15 || n === 25) life.truth.compact();
      if (n === 30) life.reopen('abandon');
      if (n === 35) life.reopen('close');
      if (n % 3 === 0) await pause();
    }
    expect(await ended).toEqual(Array.from({ length: 40 }, (_, index) => index + 1));
    life.truth.close();
  });

  it('begins with what is to come, and can be of one document', async () => {
    const life = new Life();
    life.make('loop', LOOP);
    life.make('other', LOOP);
    const now = following(life.directory, 2);
    const other = following(life.directory, 1, { doc: 'other' });
    await pause();
    life.item(3);
    life.item(4, 'other');
    expect(await now.ended).toEqual([3, 4]);
    expect(await other.ended).toEqual([4]);
    life.truth.close();
  });

  it('says what was compacted away before it came to it', async () => {
    const life = new Life();
    life.make('loop', LOOP);
    for (let n = 2; n <= 9; n++) {
      life.item(n);
      if (n === 4 || n === 6 || n === 8) life.truth.compact();
    }
    const [first] = (await all(life.directory)).slice(-1);
    const oldest = (first as { seq: number }).seq;
    expect(oldest).toBeGreaterThan(1);
    expect(await following(life.directory, 2, { since: 0 }).ended).toEqual([
      { kind: 'gap', from: 1, to: oldest - 1 },
      oldest,
    ]);
    life.truth.close();
  });

  it('passes over what is damaged and says so, and goes on behind it', async () => {
    const life = new Life();
    life.make('loop', LOOP);
    for (let n = 2; n <= 9; n++) life.item(n);
    life.truth.rotate();
    for (let n = 10; n <= 12; n++) life.item(n);
    const [first] = hiddenFiles(life.directory, '.tail') as [string];
    flip(first, Math.floor(readFileSync(first).indexOf('item-5')));
    const expected = [1, 2, 3, 4, { kind: 'gap', from: 5, to: 5 }, 6, 7, 8, 9, 10, 11, 12, 13];
    const { ended } = following(life.directory, expected.length, { since: 0 });
    await pause();
    life.item(13);
    expect(await ended).toEqual(expected);
    rmSync(first);
    const gone = following(life.directory, 2, { since: 0 });
    expect(await gone.ended).toEqual([{ kind: 'gap', from: 1, to: 9 }, 10]);
    life.truth.close();
  });

  it('ends when the store is removed, or another one is in its place', async () => {
    const [one, other] = [new Life(), new Life()];
    for (const life of [one, other]) {
      life.make('loop', LOOP);
      life.truth.close();
    }
    const removed = following(one.directory, 1);
    const replaced = following(other.directory, 1);
    await pause();
    rmSync(other.directory, { recursive: true });
    renameSync(one.directory, other.directory);
    await Promise.all([
      expect(removed.ended).rejects.toMatchObject({ code: 'HF_MISSING', message: expect.stringMatching(/any more/) }),
      expect(replaced.ended).rejects.toMatchObject({ code: 'HF_MISSING', message: expect.stringMatching(/another/) }),
    ]);
  });

  it('ends when it is told to, also while nothing happens, and refuses nonsense', async () => {
    const life = new Life();
    life.make('loop', LOOP);
    const { ended, stop } = following(life.directory, 1, { intervalMs: 60_000 });
    await pause();
    stop.abort();
    expect(await ended).toEqual([]);
    life.truth.close();
    for (const options of [{ intervalMs: 0 }, { since: -1 }, { since: 0.5 }])
      await expect(following(life.directory, 1, options).ended).rejects.toThrow(/Expected `(intervalMs|since)`/);
    await expect(following(folder(), 1).ended).rejects.toMatchObject({ code: 'HF_MISSING' });
  });
});

describe('inspect', () => {
  it('says what there is of a damaged store, too', async () => {
    const life = new Life();
    life.make('loop', LOOP);
    life.truth.log('events').append({ n: 1 });
    for (let n = 3; n <= 9; n++) life.item(n);
    life.truth.close();
    const { directory } = life;
    expect(await inspect(directory)).toMatchObject({
      health: { kind: 'sound' },
      owner: { kind: 'nobody' },
      documents: [{ name: 'loop', version: 8, file: 'missing', bytes: 0, backups: [] }],
      logs: [{ name: 'events', entries: 1 }],
      last: { seq: 9, time: new Date(life.nowMs) },
      durableSeq: 9,
      generations: [{ kind: 'tail', seq: 0 }],
      quarantine: [],
    });
    flip(hiddenFiles(directory, '.tail')[0] as string, 600);
    const { health, documents } = await inspect(directory);
    expect(health).toMatchObject({ kind: 'damaged', report: { lost: { to: 9 } } });
    expect(documents).toMatchObject([{ name: 'loop' }]);
  });
});
