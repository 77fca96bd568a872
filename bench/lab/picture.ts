// The report as a picture: one bar per subject and campaign, coloured by what became of the trials.

import { driverOf } from './drivers/index.js';
import { driversIn } from './markdown.js';
import { type LabReport, labelsOf, type Outcome, summed } from './report.js';

const COLOURS: Readonly<Record<Outcome, string>> = {
  intact: '#2e9e5b',
  lost: '#f0b429',
  missing: '#ef7d22',
  damaged: '#d64545',
  wrong: '#5b2a86',
};
/** Of bit rot: a refusal is what one wants. */
const REFUSED = '#8fb8de';

const LEFT = 200;
const TOP = 92;
const COLUMN = 128;
const LINE = 26;
const BAR = { width: 112, height: 14 } as const;

export function picture({ campaigns, date, machine }: LabReport): string {
  const ran = campaigns.filter(({ rows }) => rows.length > 0);
  const drivers = driversIn(ran);
  const width = LEFT + ran.length * COLUMN + 16;
  const height = TOP + drivers.length * LINE + 36;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12">`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    text(16, 26, 'What survives', 'font-size="18" font-weight="600"'),
    ...legend(),
    ...ran.map(({ campaign }, at) => text(LEFT + at * COLUMN, TOP - 12, campaign, 'font-weight="600"')),
  ];
  for (const [line, id] of drivers.entries()) {
    const y = TOP + line * LINE;
    parts.push(text(16, y + 11, driverOf(id).name));
    for (const [at, { campaign, rows }] of ran.entries()) {
      const own = rows.filter(({ driver }) => driver === id);
      const x = LEFT + at * COLUMN;
      if (own.length === 0) parts.push(text(x, y + 11, '–', 'fill="#888"'));
      else parts.push(bar(x, y, campaign, summed(own)));
    }
  }
  parts.push(text(16, height - 12, `${date}. ${machine}`, 'fill="#666" font-size="10"'), '</svg>', '');
  return parts.join('\n');
}

function bar(x: number, y: number, campaign: string, { trials, outcomes }: ReturnType<typeof summed>): string {
  const labels = labelsOf(campaign);
  const said = (Object.keys(labels) as Outcome[])
    .filter((kind) => outcomes[kind] > 0)
    .map((kind) => `${outcomes[kind]} ${labels[kind]}`);
  let at = x;
  const pieces = (Object.keys(COLOURS) as Outcome[]).flatMap((kind) => {
    if (outcomes[kind] === 0) return [];
    // One in ten thousand is still there to be seen.
    const width = Math.max((outcomes[kind] / trials) * BAR.width, 2);
    const fill = colour(kind, campaign);
    const piece = `<rect x="${at.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${BAR.height}" fill="${fill}"/>`;
    at += width;
    return [piece];
  });
  return `<g><title>${trials} trials: ${said.join(', ')}</title>${pieces.join('')}</g>`;
}

function colour(kind: Outcome, campaign: string): string {
  return kind === 'damaged' && labelsOf(campaign).damaged === 'refused' ? REFUSED : COLOURS[kind];
}

function legend(): string[] {
  const entries: [string, string][] = [
    [COLOURS.intact, 'intact'],
    [COLOURS.lost, 'acknowledged saves lost'],
    [COLOURS.missing, 'nothing there'],
    [COLOURS.damaged, 'damaged'],
    [COLOURS.wrong, 'wrong in silence'],
    [REFUSED, 'damage refused'],
  ];
  let x = 16;
  return entries.flatMap(([fill, label]) => {
    const at = x;
    x += 38 + label.length * 6.6;
    return [`<rect x="${at}" y="42" width="12" height="12" fill="${fill}"/>`, text(at + 17, 52, label)];
  });
}

function text(x: number, y: number, content: string, more = ''): string {
  const safe = content.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<text x="${x.toFixed(1)}" y="${y}" fill="#222" ${more}>${safe}</text>`.replace(/fill="#222" (.*fill=)/, '$1');
}
