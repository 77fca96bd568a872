// The answers as a page: a table per question, its pictures, how it was measured.

import { driverOf } from '../drivers/index.js';
import type { Result, Table } from '../results.js';
import { distinct, type Grid, gridsOf } from './grid.js';

export function page(results: readonly Result[]): string {
  return [
    '# What saving costs',
    '',
    'Made by `npm run bench`; every figure is the median of its rounds, in which the subjects took turns. **Bold** is holdfast.',
    ...(results.some(({ isQuick }) => isQuick) ? ['', 'From a quick run: figures are rough.'] : []),
    '',
    ...results.map(({ question, title }) => `- [${question}. ${title}](#${anchor(`${question}. ${title}`)})`),
    '',
    ...results.flatMap(sectionOf),
    ...used(results),
  ].join('\n');
}

export function aboutOf({ date, machine, commit }: Result): string {
  return `${date}, ${machine}, commit ${commit}`;
}

function sectionOf(result: Result): string[] {
  const { question, title, tables, charts, wanted, notes, failures, command, tookS, isQuick } = result;
  return [
    `## ${question}. ${title}`,
    '',
    `${aboutOf(result)}. \`${command}\`${isQuick ? ', quick' : ''}, ${tookS.toFixed(0)} s.`,
    '',
    ...charts.flatMap((chart) => [`![${chart.title}](${chart.file})`, '']),
    ...tables.flatMap(tablesOf),
    ...wantedOf(wanted),
    ...notes.map((note) => `- ${note}`),
    ...failures.map((why) => `- Failed: ${why}`),
    '',
  ];
}

/** The first grid of a table is shown, the others can be opened. */
function tablesOf(table: Table): string[] {
  const [first, ...others] = gridsOf(table);
  if (first === undefined) return [];
  const note = table.note === undefined ? [] : [table.note, ''];
  const folded = others.flatMap((grid) => [
    `<details><summary>${grid.title}</summary>`,
    '',
    ...markdownOf(grid),
    '',
    '</details>',
    '',
  ]);
  return [`**${first.title}**`, '', ...markdownOf(first), '', ...note, ...folded];
}

export function markdownOf({ head, rows }: Pick<Grid, 'head' | 'rows'>): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [
    line(head),
    `|${head.map((_, at) => (at === 0 ? '---|' : '---:|')).join('')}`,
    ...rows.map(({ cells, isOurs }) => line(cells.map((cell) => (isOurs && cell !== '–' ? `**${cell}**` : cell)))),
  ];
}

function wantedOf(wanted: Result['wanted']): string[] {
  if (wanted.length === 0) return [];
  return [
    '| | wanted | seen | |',
    '|---|---|---|---|',
    ...wanted.map(({ what, wanted: aim, seen, isMet }) => `| ${what} | ${aim} | ${seen} | ${isMet ? '✓' : '✗'} |`),
    '',
  ];
}

function used(results: readonly Result[]): string[] {
  const subjects = distinct(
    results.flatMap(({ tables }) => tables.flatMap(({ figures }) => figures.map((one) => one.subject))),
  );
  const versions = Object.assign({}, ...results.map((one) => one.versions)) as Record<string, string>;
  const lines = subjects.flatMap((id) => {
    const driver = tryDriver(id);
    if (driver === null) return [];
    const version = driver.package === undefined ? '' : (versions[driver.package] ?? '');
    return [`| ${driver.name} | ${version} | ${driver.how} |`];
  });
  return ['## How each one was used', '', '| subject | version | |', '|---|---|---|', ...lines, ''];
}

/** Not every subject is a driver: some are a way to do it by hand. */
function tryDriver(id: string) {
  try {
    return driverOf(id);
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}

/** As repository pages make them from headings. */
function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s-]/gu, '')
    .replaceAll(' ', '-');
}
