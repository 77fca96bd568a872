import { expect, it } from 'vitest';
import { Places } from '../../src/journal/places.js';
import { importCandidate } from '../../src/projection/inspect.js';
import { readRecord } from '../../src/projection/record.js';
import { crashStates, killState } from '../support/crash-states.js';
import { explore, removal, runUntil, wholeLife } from './crash-life.js';
import { emptyStore, ID, isObject, STORE } from './support.js';

const isCampaign = Number(process.env.HOLDFAST_RUNS ?? 0) >= 1000;

it('leaves one complete version, backups in order and nothing foreign, stopped after any call, whatever a power cut keeps', () => {
  const found = explore(wholeLife, { random: isCampaign ? 100 : 5, goOnEvery: isCampaign ? 1 : 19 });
  console.info(`${found.stops} stops, ${found.states} states`);
  expect(found.violations.slice(0, 3)).toEqual([]);
  expect(found.states).toBeGreaterThan(found.stops * 3);
}, 600_000);

it('does so on a file system that keeps directory entries in order', () => {
  const found = explore(wholeLife, { model: 'journal', random: isCampaign ? 100 : 5 });
  expect(found.violations.slice(0, 3)).toEqual([]);
}, 600_000);

it('never imports what was removed, wherever the removal was stopped', () => {
  const start = emptyStore();
  const places = new Places(STORE);
  const total = runUntil(removal, start, null).disk.steps;
  for (let steps = start.steps; steps <= total; steps++) {
    const { disk, published } = runUntil(removal, start, steps);
    if (published.get('loop') !== 0) continue;
    for (const state of [killState(disk), ...crashStates(disk)]) {
      const edition = readRecord(state, places, ID).editions.get('loop');
      const { kind } = importCandidate(state, places, { name: 'loop', edition, check: isObject });
      expect(['absent', 'leftover']).toContain(kind);
    }
  }
});
