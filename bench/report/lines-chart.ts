// Growth curves: one line per subject, its name where the line ends.

import { inUnit } from '../format.js';
import type { Chart, Figure } from '../results.js';
import { medianOf } from '../wanted.js';
import { distinct, nameOf } from './grid.js';
import { linearScale, logScale, spread } from './scale.js';
import { coloursOf, escaped, isOurs, picture, text, widthOf } from './svg.js';

const PLOT = { left: 74, right: 640, top: 56 };
const LABEL_GAP = 16;
const HEIGHT_MIN = 400;

export function linesChart(chart: Chart, figures: readonly Figure[], about: string): string {
  const shown = figures.filter(({ x }) => x !== undefined);
  const subjects = distinct(shown.map(({ subject }) => subject));
  const height = Math.max(HEIGHT_MIN, subjects.length * LABEL_GAP + 140);
  const bottom = height - 70;
  const unit = shown[0]?.unit ?? '';
  const scale = chart.scale === 'log' ? logScale : linearScale;
  const xs = shown.map(({ x }) => x as number);
  const x = scale(xs, { from: PLOT.left, to: PLOT.right }, compact);
  const y = scale(shown.map(medianOf), { from: bottom, to: PLOT.top }, (value) => inUnit(value, unit));
  const colours = coloursOf(subjects);
  const lines = subjects.map((subject) => {
    const points = shown.filter((one) => one.subject === subject).sort((a, b) => (a.x as number) - (b.x as number));
    return { subject, points: points.map((one) => ({ x: x.at(one.x as number), y: y.at(medianOf(one)), one })) };
  });
  const ends = spread(
    lines.map(({ points }) => points.at(-1)?.y ?? bottom),
    LABEL_GAP,
    { from: PLOT.top + 4, to: bottom },
  );
  const width =
    PLOT.right + 40 + Math.max(...lines.map(({ subject, points }) => widthOf(endOf(subject, points.at(-1)))));
  return picture(width, height, [
    text(16, 28, chart.title, 'class="ink" font-size="17" font-weight="600"'),
    ...y.ticks.flatMap(({ value, label }) => [
      rule(PLOT.left, y.at(value), PLOT.right, y.at(value)),
      text(PLOT.left - 8, y.at(value) + 4, label, 'class="soft" text-anchor="end"'),
    ]),
    ...x.ticks.flatMap(({ value, label }) => [
      rule(x.at(value), PLOT.top, x.at(value), bottom),
      text(x.at(value), bottom + 18, label, 'class="soft" text-anchor="middle"'),
    ]),
    text((PLOT.left + PLOT.right) / 2, bottom + 38, chart.xLabel ?? '', 'class="soft" text-anchor="middle"'),
    ...lines.map(({ subject, points }) => lineOf(subject, points, colours.get(subject) as string)),
    ...lines.map(({ subject, points }, at) => {
      const last = points.at(-1);
      if (last === undefined) return '';
      return labelOf(subject, last, ends[at] as number, colours.get(subject) as string);
    }),
    text(16, height - 10, about, 'class="soft" font-size="10"'),
  ]);
}

interface Point {
  x: number;
  y: number;
  one: Figure;
}

function lineOf(subject: string, points: readonly Point[], colour: string): string {
  const path = points.map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`).join(' ');
  const dots = points.map(({ x, y, one }) => {
    const said = `${nameOf(subject)}, ${one.at}: ${inUnit(medianOf(one), one.unit)}`;
    return `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${isOurs(subject) ? 4 : 3}" fill="${colour}"><title>${escaped(said)}</title></circle>`;
  });
  return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="${isOurs(subject) ? 3.5 : 1.6}" stroke-linejoin="round"/>${dots.join('')}`;
}

/** A thin line leads from the end of the curve to its name. */
function labelOf(subject: string, last: Point, at: number, colour: string): string {
  const { x, y } = last;
  const weight = isOurs(subject) ? ' font-weight="700"' : '';
  const lead = `<path d="M${(x + 5).toFixed(1)} ${y.toFixed(1)} L${PLOT.right + 14} ${at.toFixed(1)}" fill="none" stroke="${colour}" stroke-width="0.8" opacity="0.6"/>`;
  return `${lead}${text(PLOT.right + 18, at + 4, endOf(subject, last), `fill="${colour}"${weight}`)}`;
}

function endOf(subject: string, last: Point | undefined): string {
  return last === undefined ? '' : `${nameOf(subject)} ${inUnit(medianOf(last.one), last.one.unit)}`;
}

function rule(x1: number, y1: number, x2: number, y2: number): string {
  return `<line x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}" class="grid"/>`;
}

/** 10,000; 1 million would be longer. */
function compact(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: 3 });
}
