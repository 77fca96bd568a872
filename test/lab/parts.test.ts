// What the campaigns of the lab share: work side by side, and folders that are put back.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { Found, Verdict } from '../../bench/lab/contract.js';
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
