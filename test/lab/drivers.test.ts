// The subjects of the lab without any damage: each finds what it saved, and nothing else.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { openAndLoad } from '../../bench/lab/child.js';
import type { Driver, Found } from '../../bench/lab/contract.js';
import { SUBJECTS } from '../../bench/lab/drivers/index.js';
import { join as joinParts, split } from '../../bench/lab/drivers/parts.js';
import { stateOfSteps } from '../../bench/lab/drivers/steps.js';
import { identify, stateOf } from '../../bench/lab/state.js';

const folders: string[] = [];

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'holdfast-lab-'));
  folders.push(made);
  return made;
}

afterEach(() => {
  for (const one of folders.splice(0)) rmSync(one, { recursive: true, force: true });
});

/** Opens, saves these versions and closes; returns what was there first. */
async function save(driver: Driver, directory: string, from: number, to: number): Promise<Found> {
  const { session, found } = await openAndLoad(driver, directory);
  expect(session, JSON.stringify(found)).not.toBeNull();
  for (let n = from; n <= to; n++) await session?.save(stateOf(n));
  await session?.close();
  return found;
}

describe('a subject finds what it saved', () => {
  it.each(SUBJECTS.map((driver) => [driver.id, driver] as const))('%s', async (_, driver) => {
    const directory = folder();
    expect(await save(driver, directory, 1, 12)).toEqual({ kind: 'nothing' });
    expect(await save(driver, directory, 13, 14)).toEqual({ kind: 'intact', n: 12 });
    expect(await save(driver, directory, 1, 0)).toEqual({ kind: 'intact', n: 14 });
  });

  it('ids are different', () => {
    expect(new Set(SUBJECTS.map(({ id }) => id)).size).toBe(SUBJECTS.length);
  });
});

describe('what is no version is called wrong', () => {
  it.each([1, 2, 3, 5, 22])('parts of version %i and of the next one', (n) => {
    const [older, newer] = [split(stateOf(n)), split(stateOf(n + 1))];
    expect(identify(joinParts(older))).toEqual({ kind: 'intact', n });
    for (const part of ['head', 'even', 'odd'] as const) {
      expect(identify(joinParts({ ...older, [part]: newer[part] })).kind, part).toBe('wrong');
      expect(identify(joinParts({ ...newer, [part]: older[part] })).kind, part).toBe('wrong');
    }
  });

  it.each([
    ['one left out', ['a1', 'a3']],
    ['in another order', ['a2', 'a1']],
    ['one done twice', ['a1', 'a2', 'a2']],
  ])('steps, %s', (_, done) => {
    expect(identify(stateOfSteps(done, (step) => `a${step}`)).kind).toBe('wrong');
    expect(identify(stateOfSteps(['a1', 'a2'], (step) => `a${step}`))).toEqual({ kind: 'intact', n: 2 });
  });
});
