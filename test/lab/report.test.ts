// What the lab makes of its counts.

import { describe, expect, it } from 'vitest';
import { judge } from '../../bench/lab/contract.js';
import { driverOf, SUBJECTS } from '../../bench/lab/drivers/index.js';
import { markdown, overview } from '../../bench/lab/markdown.js';
import { merged } from '../../bench/lab/merge.js';
import { picture } from '../../bench/lab/picture.js';
import { keepsPromise, type LabReport, notChosen, type Row } from '../../bench/lab/report.js';
import { identify, stateOf } from '../../bench/lab/state.js';

const order = { subjects: SUBJECTS.map(({ id }) => id), campaigns: ['power-cut', 'kill'] };

function row(driver: string, outcomes: Partial<Row['outcomes']>, condition = ''): Row {
  const all = { intact: 0, lost: 0, missing: 0, damaged: 0, wrong: 0, ...outcomes };
  const trials = Object.values(all).reduce((sum, count) => sum + count, 0);
  return { driver, condition, trials, outcomes: all, savesLost: all.lost * 2, examples: [] };
}

function report(campaign: string, rows: Row[]): LabReport {
  const about = { date: '2026-01-02', command: `npm run lab -- ${campaign}`, machine: 'a machine', versions: {} };
  return { ...about, campaigns: [{ campaign, what: 'what is done', rows, skipped: [] }] };
}

describe('a state that is found', () => {
  it('is one that was saved, or wrong', () => {
    expect(identify(stateOf(17))).toEqual({ kind: 'intact', n: 17 });
    expect(identify(null)).toEqual({ kind: 'nothing' });
    expect(identify({ ...stateOf(17), title: 'another' })).toMatchObject({ kind: 'wrong', why: /differs at/ });
    expect(identify({ ...stateOf(17), n: 18 })).toMatchObject({ kind: 'wrong' });
    expect(identify([])).toMatchObject({ kind: 'wrong', why: /no version/ });
  });

  it('is held against what was acknowledged and begun', () => {
    const said = { acked: 5, issued: 6 };
    expect(judge({ kind: 'intact', n: 5 }, said)).toEqual({ kind: 'intact' });
    expect(judge({ kind: 'intact', n: 6 }, said)).toEqual({ kind: 'intact' });
    expect(judge({ kind: 'intact', n: 3 }, said)).toEqual({ kind: 'lost', saves: 2 });
    expect(judge({ kind: 'intact', n: 7 }, said)).toMatchObject({ kind: 'wrong' });
    expect(judge({ kind: 'nothing' }, said)).toEqual({ kind: 'missing' });
    expect(judge({ kind: 'nothing' }, { acked: 0, issued: 1 })).toEqual({ kind: 'intact' });
    expect(judge({ kind: 'refused', message: 'x' }, said)).toEqual({ kind: 'damaged', message: 'x' });
  });
});

describe('a promise', () => {
  it('is kept by who promised no more', () => {
    const [ours, plain, normal] = ['holdfast', 'fs', 'sqlite-wal-normal'].map(driverOf) as [
      ReturnType<typeof driverOf>,
      ReturnType<typeof driverOf>,
      ReturnType<typeof driverOf>,
    ];
    expect(keepsPromise(ours, row('holdfast', { intact: 9 }), 'kill')).toBe(true);
    expect(keepsPromise(ours, row('holdfast', { intact: 9, lost: 1 }), 'kill')).toBe(false);
    expect(keepsPromise(ours, row('holdfast', { damaged: 1 }), 'kill')).toBe(false);
    expect(keepsPromise(ours, row('holdfast', { damaged: 1 }), 'bit-rot')).toBe(true);
    expect(keepsPromise(ours, row('holdfast', { wrong: 1 }), 'bit-rot')).toBe(false);
    expect(keepsPromise(driverOf('holdfast-file'), row('holdfast-file', { wrong: 1 }), 'bit-rot')).toBe(true);
    expect(keepsPromise(ours, row('holdfast', { lost: 1 }), 'exit')).toBe(false);
    expect(keepsPromise(driverOf('holdfast-file'), row('holdfast-file', { lost: 1 }), 'exit')).toBe(true);
    expect(keepsPromise(normal, row('sqlite-wal-normal', { lost: 3 }), 'power-cut')).toBe(true);
    expect(keepsPromise(normal, row('sqlite-wal-normal', { damaged: 3 }), 'power-cut')).toBe(false);
    expect(keepsPromise(plain, row('fs', { wrong: 9 }), 'kill')).toBe(true);
  });
});

describe('a report', () => {
  it('of several runs has every row once, in the order of the subjects', () => {
    const rows = ['fs', 'holdfast'].map((driver) => row(driver, { intact: 1 }));
    const [one, other] = rows.map((each) => report('kill', [each])) as [LabReport, LabReport];
    expect(merged([one, other], order).campaigns[0]?.rows.map(({ driver }) => driver)).toEqual(['holdfast', 'fs']);
    expect(() => merged([one, one], order)).toThrow(/in two parts/);
    expect(() => merged([], order)).toThrow(TypeError);
    expect(() => merged([one, { ...other, machine: 'another' }], order)).toThrow(/one machine/);
  });

  it('of several runs has campaigns in their order, and nothing left out that one of them did', () => {
    const kills = report('kill', [row('fs', { intact: 1 })]);
    const cuts = (condition: string, other: string): LabReport => {
      const made = report('power-cut', [row('fs', { intact: 1 }, condition)]);
      return {
        ...made,
        campaigns: made.campaigns.map((one) => ({ ...one, skipped: [notChosen(other), notChosen('zfs')] })),
      };
    };
    const { campaigns } = merged([kills, cuts('ext4', 'xfs'), cuts('xfs', 'ext4')], order);
    expect(campaigns.map(({ campaign }) => campaign)).toEqual(['power-cut', 'kill']);
    expect(campaigns[0]?.skipped).toEqual([notChosen('zfs')]);
  });

  it('has every subject on the line where it belongs, whichever campaign it was in', () => {
    const { campaigns } = merged(
      [report('power-cut', [row('fs', { intact: 1 })]), report('kill', [row('holdfast', { intact: 1 })])],
      order,
    );
    const lines = overview(campaigns).filter((line) => /^\| (holdfast|fs)/.test(line));
    expect(lines).toEqual(['| holdfast | durable | – | ✓ 1 |', '| fs.writeFile | neither | ✓ 1 | – |']);
  });

  it('shows what went wrong, also once in ten thousand', () => {
    const rows = [row('holdfast', { intact: 10_000 }), row('fs', { intact: 9_999, damaged: 1 })];
    const text = markdown(report('kill', rows));
    expect(text).toContain('| holdfast | durable | ✓ 10,000 |');
    expect(text).toContain('| fs.writeFile | neither | 1 damaged of 10,000 |');
    const svg = picture(report('kill', rows));
    expect(svg).toContain('<title>10000 trials: 9999 intact, 1 damaged</title>');
    expect(svg).toMatch(/width="2\.0" height="14" fill="#d64545"/);
  });
});
