// The answers where they were asked for: tables with bars.

import type { Result, Wanted } from '../results.js';
import { type Grid, type GridRow, gridsOf } from './grid.js';

const BAR = 24;
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

export function inTerminal(
  { question, title, tables, wanted, notes, failures, tookS }: Result,
  isColoured: boolean,
): string {
  const paint = (code: number, text: string) => (isColoured ? `\x1b[${code}m${text}\x1b[0m` : text);
  return [
    '',
    paint(1, `${question}. ${title}`),
    ...tables.flatMap((table) => [
      ...gridsOf(table).flatMap((grid) => ['', ...linesOf(grid, paint)]),
      ...(table.note === undefined ? [] : [paint(2, table.note)]),
    ]),
    ...(wanted.length === 0 ? [] : ['', ...wanted.map((one) => lineOf(one, paint))]),
    ...failures.map((why) => paint(31, `failed: ${why}`)),
    '',
    ...notes.map((note) => paint(2, note)),
    paint(2, `${tookS.toFixed(0)} s`),
  ].join('\n');
}

type Paint = (code: number, text: string) => string;

function lineOf({ what, wanted, seen, isMet }: Wanted, paint: Paint): string {
  return `${isMet ? paint(32, '✓') : paint(31, '✗')} ${what}: wanted ${wanted}, seen ${seen}`;
}

function linesOf({ title, head, rows }: Grid, paint: Paint): string[] {
  const widths = head.map((cell, at) =>
    Math.max(cell.length, ...rows.map(({ cells }) => (cells[at] as string).length)),
  );
  const inLine = (cells: readonly string[]) =>
    cells
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] as number) : cell.padStart(widths[at] as number)))
      .join('  ');
  const { bars, isLog } = barsOf(rows);
  return [
    paint(4, title),
    paint(2, `${inLine(head)}${isLog ? '  (bars: logarithmic)' : ''}`),
    ...rows.map(({ cells, isOurs }, at) => {
      const line = inLine(cells);
      return `${isOurs ? paint(1, line) : line}  ${paint(isOurs ? 32 : 36, bars[at] as string)}`;
    }),
  ];
}

/** From here on a linear bar hides the small ones. */
const LOG_FROM = 50;

/** Of the last condition, or of the first metric. */
export function barsOf(rows: readonly Pick<GridRow, 'value'>[]): { bars: string[]; isLog: boolean } {
  const values = rows.flatMap(({ value }) => (value !== null && value > 0 ? [value] : []));
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const isLog = high > low * LOG_FROM;
  const share = (value: number) =>
    isLog ? (Math.log(value / low) + 0.5) / (Math.log(high / low) + 0.5) : value / high;
  return { bars: rows.map(({ value }) => (value === null || value <= 0 ? '' : bar(share(value)))), isLog };
}

function bar(share: number): string {
  const eighths = Math.max(1, Math.round(share * BAR * 8));
  return '█'.repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8];
}
