// A malformed summary file was the only scheduling truth: completed work was replayed.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Mission } from '../../src/mission/index.js';
import { folder, workersUrl } from '../store/support.js';

const IDS = ['login', 'upload', 'search'];

/** The technique: what the summary does not say is done is to be done. */
function schedulePlainly(path: string): string[] {
  let features: { id: string; status: string }[] = [];
  try {
    ({ features } = JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    // As it was: start from nothing.
  }
  return IDS.filter((id) => features.find((one) => one.id === id)?.status !== 'completed');
}

it('the technique: a cut summary schedules everything again', () => {
  const path = join(folder(), 'features.json');
  const text = JSON.stringify({ features: IDS.map((id) => ({ id, status: 'completed' })) });
  writeFileSync(path, text);
  expect(schedulePlainly(path)).toEqual([]);
  writeFileSync(path, text.slice(0, -10));
  expect(schedulePlainly(path)).toEqual(IDS);
});

it('ours: nothing is scheduled again, the summary is rebuilt, and the caller is told', async () => {
  const directory = folder();
  const options = { workersUrl, lifecycle: ['implement'], projectDelayMs: 5 };
  const mission = await Mission.open(directory, options);
  for (const id of IDS) {
    await mission.add(id);
    await mission.start(id);
    await mission.complete(id);
  }
  await mission.close();
  const path = join(directory, 'features.json');
  const text = readFileSync(path, 'utf8');
  writeFileSync(path, text.slice(0, -10));
  const again = await Mission.open(directory, options);
  const { todo, completed } = await again.resume();
  expect({ todo, completed }).toEqual({ todo: [], completed: 3 });
  await again.flush();
  expect(readFileSync(path, 'utf8')).toBe(text);
  expect(again.notes.join()).toMatch(/features\.json/);
  await again.close();
});
