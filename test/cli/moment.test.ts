// What a person types for a moment, and what is refused rather than guessed.

import { describe, expect, it } from 'vitest';
import { momentFrom } from '../../src/cli/moment.js';

/** Ten past midnight, by the clock on the wall. */
const NOW = new Date(2026, 10, 19, 0, 10, 30);
const local = (day: number, hour = 0, minute = 0, second = 0, ms = 0) =>
  new Date(2026, 10, day, hour, minute, second, ms);

describe('a moment', () => {
  it.each<[string, unknown]>([
    ['812', 812],
    ['bak3', 'bak3'],
    ['10m', new Date(NOW.getTime() - 600_000)],
    ['0:05', local(19, 0, 5)],
    ['2026-11-18', local(18)],
    ['2026-11-18T14:30', local(18, 14, 30)],
    ['2026-11-18T14:30Z', new Date(Date.UTC(2026, 10, 18, 14, 30))],
    ['2026-11-18T14:30:05.250+01:00', new Date(Date.UTC(2026, 10, 18, 13, 30, 5, 250))],
  ])('%s', (text, expected) => {
    expect(momentFrom(text, NOW)).toEqual(expected);
  });

  it('a time of the day that is still to come is that of yesterday', () => {
    expect(momentFrom('23:50', NOW)).toEqual(local(18, 23, 50));
  });

  it('a second is all of it: the times that log shows lead to their commits', () => {
    expect(momentFrom('2026-11-18 21:13:29', NOW)).toEqual(local(18, 21, 13, 29, 999));
    expect(momentFrom('21:13:29', NOW)).toEqual(local(18, 21, 13, 29, 999));
    expect(momentFrom('2026-11-18T21:13:29Z', NOW)).toEqual(new Date(Date.UTC(2026, 10, 18, 21, 13, 29, 999)));
  });

  it.each([
    ['item-5'],
    ['1.5'],
    ['-5'],
    ['25:00'],
    ['14:75'],
    ['14:30:60'],
    ['2026-02-31'],
    ['2026-13-01'],
    ['2026-11-18T25:00'],
    ['soon'],
    ['bak12'],
    ['999999999999999d'],
    [''],
  ])("'%s' is none", (text) => {
    expect(() => momentFrom(text, NOW)).toThrow(/^Expected a moment like 812/);
  });
});
