// Two runs held against each other: what became faster, what became slower, and what is only noise.

import { inUnit } from './format.js';
import { nameOf } from './report/grid.js';
import { markdownOf } from './report/page.js';
import { type Figure, isMoreBetter, type Result } from './results.js';
import { type Ratio, ratioOf } from './statistics.js';
import { medianOf } from './wanted.js';

export interface Comparison extends Ratio {
  question: string;
  table: string;
  subject: string;
  at: string;
  metric: string;
  before: string;
  after: string;
  verdict: 'better' | 'worse' | 'noise';
}

/** Of every figure that both have. */
export function compare(before: readonly Result[], after: readonly Result[]): Comparison[] {
  const old = new Map(before.flatMap(figuresIn).map(([key, , figure]) => [key, figure]));
  return after.flatMap(figuresIn).flatMap(([key, question, figure]) => {
    const past = old.get(key);
    if (past === undefined) return [];
    const ratio = ratioOf(past.rounds, figure.rounds);
    const isBetter = ratio.ratio > 1 === isMoreBetter(figure.unit);
    const [, table] = JSON.parse(key) as [string, string];
    const { subject, at, metric } = figure;
    return [
      {
        ...{ question, table, subject, at, metric, ...ratio },
        before: inUnit(medianOf(past), past.unit),
        after: inUnit(medianOf(figure), figure.unit),
        verdict: !ratio.isClear ? 'noise' : isBetter ? 'better' : 'worse',
      },
    ];
  });
}

function figuresIn({ question, tables }: Result): [key: string, question: string, figure: Figure][] {
  return tables.flatMap(({ id, figures }) =>
    figures.map((figure): [string, string, Figure] => {
      const { subject, at, metric } = figure;
      return [JSON.stringify([question, id, subject, at, metric]), question, figure];
    }),
  );
}

export function compareText(
  comparisons: readonly Comparison[],
  before: readonly Result[],
  after: readonly Result[],
): string {
  if (comparisons.length === 0) return 'The two have no figure in common.';
  const rows = comparisons.map(
    ({ question, subject, table, at, metric, before: old, after: now, ratio, low, high, verdict }) => ({
      isOurs: false,
      value: null,
      cells: [
        `${question} ${table}`,
        nameOf(subject),
        at,
        metric,
        old,
        now,
        `${ratio.toFixed(2)} ×`,
        `${low.toFixed(2)} – ${high.toFixed(2)}`,
        verdict === 'noise' ? '' : verdict,
      ],
    }),
  );
  const head = ['', 'subject', 'condition', 'metric', 'before', 'after', 'after/before', 'bounds', ''];
  const count = (verdict: Comparison['verdict']) => comparisons.filter((one) => one.verdict === verdict).length;
  return [
    ...markdownOf({ head, rows }),
    '',
    `${count('better')} better, ${count('worse')} worse, ${count('noise')} within the noise.`,
    'Bounds: the least and the most that any two rounds say. Better or worse: no round of one lies within those of the other.',
    ...differences(before, after),
  ].join('\n');
}

/** What else differs than the code. */
function differences(before: readonly Result[], after: readonly Result[]): string[] {
  const machines = (results: readonly Result[]) => [...new Set(results.map(({ machine }) => machine))].join('; ');
  const quick = (results: readonly Result[]) => results.some(({ isQuick }) => isQuick);
  return [
    ...(machines(before) === machines(after)
      ? []
      : [`Not the same machine: ${machines(before)}, and ${machines(after)}.`]),
    ...(quick(before) === quick(after) ? [] : ['One of them is a quick run.']),
  ];
}
