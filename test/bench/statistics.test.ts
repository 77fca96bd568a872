import { describe, expect, it } from 'vitest';
import { median, percentile, rangeOf, ratioOf } from '../../bench/statistics.js';

describe('of several rounds', () => {
  it('the median is the one in the middle, or between the two there', () => {
    expect(median([5, 1, 9])).toBe(5);
    expect(median([10, 1, 2, 3])).toBe(2.5);
    expect(() => median([])).toThrow(TypeError);
  });

  it('the median leaves the rounds in their order', () => {
    const rounds = [3, 1, 2];
    median(rounds);
    expect(rounds).toEqual([3, 1, 2]);
  });

  it('a percentile is not exceeded by that share', () => {
    const values = Array.from({ length: 200 }, (_, n) => n + 1);
    expect(percentile(values, 0.5)).toBe(100);
    expect(percentile(values, 0.99)).toBe(198);
    expect(percentile(values, 1)).toBe(200);
    expect(percentile([7], 0.99)).toBe(7);
    expect(() => percentile([], 0.5)).toThrow(TypeError);
  });

  it('the range goes from the least to the most', () => {
    expect(rangeOf([2, 1, 3])).toEqual({ low: 1, high: 3 });
  });
});

describe('a ratio', () => {
  it('is that of the medians, with the least and the most that two rounds say', () => {
    const { ratio, low, high } = ratioOf([10, 8, 12], [20, 24, 18]);
    expect(ratio).toBe(2);
    expect(low).toBeCloseTo(18 / 12);
    expect(high).toBe(24 / 8);
  });

  it('is clear only when no round of one lies within those of the other', () => {
    expect(ratioOf([8, 10, 12], [13, 14, 15]).isClear).toBe(true);
    expect(ratioOf([8, 10, 12], [5, 6, 7]).isClear).toBe(true);
    expect(ratioOf([8, 10, 12], [12, 20, 30]).isClear).toBe(false);
    expect(ratioOf([10], [90]).isClear).toBe(false);
  });

  it('of nothing to nothing is one', () => {
    expect(ratioOf([0, 0], [0, 0])).toEqual({ ratio: 1, low: 1, high: 1, isClear: false });
  });
});
