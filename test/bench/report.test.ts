// What is made of figures: scales, tables, pages, pictures, the README.

import { describe, expect, it } from 'vitest';
import { inUnit } from '../../bench/format.js';
import { filled } from '../../bench/readme.js';
import { draw } from '../../bench/report/files.js';
import { gridsOf, thinned } from '../../bench/report/grid.js';
import { page } from '../../bench/report/page.js';
import { linearScale, logScale, niceStep, spread } from '../../bench/report/scale.js';
import { barsOf, inTerminal } from '../../bench/report/terminal.js';
import type { Chart } from '../../bench/results.js';
import { figure, result, table } from './figures.js';

const label = (value: number) => String(value);

describe('a scale', () => {
  it('of powers of ten has its ends on them', () => {
    const { at, ticks } = logScale([3, 4_000], { from: 0, to: 400 }, label);
    expect(ticks.map(({ value }) => value)).toEqual([1, 10, 100, 1_000, 10_000]);
    expect(at(1)).toBe(0);
    expect(at(100)).toBeCloseTo(200);
    expect(at(10_000)).toBe(400);
  });

  it('of powers of ten has a place for what is zero', () => {
    expect(logScale([0, 10, 100], { from: 50, to: 150 }, label).at(0)).toBe(50);
  });

  it('of powers of ten does not fail with one value', () => {
    expect(logScale([100], { from: 0, to: 100 }, label).ticks.map(({ value }) => value)).toEqual([100, 1_000]);
  });

  it('begins at zero when it is linear', () => {
    const { at, ticks } = linearScale([12, 93], { from: 100, to: 0 }, label);
    expect(ticks.map(({ value }) => value)).toEqual([0, 20, 40, 60, 80, 100]);
    expect([at(0), at(50), at(100)]).toEqual([100, 50, 0]);
  });

  it('has steps that people count in', () => {
    expect([0.3, 1, 1.1, 2.5, 5, 7, 24].map(niceStep)).toEqual([0.5, 1, 2, 5, 5, 10, 50]);
  });

  it('keeps labels apart, in their order and between the ends', () => {
    expect(spread([10, 11, 12, 90], 10, { from: 0, to: 100 })).toEqual([10, 20, 30, 90]);
    expect(spread([99, 98], 10, { from: 0, to: 100 })).toEqual([100, 90]);
  });
});

describe('a value', () => {
  it.each([
    [0.051, 'µs', '0.051 µs'],
    [7.5, 'µs', '7.5 µs'],
    [10, 'µs', '10 µs'],
    [1_234, 'µs', '1.23 ms'],
    [45, 'ms', '45 ms'],
    [2_500, 'ms', '2.5 s'],
    [12_345.6, '/s', '12,346/s'],
    [206, 'bytes', '206 B'],
    [0.35, 'MB', '350 KB'],
    [2.66, '×', '2.66 ×'],
    [0, '', '0'],
  ] as const)('%d %s is read as %s', (value, unit, text) => {
    expect(inUnit(value, unit)).toBe(text);
  });
});

const update = table([
  figure('holdfast', '100 items', [4, 5, 6], { x: 100 }),
  figure('holdfast', '10,000 items', [5, 6, 7], { x: 10_000 }),
  figure('write-file-atomic', '10,000 items', [4_000, 5_000, 9_000], { x: 10_000 }),
  figure('holdfast', '100 items', [9], { metric: 'wall time' }),
]);
const chart: Chart = {
  ...{ file: 'q1.svg', title: 'a <title>', table: 'update', metric: 'main-thread CPU', kind: 'lines', scale: 'log' },
};
const rate = table([figure('holdfast', '1 loop', [500], { metric: 'steps', unit: '/s' })], { id: 'rate' });

describe('a table', () => {
  it('has one line per subject and one column per condition, for each metric', () => {
    const [cpu, wall] = gridsOf(update);
    expect(cpu?.head).toEqual(['', '100 items', '10,000 items']);
    expect(cpu?.rows.map(({ cells }) => cells)).toEqual([
      ['holdfast', '5 µs', '6 µs'],
      ['write-file-atomic', '–', '5 ms'],
    ]);
    expect(wall?.rows.map(({ cells }) => cells)).toEqual([['holdfast', '9 µs']]);
  });

  it('has one column per metric where that is wanted', () => {
    const [grid] = gridsOf({ ...update, columns: 'metrics' });
    expect(grid?.head).toEqual(['', '', 'main-thread CPU', 'wall time']);
    expect(grid?.rows[0]?.cells).toEqual(['holdfast', '100 items', '5 µs', '9 µs']);
  });

  it('leaves columns out when nobody could read them, and never the ends', () => {
    const some = thinned(Array.from({ length: 60 }, (_, n) => n));
    expect(some).toHaveLength(8);
    expect([some[0], some.at(-1)]).toEqual([0, 59]);
  });

  it('has logarithmic bars when linear ones would hide something', () => {
    expect(barsOf([{ value: 1 }, { value: 2 }])).toMatchObject({
      isLog: false,
      bars: ['█'.repeat(12), '█'.repeat(24)],
    });
    const { isLog, bars } = barsOf([{ value: 1 }, { value: null }, { value: 10_000 }]);
    expect(isLog).toBe(true);
    expect(bars.map((bar) => bar.length > 0)).toEqual([true, false, true]);
  });

  it('is shown in a terminal without escape codes where there is no colour', () => {
    const text = inTerminal(result([update], { failures: ['steno: it broke'] }), false);
    expect(text).toContain('write-file-atomic');
    expect(text).toContain('failed: steno: it broke');
    expect(text).not.toContain('\x1b');
  });
});

describe('a page', () => {
  it('has the tables, who was used how, and what was wanted', () => {
    const wanted = [{ what: 'growth', wanted: '1.3 ×', seen: '1.2 ×', isMet: true }];
    const text = page([result([update], { charts: [chart], wanted })]);
    expect(text).toContain('![a <title>](q1.svg)');
    expect(text).toContain('| **holdfast** | **5 µs** | **6 µs** |');
    expect(text).toContain('| growth | 1.3 × | 1.2 × | ✓ |');
    expect(text).toMatch(/\| write-file-atomic \| +\| `await writeFileAtomic/);
    expect(text).toContain('2026-01-02, a machine, commit abc1234.');
  });
});

describe('a picture', () => {
  it('is well-formed, for light and dark pages, and has every subject', () => {
    const lines = draw(chart, result([update])) ?? '';
    expect(lines).toContain('prefers-color-scheme: dark');
    expect(lines).toContain('a &lt;title>');
    expect(lines).toContain('holdfast, 100 items: 5 µs');
    const bars = draw({ ...chart, kind: 'bars', at: '10,000 items' }, result([update])) ?? '';
    expect(bars.match(/<rect/g)).toHaveLength(3);
    for (const svg of [lines, bars]) expect(svg).not.toMatch(/NaN|undefined|Infinity/);
  });

  it('has bars where lines would have one point each', () => {
    const one = table([figure('holdfast', '10 MB', [4], { x: 10 }), figure('lmdb', '10 MB', [5], { x: 10 })]);
    expect(draw(chart, result([one]))).not.toContain('<polyline');
  });

  it('is not drawn of nothing', () => {
    expect(draw({ ...chart, metric: 'another' }, result([update]))).toBeNull();
  });
});

describe('the README', () => {
  const text = 'before\n<!-- bench -->\nold figures\n<!-- end of bench -->\nafter\n';

  it('gets its table between the marks, and nothing else is touched', () => {
    const now = filled(text, [result([update]), result([rate], { question: 'q2' })]);
    expect(now).toMatch(/^before\n<!-- bench -->\n/);
    expect(now).toMatch(/\n<!-- end of bench -->\nafter\n$/);
    expect(now).not.toContain('old figures');
    expect(now).toContain('| one update, main-thread CPU | 100 items | 10,000 items |');
    expect(now).toContain('| **holdfast** | **500/s** |');
    expect(now).toContain('2026-01-02, a machine, commit abc1234');
    expect(filled(now, [result([update]), result([rate], { question: 'q2' })])).toBe(now);
  });

  it('without marks, or without results, is refused', () => {
    expect(() => filled('nothing', [result([update])])).toThrow(/no place for it/);
    expect(() => filled(text, [])).toThrow(/Expected results/);
  });
});
