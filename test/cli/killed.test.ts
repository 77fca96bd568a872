// Commands that write, killed in the middle and run again: nothing that was there is lost, and the end is the same.

import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { at } from '../../src/inspect/index.js';
import { planRepair } from '../../src/mend/index.js';
import { contents, copyOf, filesLike, ITEMS, type Loop, makeStore, rotten } from '../mend/support.js';
import { json } from '../store/support.js';
import { holdfast, start } from './support.js';

let sound: string;
beforeAll(async () => {
  sound = await makeStore(join(mkdtempSync(join(tmpdir(), 'holdfast-cli-')), '.agent'));
  return () => rmSync(join(sound, '..'), { recursive: true });
});

/** Spread over what the command takes; it writes in the second half. */
function momentsOf(args: readonly string[]): number[] {
  const before = performance.now();
  holdfast(args);
  const wholeMs = performance.now() - before;
  return [0.4, 0.55, 0.65, 0.75, 0.85].map((share) => share * wholeMs);
}

async function killed(args: readonly string[], afterMs: number): Promise<void> {
  const child = start(args);
  setTimeout(() => child.kill('SIGKILL'), afterMs);
  await once(child, 'exit');
}

it('repair keeps what it said it would, and every byte that was there', async () => {
  const damaged = rotten(copyOf(sound));
  const plan = await planRepair(damaged);
  const { version } = plan.keeps.find(({ name }) => name === 'loop') as { version: number };
  const [tail = ''] = filesLike(damaged, '.tail');
  const original = readFileSync(tail, 'latin1');
  for (const afterMs of momentsOf(['repair', copyOf(damaged), '--yes'])) {
    const directory = copyOf(damaged);
    await killed(['repair', directory, '--yes'], afterMs);
    expect(Object.values(contents(directory))).toContain(original);
    expect(holdfast(['repair', directory, '--yes'])).toMatchObject({ code: 0, err: '' });
    expect(Object.values(contents(directory))).toContain(original);
    expect(await at(directory, 'loop'), `after ${afterMs} ms`).toMatchObject({ version });
  }
}, 60_000);

it('restore was done or was not, and what it replaces is kept', async () => {
  const old = (await at(sound, 'loop', 6)).state;
  const last = readFileSync(join(sound, 'loop.json'), 'latin1');
  for (const afterMs of momentsOf(['restore', copyOf(sound), 'loop', '--to', '6'])) {
    const directory = copyOf(sound);
    await killed(['restore', directory, 'loop', '--to', '6'], afterMs);
    const { state } = await at(directory, 'loop');
    const isOld = Object.keys((state as Loop).done).length < ITEMS;
    if (isOld) expect(state).toEqual(old);
    expect(holdfast(['restore', directory, 'loop', '--to', '6'])).toMatchObject({ code: 0, err: '' });
    expect((await at(directory, 'loop')).state, `after ${afterMs} ms`).toEqual(old);
    expect(json(directory, 'loop')).toEqual(old);
    expect(Object.values(contents(directory))).toContain(last);
  }
}, 60_000);
