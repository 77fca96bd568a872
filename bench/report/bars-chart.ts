// One bar per subject, its value beside it.

import { inUnit } from '../format.js';
import type { Chart, Figure } from '../results.js';
import { medianOf } from '../wanted.js';
import { nameOf } from './grid.js';
import { linearScale, logScale } from './scale.js';
import { coloursOf, isOurs, picture, text, widthOf } from './svg.js';

const WIDTH = 900;
/** Beside the longest bar there is room for its value. */
const RIGHT = WIDTH - 90;
const TOP = 56;
const LINE = 26;
const BAR = 15;

export function barsChart(chart: Chart, figures: readonly Figure[], about: string): string {
  const shown = figures.filter(({ at }) => chart.at === undefined || at === chart.at);
  const names = shown.map(({ subject, at }) =>
    chart.at === undefined && at !== '' ? `${nameOf(subject)}, ${at}` : nameOf(subject),
  );
  const left = Math.max(...names.map(widthOf)) + 30;
  const height = TOP + shown.length * LINE + 54;
  const bottom = TOP + shown.length * LINE;
  const unit = shown[0]?.unit ?? '';
  const scale = chart.scale === 'log' ? logScale : linearScale;
  const x = scale(shown.map(medianOf), { from: left, to: RIGHT }, (value) => inUnit(value, unit));
  const colours = coloursOf(shown.map(({ subject }) => subject));
  return picture(WIDTH, height, [
    text(16, 28, chart.title, 'class="ink" font-size="17" font-weight="600"'),
    ...x.ticks.flatMap(({ value, label }) => [
      `<line x1="${x.at(value).toFixed(1)}" y1="${TOP}" x2="${x.at(value).toFixed(1)}" y2="${bottom}" class="grid"/>`,
      text(x.at(value), bottom + 16, label, 'class="soft" text-anchor="middle"'),
    ]),
    ...shown.map((figure, at) => {
      const y = TOP + at * LINE + (LINE - BAR) / 2;
      const end = Math.max(x.at(medianOf(figure)), left + 2);
      const colour = colours.get(figure.subject) as string;
      const weight = isOurs(figure.subject) ? ' font-weight="700"' : '';
      return [
        text(left - 10, y + 12, names[at] as string, `class="ink" text-anchor="end"${weight}`),
        `<rect x="${left}" y="${y.toFixed(1)}" width="${(end - left).toFixed(1)}" height="${BAR}" rx="2" fill="${colour}"/>`,
        text(end + 6, y + 12, inUnit(medianOf(figure), figure.unit), `class="ink"${weight}`),
      ].join('');
    }),
    text(16, height - 10, about, 'class="soft" font-size="10"'),
  ]);
}
