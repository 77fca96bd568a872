// What the campaigns of the lab share: work side by side, folders that are put back, and the calls that can fail.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { Found, Verdict } from '../../bench/lab/contract.js';
import { faultPoints, footprintOf, inTurn } from '../../bench/lab/fault-points.js';
import { inLanes, mapInLanes } from '../../bench/lab/lanes.js';
import { PutBack } from '../../bench/lab/put-back.js';

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('work side by side', () => {
  it('gives results in the order of the items, whichever ends first', async () => {
    const ended: number[] = [];
    const work = async (turns: number) => {
      for (let n = 0; n < turns; n++) await turn();
      ended.push(turns);
      return turns * 10;
    };
    expect(await mapInLanes([5, 1, 0], work, 3)).toEqual([50, 10, 0]);
    expect(ended).toEqual([0, 1, 5]);
  });

  it('begins nothing more when one fails, and says so when the others have ended', async () => {
    const begun: string[] = [];
    let isSlowOver = false;
    const work = async (what: string) => {
      begun.push(what);
      await turn();
      if (what === 'fails') throw new Error('it failed');
      await turn();
      isSlowOver = true;
    };
    await expect(inLanes(['slow', 'fails', 'never'], work, 2)).rejects.toThrow('it failed');
    expect(isSlowOver).toBe(true);
    expect(begun).toEqual(['slow', 'fails']);
  });
});

describe('a refused folder whose file is put back', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'holdfast-lab-'));
  afterAll(() => rmSync(scratch, { recursive: true }));

  const damaged = { kind: 'damaged', message: 'no' } as const;

  /** One refused folder for each of these, loaded again with that answer. */
  async function putBack(answers: readonly Found[]): Promise<{ verdicts: Verdict[]; ends: number }> {
    const verdicts: Verdict[] = [];
    let ends = 0;
    const rest = [...answers];
    const loader = {
      load: async (_: string, directory: string) => {
        expect(readFileSync(join(directory, 'a'), 'utf8')).toBe('as it was');
        return rest.shift() as Found;
      },
      end: async () => void ends++,
    };
    const folderBytes = 30 * 1024 * 1024;
    const all = new PutBack({ driver: 'x', newest: 8, loader, folderBytes, onVerdict: (one) => verdicts.push(one) });
    for (const [at] of answers.entries()) {
      const directory = join(scratch, `${at}`);
      mkdirSync(directory);
      writeFileSync(join(directory, 'a'), 'changed');
      await all.add({ directory, file: 'a', bytes: Buffer.from('as it was'), verdict: damaged, change: 'a: changed' });
    }
    await all.end();
    for (const [at] of answers.entries()) expect(existsSync(join(scratch, `${at}`))).toBe(false);
    return { verdicts, ends };
  }

  it('has everything again, or to refuse it was wrong', async () => {
    const { verdicts } = await putBack([
      { kind: 'intact', n: 8 },
      { kind: 'intact', n: 7 },
      { kind: 'refused', message: 'still' },
      { kind: 'nothing' },
    ]);
    expect(verdicts.map(({ kind }) => kind)).toEqual(['damaged', 'wrong', 'wrong', 'wrong']);
  });

  it('is loaded by a new process, one for as many as fit into memory', async () => {
    const { ends } = await putBack(Array.from({ length: 5 }, () => ({ kind: 'intact', n: 8 })));
    expect(ends).toBe(3);
  });
});

describe('calls that can fail', () => {
  const { numbers, written } = footprintOf(
    [
      '7 openat(AT_FDCWD</p>, "/p/module.js", O_RDONLY) = 3</p/module.js>',
      '7 openat(AT_FDCWD</p>, "/d/a", O_RDWR|O_CREAT, 0666) = 3</d/a>',
      '8 openat(AT_FDCWD</p>, "/d", O_RDONLY) = 4</d>',
      '7 write(1</p/out>, "x", 1) = 1',
      '8 write(3</d/a>, "x", 1) = 1',
      '8 fsync(4</d> <unfinished ...>',
      '7 fsync(3</d/a>) = 0',
      '8 <... fsync resumed>) = 0',
      '8 fsync(4</d>) = 0',
    ].join('\n'),
    '/d',
  );

  it('are counted by thread, and those that are of no interest do not become points', () => {
    expect(numbers).toEqual({ openat: new Set([2, 1]), write: new Set([1]), fsync: new Set([1, 2]) });
    expect(written).toEqual(new Set(['a']));
  });

  it('each fail with every error, one kind after the other', () => {
    const points = faultPoints(numbers, () => 0).map(({ call, error, n }) => `${call} ${n} ${error}`);
    expect(points.length).toBe(2 * 3 + 1 * 2 + 2 * 2);
    expect(new Set(points).size).toBe(points.length);
    expect(points.slice(0, 3).map((point) => point.split(' ')[0])).toEqual(['openat', 'write', 'fsync']);
  });

  it('have their turn whichever list is longer', () => {
    expect(inTurn([['a', 'b', 'c'], [], ['1']])).toEqual(['a', '1', 'b', 'c']);
  });
});
