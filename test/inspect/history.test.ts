import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { append } from '../../src/change/tracked.js';
import { type HistoryStep, history } from '../../src/inspect/index.js';
import { start } from '../support/process-child.js';
import { all, flip, folder, hiddenFiles, Life, LOOP, type Loop } from './support.js';

const seqs = (steps: readonly HistoryStep[]) => steps.map((step) => (step.kind === 'gap' ? step : step.seq));

describe('history', () => {
  it('says what each commit changed, newest first', async () => {
    const life = new Life();
    life.make('loop', LOOP);
    life.change<Loop>('loop', (loop) => {
      loop.completed.push('a', 'b');
      loop.outputs['item 1'] = { tokens: 7 };
      loop.text = 'x';
    });
    life.change<Loop>('loop', (loop) => {
      loop.completed.shift();
      delete loop.outputs['item 1'];
    });
    life.truth.log('events').append({ kind: 'begin' });
    life.truth.transaction(() => {
      life.truth.log('events').append({ kind: 'end' });
      life.truth.doc<Loop>('loop', { initial: LOOP }).update((loop) => append(loop, 'text', 'y'));
    });
    life.truth.remove('loop');
    life.truth.close();
    const steps = await all(life.directory);
    const documents = steps.map((step) => (step.kind === 'commit' ? step.documents : []));
    expect(steps[5]).toEqual({
      kind: 'commit',
      seq: 1,
      time: new Date(Date.UTC(2026, 10, 18, 0, 0, 1)),
      documents: [
        { kind: 'document', name: 'loop', fromVersion: 0, version: 1, changes: [{ kind: 'whole', value: LOOP }] },
      ],
    });
    expect(documents[4]?.[0]?.changes).toEqual([
      { kind: 'put', path: ['text'], value: 'x' },
      { kind: 'tail', path: ['completed'], from: 0, items: ['a', 'b'] },
      { kind: 'put', path: ['outputs', 'item 1'], value: { tokens: 7 } },
    ]);
    expect(documents[3]?.[0]?.changes).toEqual([
      { kind: 'head', path: ['completed'], count: 1 },
      { kind: 'drop', path: ['outputs', 'item 1'] },
    ]);
    expect(documents[2]).toEqual([
      {
        kind: 'log',
        name: 'events',
        fromVersion: 0,
        version: 1,
        changes: [{ kind: 'entries', from: 0, entries: [{ kind: 'begin' }] }],
      },
    ]);
    expect(documents[0]).toMatchObject([{ name: 'loop', changes: [{ kind: 'removed' }] }]);
    expect(documents[1]).toMatchObject([
      { kind: 'document', name: 'loop', changes: [{ kind: 'text', path: ['text'], from: 1, text: 'y' }] },
      { kind: 'log', name: 'events', fromVersion: 1, version: 2 },
    ]);
    expect(seqs(await all(life.directory, { doc: 'events' }))).toEqual([5, 4]);
    expect(await all(life.directory, { doc: 'loop', limit: 1 })).toMatchObject([
      { seq: 6, documents: [{ name: 'loop', changes: [{ kind: 'removed' }] }] },
    ]);
  });

  it('goes down to what was asked for', async () => {
    const life = new Life();
    life.make('loop', LOOP);
    for (let n = 2; n <= 30; n++) {
      life.item(n);
      if (n % 7 === 0) life.truth.rotate();
    }
    life.truth.close();
    const { directory, nowMs } = life;
    expect(seqs(await all(directory, { limit: 3 }))).toEqual([30, 29, 28]);
    expect(seqs(await all(directory, { since: 26 }))).toEqual([30, 29, 28, 27]);
    expect(seqs(await all(directory, { since: new Date(nowMs - 2000) }))).toEqual([30, 29, 28]);
    expect(seqs(await all(directory, { since: 26, limit: 2 }))).toEqual([30, 29]);
    expect(await all(directory, { limit: 0 })).toEqual([]);
    expect(await all(directory)).toHaveLength(30);
    for (const options of [{ limit: -1 }, { limit: 1.5 }, { since: -1 }, { since: new Date('x') }])
      await expect(all(directory, options)).rejects.toThrow(/Expected `(limit|since)`/);
    await expect(all(directory, { signal: AbortSignal.abort() })).rejects.toThrow('aborted');
    await expect(all(folder())).rejects.toMatchObject({ code: 'HF_MISSING' });
  });

  it('reads frames larger than its window, and does not take what they hold for frames', async () => {
    const life = new Life();
    life.make('loop', LOOP);
    life.change<Loop>('loop', (loop) => void (loop.text = 'long '.repeat(500_000)));
    life.item(3);
    life.change<Loop>('loop', (loop) => void (loop.text = 'longer '.repeat(1_000_000)));
    life.truth.close();
    expect(seqs(await all(life.directory))).toEqual([4, 3, 2, 1]);
  });

  it('ends where recovery would: what lies behind a torn frame that nobody acknowledged is not there', async () => {
    const life = new Life();
    life.make('loop', LOOP);
    life.truth.flush();
    for (let n = 2; n <= 6; n++) life.item(n);
    life.truth.abandon();
    const [tail] = hiddenFiles(life.directory, '.tail') as [string];
    const bytes = readFileSync(tail);
    flip(tail, bytes.indexOf('item-4'));
    expect(seqs(await all(life.directory))).toEqual([3, 2, 1]);
    // The end as a kill leaves it: half a frame.
    writeFileSync(tail, bytes.subarray(0, bytes.indexOf('item-6')));
    expect(seqs(await all(life.directory))).toEqual([5, 4, 3, 2, 1]);
  });

  it('says what is missing when a file is gone', async () => {
    const life = new Life();
    life.make('loop', LOOP);
    for (let n = 2; n <= 6; n++) {
      life.item(n);
      life.truth.rotate();
    }
    life.truth.close();
    const tails = hiddenFiles(life.directory, '.tail');
    rmSync(tails[2] as string);
    expect(seqs(await all(life.directory))).toEqual([6, 5, { kind: 'gap', from: 4, to: 4 }, 3, 2, 1]);
    expect(seqs(await all(life.directory, { since: 3 }))).toEqual([6, 5, { kind: 'gap', from: 4, to: 4 }]);
    rmSync(tails[0] as string);
    expect(seqs(await all(life.directory)).at(-1)).toEqual({ kind: 'gap', from: 1, to: 2 });
  });

  it('takes a copy where the tail that counts is damaged, as recovery does', async () => {
    const life = new Life();
    life.make('loop', LOOP);
    for (let n = 2; n <= 6; n++) life.item(n);
    // Nothing was synced: the next tail begins with copies of all of them.
    life.reopen('abandon');
    life.item(7);
    life.truth.close();
    const tail = hiddenFiles(life.directory, '.tail').at(-1) as string;
    flip(tail, readFileSync(tail).indexOf('item-4'));
    expect(seqs(await all(life.directory))).toEqual([7, 6, 5, 4, 3, 2, 1]);
  });

  it('reads beside a writer that rotates and compacts', async () => {
    const directory = folder();
    const writer = start(`
      import { open } from 'holdfast';
      const store = await open(${JSON.stringify(directory)}, { projectDelayMs: 20 });
      const doc = await store.doc('loop', { initial: { n: 0, completed: [] } });
      await store.flush();
      console.log('ready');
      const end = Date.now() + 1500;
      while (Date.now() < end) {
        for (let i = 0; i < 50; i++) doc.update((s) => { s.n += 1; s.completed.push('item-' + s.n); });
        await doc.flush();
      }
      await store.close();
      console.log('done ' + doc.state.n);`);
    await writer.line('ready');
    let rounds = 0;
    let newest = 0;
    while (writer.lines.length < 2) {
      const steps = await all(directory, { limit: 500 });
      const found = seqs(steps);
      expect(found).toEqual(found.map((_, index) => (found[0] as number) - index));
      expect(found[0]).toBeGreaterThanOrEqual(newest);
      newest = found[0] as number;
      rounds++;
    }
    const { code, stderr, stdout } = await writer.ended;
    expect([code, stderr]).toEqual([0, '']);
    expect(rounds).toBeGreaterThan(3);
    const done = Number(/done (\d+)/.exec(stdout)?.[1]);
    const [last] = await all(directory, { limit: 1 });
    expect(last).toMatchObject({ seq: done + 1, documents: [{ name: 'loop' }] });
  });

  it('lets a program do other things meanwhile, and ends when the caller stops', async () => {
    const life = new Life();
    life.make('loop', LOOP);
    const doc = life.truth.doc<Loop>('loop', { initial: LOOP });
    for (let n = 2; n <= 10_000; n++) doc.update((loop) => void loop.completed.push(`item-${n}`));
    life.truth.close();
    let ticks = 0;
    const timer = setInterval(() => ticks++, 1);
    for await (const step of history(life.directory)) if (step.kind === 'commit' && step.seq === 5) break;
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(0);
  });
});
