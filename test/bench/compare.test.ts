import { describe, expect, it } from 'vitest';
import { compare, compareText } from '../../bench/compare.js';
import { figure, result, table } from './figures.js';

const before = [
  result([
    table([
      figure('holdfast', '100 items', [5, 5.1, 4.9]),
      figure('lmdb', '100 items', [10, 11, 12]),
      figure('steno', '100 items', [1]),
      figure('holdfast', '1 loop', [100, 110, 120], { metric: 'steps', unit: '/s' }),
    ]),
  ]),
];
const after = [
  result([
    table([
      figure('holdfast', '100 items', [2.5, 2.6, 2.4]),
      figure('lmdb', '100 items', [11, 12, 13]),
      figure('holdfast', '1 loop', [50, 51, 52], { metric: 'steps', unit: '/s' }),
      figure('holdfast', '1,000 items', [1]),
    ]),
  ]),
];

describe('two runs', () => {
  it('are compared in what both have measured', () => {
    const found = compare(before, after).map(({ subject, at, verdict }) => [subject, at, verdict]);
    expect(found).toEqual([
      ['holdfast', '100 items', 'better'],
      ['lmdb', '100 items', 'noise'],
      ['holdfast', '1 loop', 'worse'],
    ]);
  });

  it('are shown with ratio and bounds', () => {
    const text = compareText(compare(before, after), before, after);
    expect(text).toContain(
      '| q1 update | holdfast | 100 items | main-thread CPU | 5 µs | 2.5 µs | 0.50 × | 0.47 – 0.53 | better |',
    );
    expect(text).toContain('1 better, 1 worse, 1 within the noise.');
  });

  it('of two machines, or one of them quick, say so', () => {
    const other = [result(after[0]?.tables ?? [], { machine: 'another', isQuick: true })];
    const text = compareText(compare(before, other), before, other);
    expect(text).toContain('Not the same machine: a machine, and another.');
    expect(text).toContain('One of them is a quick run.');
  });

  it('without a common figure say that', () => {
    expect(compareText(compare(before, []), before, [])).toBe('The two have no figure in common.');
  });
});
