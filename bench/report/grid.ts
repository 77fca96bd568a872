// A table as rows of text, for a terminal and for a page.

import { DRIVERS } from '../drivers/index.js';
import { inUnit } from '../format.js';
import type { Figure, Table } from '../results.js';
import { medianOf } from '../wanted.js';

export interface Grid {
  title: string;
  head: string[];
  rows: GridRow[];
}

export interface GridRow {
  cells: string[];
  isOurs: boolean;
  /** What a bar beside it shows; null where there is nothing to show. */
  value: number | null;
}

/** One for each metric when the columns are conditions, else one. */
export function gridsOf(table: Table): Grid[] {
  if (table.figures.length === 0) return [];
  if (table.columns === 'metrics') return [gridOfMetrics(table)];
  return distinct(table.figures.map(({ metric }) => metric)).map((metric) => gridOfConditions(table, metric));
}

function gridOfConditions({ title, figures }: Table, metric: string): Grid {
  const own = figures.filter((one) => one.metric === metric);
  const conditions = thinned(distinct(own.map(({ at }) => at)));
  const rows = distinct(own.map(({ subject }) => subject)).map((subject) => {
    const line = conditions.map((at) => own.find((one) => one.subject === subject && one.at === at) ?? null);
    return rowOf(subject, [], line, line.at(-1) ?? null);
  });
  return { title: `${title}: ${metric}`, head: ['', ...conditions], rows };
}

/** A table of sixty columns is read by nobody; the chart has them all. */
const COLUMNS_MAX = 8;

export function thinned<T>(all: readonly T[]): T[] {
  if (all.length <= COLUMNS_MAX) return [...all];
  const step = (all.length - 1) / (COLUMNS_MAX - 1);
  return Array.from({ length: COLUMNS_MAX }, (_, n) => all[Math.round(n * step)] as T);
}

function gridOfMetrics({ title, figures }: Table): Grid {
  const metrics = distinct(figures.map(({ metric }) => metric));
  const lines = distinct(figures.map(({ subject, at }) => JSON.stringify([subject, at])));
  const hasConditions = figures.some(({ at }) => at !== '');
  const rows = lines.map((key) => {
    const [subject, at] = JSON.parse(key) as [string, string];
    const own = figures.filter((one) => one.subject === subject && one.at === at);
    const line = metrics.map((metric) => own.find((one) => one.metric === metric) ?? null);
    return rowOf(subject, hasConditions ? [at] : [], line, line[0] ?? null);
  });
  return { title, head: ['', ...(hasConditions ? [''] : []), ...metrics], rows };
}

function rowOf(subject: string, more: string[], line: readonly (Figure | null)[], shown: Figure | null): GridRow {
  const cells = line.map((figure) => (figure === null ? '–' : inUnit(medianOf(figure), figure.unit)));
  return {
    cells: [nameOf(subject), ...more, ...cells],
    isOurs: subject.startsWith('holdfast'),
    value: shown === null ? null : medianOf(shown),
  };
}

/** Subjects that are no driver have their name for an id. */
export function nameOf(subject: string): string {
  return DRIVERS.find(({ id }) => id === subject)?.name ?? subject;
}

export function distinct<T>(values: readonly T[]): T[] {
  return [...new Set(values)];
}
