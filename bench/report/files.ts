// Results in a folder: a file per question, a page and its pictures made from them.

import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Chart, Result } from '../results.js';
import { barsChart } from './bars-chart.js';
import { linesChart } from './lines-chart.js';
import { aboutOf, page } from './page.js';

const RESULT = /^q\d+\.json$/;

export function writeResult(folder: string, result: Result): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${result.question}.json`), `${JSON.stringify(result, null, 1)}\n`);
}

/** All of a folder in the order of the questions, or the one of a file. */
export function readResults(path: string): Result[] {
  if (!existsSync(path)) throw new TypeError(`Expected results of a benchmark in ${path}, where nothing is`);
  const files = statSync(path).isDirectory()
    ? readdirSync(path)
        .filter((name) => RESULT.test(name))
        .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
        .map((name) => join(path, name))
    : [path];
  // What --json printed is a list.
  const results = files.flatMap(parsed);
  const isResult = (one: Partial<Result>) => typeof one.question === 'string' && Array.isArray(one.tables);
  if (results.length === 0 || !results.every(isResult))
    throw new TypeError(`Expected results of a benchmark in ${path}`);
  return results;
}

function parsed(file: string): Result | Result[] {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Result | Result[];
  } catch (error) {
    if (error instanceof SyntaxError) throw new TypeError(`Expected JSON in ${file}: ${error.message}`);
    throw error;
  }
}

export function writeReport(folder: string, results: readonly Result[]): void {
  for (const result of results) {
    for (const chart of result.charts) {
      const drawn = draw(chart, result);
      if (drawn !== null) writeFileSync(join(folder, chart.file), drawn);
    }
  }
  writeFileSync(join(folder, 'README.md'), page(results));
}

/** Null when nobody was measured. */
export function draw(chart: Chart, result: Result): string | null {
  const table = result.tables.find(({ id }) => id === chart.table);
  const figures = (table?.figures ?? []).filter(({ metric }) => metric === chart.metric);
  if (figures.length === 0) return null;
  const about = `${aboutOf(result)}${result.isQuick ? ', quick' : ''}`;
  // One point is no line.
  const isLines = chart.kind === 'lines' && new Set(figures.map(({ x }) => x)).size > 1;
  return isLines ? linesChart(chart, figures, about) : barsChart(chart, figures, about);
}
