import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { at, history, type Moment, type Past } from '../../src/inspect/index.js';
import { crc32 } from '../../src/journal/layout.js';
import { openDoc } from '../../src/open-doc.js';
import { workersUrl } from '../store/support.js';
import { all, flip, folder, hiddenFiles, Life, LOOP, type Loop, traces } from './support.js';

const runs = Number(process.env.HOLDFAST_RUNS ?? 30);

type Event = 'item' | 'other' | 'text' | 'drop' | 'remove' | 'compact' | 'rotate' | 'mark' | 'close' | 'abandon';
const EVENTS: Event[] = ['item', 'other', 'text', 'drop', 'remove', 'compact', 'rotate', 'mark', 'close', 'abandon'];

function live(life: Life, event: Event, n: number): void {
  switch (event) {
    case 'item':
      life.item(n);
      return;
    case 'other':
      if ('other' in (life.states.at(-1) as object))
        life.change<Loop>('other', (o) => void o.completed.unshift(`${n}`));
      else life.make('other', LOOP);
      return;
    case 'text':
      life.change<Loop>('loop', (loop) => void (loop.text += `😀${n}`));
      return;
    case 'drop':
      life.change<Loop>('loop', (loop) => void (loop.completed = loop.completed.slice(1)));
      return;
    case 'remove':
      if ('other' in (life.states.at(-1) as object)) life.remove('other');
      return;
    case 'compact':
    case 'rotate':
    case 'mark':
      life.truth[event]();
      return;
    case 'close':
    case 'abandon':
      life.reopen(event);
      return;
    default:
      event satisfies never;
  }
}

/** The newest item that was done. */
const newestItem = (past: Past) => (past.state as Loop).completed.at(-1);

describe('at', () => {
  it('gives at every kept commit what the document was, whatever life the store had', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...EVENTS), { maxLength: 30 }), async (events) => {
        const life = new Life();
        life.make('loop', LOOP);
        events.forEach((event, n) => {
          live(life, event, n);
        });
        const before = traces(life.directory);
        const { length } = life.states;
        let oldest = 0;
        for (let seq = 1; seq < length; seq++) {
          for (const name of ['loop', 'other']) {
            const expected = life.states[seq]?.[name];
            const found = await at(life.directory, name, seq).catch((error) => error);
            if (found.details?.oldest > seq) {
              oldest = found.details.oldest;
              continue;
            }
            if (expected === undefined) expect(found).toMatchObject({ code: 'HF_MISSING' });
            else expect(found).toMatchObject({ kind: 'commit', name, seq, state: expected });
            // Only the oldest moments may be gone.
            expect(seq).toBeGreaterThanOrEqual(oldest);
          }
        }
        if (!events.includes('compact')) expect(oldest).toBe(0);
        // History has every commit that is kept, once, from the newest down.
        const seqs: number[] = [];
        for await (const step of history(life.directory)) seqs.push(step.kind === 'commit' ? step.seq : -1);
        const last = length - 1;
        expect(seqs).toEqual(seqs.map((_, index) => last - index));
        expect(seqs.at(-1) ?? 0).toBeLessThanOrEqual(Math.max(1, oldest) + 1);
        expect(traces(life.directory)).toEqual(before);
        life.truth.abandon();
      }),
      { numRuns: runs },
    );
  });

  it('without a moment gives the present, and without a name the only document', async () => {
    const life = new Life();
    life.make('loop', LOOP);
    life.item(1);
    life.truth.close();
    expect(await at(life.directory)).toEqual({
      kind: 'commit',
      name: 'loop',
      state: life.states[2]?.loop,
      seq: 2,
      version: 2,
      schemaVersion: 1,
    });
    expect(await at(join(life.directory, '.holdfast'))).toMatchObject({ seq: 2 });
    const two = new Life();
    two.make('a', {});
    two.make('b', {});
    two.truth.close();
    await expect(at(two.directory)).rejects.toThrow(/Expected `doc` to be a document of .*: a, b\./);
  });

  it('takes a time for the newest commit that is not later', async () => {
    const life = new Life();
    life.make('loop', LOOP);
    const times = [0, life.nowMs];
    for (let n = 2; n <= 20; n++) {
      life.item(n);
      if (n === 10) life.truth.compact();
      times.push(life.nowMs);
    }
    // A clock that was set back: the commits after that count, since they are newer.
    life.nowMs -= 10_500;
    life.item(21);
    life.truth.close();
    const seqAt = async (ms: number) => ((await at(life.directory, 'loop', new Date(ms))) as { seq: number }).seq;
    expect(await seqAt(times[20] as number)).toBe(21);
    expect(await seqAt(life.nowMs - 1)).toBe(10);
    expect(await seqAt(times[5] as number)).toBe(5);
    expect(await seqAt((times[5] as number) + 999)).toBe(5);
    expect(await seqAt(Date.now())).toBe(21);
    await expect(at(life.directory, 'loop', new Date(1000))).rejects.toMatchObject({
      code: 'HF_MISSING',
      message: expect.stringContaining('Nothing is kept from 1970-01-01T00:00:01.000Z'),
    });
  });

  it('reads backups, which are files', async () => {
    const directory = folder();
    const path = join(directory, 'state.json');
    const doc = await openDoc(path, { initial: { n: 0 }, workersUrl, projectDelayMs: 0 });
    for (const n of [1, 2, 3]) {
      doc.update((s) => void (s.n = n));
      await doc.flush({ projected: true });
    }
    // The one document of a store beside its file, while it is open.
    expect(await at(path)).toMatchObject({ name: 'state.json', state: { n: 3 } });
    expect(await at(join(directory, '.state.json.holdfast'))).toMatchObject({ state: { n: 3 } });
    expect(await at(path, 'state.json', 2)).toMatchObject({ state: { n: 1 } });
    expect(await at(path, undefined, 'bak1')).toEqual({
      kind: 'backup',
      name: 'state.json',
      state: { n: 2 },
      path: `${path}.bak1`,
    });
    writeFileSync(`${path}.bak2`, '{"n":');
    await expect(at(path, 'state.json', 'bak2')).rejects.toMatchObject({ code: 'HF_DAMAGED' });
    await expect(at(path, 'state.json', 'bak9')).rejects.toMatchObject({ code: 'HF_MISSING' });
    await doc.close();
  });

  it('says what is wrong with what it was asked for', async () => {
    const life = new Life();
    life.make('loop', LOOP);
    life.make('deep/other', {});
    life.truth.close();
    const { directory } = life;
    for (const moment of [-1, 1.5, Number.NaN, new Date('x'), 'bak0', 'bak10', 'yesterday'] as Moment[])
      await expect(at(directory, 'loop', moment)).rejects.toThrow(/Expected `moment` to be/);
    await expect(at(directory, 'loop', 3)).rejects.toMatchObject({ code: 'HF_MISSING', details: { newest: 2 } });
    await expect(at(directory, 'lop')).rejects.toMatchObject({ code: 'HF_MISSING' });
    await expect(at(directory, '../x')).rejects.toMatchObject({ code: 'HF_NAME' });
    const empty = folder();
    mkdirSync(join(empty, 'sub'));
    writeFileSync(join(directory, 'loop.json'), '{}');
    for (const path of [empty, join(empty, 'sub'), join(empty, 'nothing', 'here'), '/dev/null'])
      await expect(at(path), path).rejects.toMatchObject({ code: 'HF_MISSING' });
    await expect(at(join(directory, 'loop.json'))).rejects.toThrow(
      `is in the store ${directory}. Give that folder, and 'loop'`,
    );
    await expect(at('')).rejects.toThrow(TypeError);
  });

  it('gives what is left of a damaged store, and says where it ends', async () => {
    const life = new Life();
    life.make('loop', LOOP);
    for (let n = 2; n <= 9; n++) life.item(n);
    life.truth.rotate();
    for (let n = 10; n <= 12; n++) life.item(n);
    life.truth.close();
    const [first] = hiddenFiles(life.directory, '.tail');
    const offset = readFileSync(first as string).indexOf('item-6');
    flip(first as string, offset);
    expect(newestItem(await at(life.directory, 'loop', 5))).toBe('item-5');
    const error = await at(life.directory, 'loop', 6).catch((reason) => reason);
    expect(error).toMatchObject({ code: 'HF_DAMAGED', details: { reached: 5 } });
    expect(error.message).toMatch(/It can be read up to commit 5\..*holdfast verify/);
    await expect(at(life.directory, 'loop')).rejects.toMatchObject({ code: 'HF_DAMAGED' });
    expect((await all(life.directory)).map((step) => (step.kind === 'gap' ? step : step.seq))).toEqual([
      12,
      11,
      10,
      9,
      8,
      7,
      { kind: 'gap', from: 6, to: 6 },
      5,
      4,
      3,
      2,
      1,
    ]);
    // Any of the lost ones may have been the newest at that time.
    await expect(at(life.directory, 'loop', new Date(life.nowMs - 6500))).rejects.toThrow(
      /Commits 6 to 6 cannot be read/,
    );
    expect(newestItem(await at(life.directory, 'loop', new Date(life.nowMs - 9500)))).toBe('item-2');
  });

  it('builds on the older base when the newer one is damaged', async () => {
    const life = new Life();
    life.make('loop', LOOP);
    for (let n = 2; n <= 20; n++) {
      life.item(n);
      if (n === 5 || n === 10) life.truth.compact();
    }
    life.truth.close();
    flip(hiddenFiles(life.directory, '.base')[1] as string, 200);
    for (const seq of [5, 9, 10, 15, 20]) expect(newestItem(await at(life.directory, 'loop', seq))).toBe(`item-${seq}`);
  });

  it('refuses what a later version wrote', async () => {
    const life = new Life();
    life.make('loop', LOOP);
    life.truth.close();
    const [tail] = hiddenFiles(life.directory, '.tail') as [string];
    const bytes = readFileSync(tail);
    bytes.writeUInt16LE(2, 8);
    bytes.writeUInt32LE(crc32(bytes.subarray(0, 76)), 76);
    writeFileSync(tail, bytes);
    await expect(at(life.directory)).rejects.toMatchObject({ code: 'HF_VERSION' });
    await expect(all(life.directory)).rejects.toMatchObject({ code: 'HF_VERSION' });
  });
});
