// A loop saved its state with a plain writeFile after each item. Killed in the middle of one, it left a file that was cut;
// the next start threw a SyntaxError, and the progress of all items was gone.

import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LoopState, type Recovered } from '../../src/loop/index.js';
import { folder, workersUrl } from '../loop/support.js';
import { start } from '../support/process-child.js';

const ITEMS = 40_000;

/** The technique: read all, change, write all in place. */
class PlainState {
  constructor(
    readonly path: string,
    readonly completed: string[],
  ) {}

  static async create(path: string): Promise<PlainState> {
    return new PlainState(path, JSON.parse(await readFile(path, 'utf8')).completed);
  }

  async end(id: string): Promise<void> {
    this.completed.push(id);
    await writeFile(this.path, `${JSON.stringify({ completed: this.completed, failed: [] }, null, 2)}\n`);
  }
}

const done = Array.from({ length: ITEMS }, (_, n) => `src/features/feature-${n}/index.ts`);
const whole = `${JSON.stringify({ completed: done, failed: [] }, null, 2)}\n`;

/** Works through further items until it is killed. */
const plainLoop = (path: string) => `
  import { readFile, writeFile } from 'node:fs/promises';
  const state = JSON.parse(await readFile(${JSON.stringify(path)}, 'utf8'));
  for (let n = 0; ; n++) {
    state.completed.push('more-' + n);
    await writeFile(${JSON.stringify(path)}, JSON.stringify(state, null, 2) + '\\n');
    if (n === 0) console.log('running');
  }
`;

const ourLoop = (path: string) => `
  import { LoopState } from 'holdfast/loop';
  const state = await LoopState.create(${JSON.stringify(path)}, { projectDelayMs: 0, projectBytesPerSecMax: 1e9 });
  for (let n = state.completed.length - ${ITEMS}; ; n++) {
    state.begin('more-' + n);
    await state.end('more-' + n, { status: 'success' });
    console.log('acknowledged ' + n);
  }
`;

/** Kills the loop as soon as its file is seen shorter than it was, or after a while. */
async function killInTheMiddle(program: string, path: string, first: string): Promise<readonly string[]> {
  const child = start(program);
  await child.line(first);
  for (let look = 0; look < 20_000 && statSync(path).size >= whole.length; look++) {
    if (look % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  child.kill('SIGKILL');
  await child.ended;
  return child.lines;
}

describe('a loop killed while it saves', () => {
  it('loses everything with a plain writeFile', async () => {
    const path = join(folder(), 'state.json');
    let isCut = false;
    for (let kill = 0; kill < 30 && !isCut; kill++) {
      writeFileSync(path, whole);
      await killInTheMiddle(plainLoop(path), path, 'running');
      isCut = statSync(path).size < whole.length;
    }
    expect(isCut).toBe(true);
    await expect(PlainState.create(path)).rejects.toThrow(SyntaxError);
  }, 120_000);

  it('loses nothing with ours: the file is whole at every moment, and so is what was acknowledged', async () => {
    const path = join(folder(), 'state.json');
    writeFileSync(path, whole);
    for (let kill = 0; kill < 5; kill++) {
      const lines = await killInTheMiddle(ourLoop(path), path, 'acknowledged');
      expect(JSON.parse(readFileSync(path, 'utf8')).completed.slice(0, ITEMS)).toEqual(done);
      const acknowledged = Number(lines.at(-1)?.split(' ')[1]);
      await using state = await LoopState.create(path, { workersUrl });
      expect(state.completed.length).toBeGreaterThan(ITEMS + acknowledged);
      expect(state.isDone(`more-${acknowledged}`)).toBe(true);
    }
  }, 120_000);
});

describe('a state file that was cut', () => {
  it.each([0, 1, 1000, whole.length - 3])('to %i bytes ends the plain loop, and heals with ours', async (length) => {
    const directory = folder();
    const plain = join(directory, 'plain.json');
    writeFileSync(plain, whole);
    const state = await PlainState.create(plain);
    await state.end('one-more');
    writeFileSync(plain, readFileSync(plain).subarray(0, length));
    await expect(PlainState.create(plain)).rejects.toThrow(SyntaxError);

    const path = join(directory, 'state.json');
    writeFileSync(path, whole);
    const before = await LoopState.create(path, { workersUrl });
    before.begin('one-more');
    await before.end('one-more', { status: 'success' });
    await before.close();
    writeFileSync(path, readFileSync(path).subarray(0, length));
    const heard: Recovered[] = [];
    const after = await LoopState.create(path, { workersUrl, onRecovered: (one) => heard.push(one) });
    expect(heard.map(({ found }) => found)).toEqual([length === 0 ? 'empty' : 'unparseable']);
    expect(after.completed).toEqual([...done, 'one-more']);
    await after.close();
    expect(JSON.parse(readFileSync(path, 'utf8')).completed).toEqual([...done, 'one-more']);
  });

  it('before we ever saw it is refused with the ways out, not begun anew', async () => {
    const path = join(folder(), 'state.json');
    writeFileSync(path, whole.slice(0, 5000));
    await expect(LoopState.create(path, { workersUrl })).rejects.toMatchObject({ code: 'HF_DAMAGED' });
    expect(readFileSync(path, 'utf8')).toBe(whole.slice(0, 5000));
    writeFileSync(`${path}.bak1`, whole);
    await using state = await LoopState.create(path, { workersUrl, onDamage: 'backup' });
    expect(state.completed).toHaveLength(ITEMS);
  });
});
