import { expect, it } from 'vitest';
import { exploreLines } from './lines-life.js';

it('JSON Lines show every entry after a stop at any call, whatever a power cut keeps, and no crash is taken for damage', () => {
  const { states, violations } = exploreLines(undefined);
  console.info(`${states} states`);
  expect(violations.slice(0, 3)).toEqual([]);
  expect(states).toBeGreaterThan(500);
}, 300_000);
