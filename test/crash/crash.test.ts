import { expect, it } from 'vitest';
import { explore } from './explore.js';
import { type Script, wholeLife } from './script.js';

const isCampaign = Number(process.env.HOLDFAST_RUNS ?? 0) >= 1000;

it('recovers from a stop after any call to a state between acknowledged and issued, whatever the power cut keeps', () => {
  const found = explore(wholeLife, { random: isCampaign ? 200 : 4, interruptEvery: isCampaign ? 3 : 97 });
  console.info(`${found.stops} stops, ${found.states} states, ${found.interrupted} after interrupted recoveries`);
  expect(found.violations).toEqual([]);
  expect(found.states).toBeGreaterThan(found.stops * 2);
  expect(found.interrupted).toBeGreaterThan(100);
}, 600_000);

it('does so on a file system that keeps directory entries in order', () => {
  const found = explore(wholeLife, { model: 'journal', random: isCampaign ? 200 : 2 });
  expect(found.violations).toEqual([]);
}, 600_000);

it('survives a power cut after a first open that was killed anywhere and repeated', () => {
  const firstOpen = (script: Script) => script.open();
  const found = explore(firstOpen, { interruptEvery: isCampaign ? 1 : 7 });
  expect(found.violations).toEqual([]);
});
