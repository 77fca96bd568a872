// What it is to show, held against what it showed. Who was not measured is not judged.

import { type Figure, figureOf, type Table, type Wanted } from './results.js';
import { median } from './statistics.js';

export function medianOf(figure: Figure): number {
  return median(figure.rounds);
}

export class Judge {
  readonly wanted: Wanted[] = [];
  readonly #tables: readonly Table[];

  constructor(tables: readonly Table[]) {
    this.#tables = tables;
  }

  /** The median of the figure, or null where it was not measured. */
  value(table: string, subject: string, at: string, metric: string): number | null {
    const found = this.#tables.find(({ id }) => id === table);
    const figure = found === undefined ? null : figureOf(found, { subject, at, metric });
    return figure === null ? null : medianOf(figure);
  }

  /** Says nothing when one of the values was not measured. */
  expect<V extends readonly (number | null)[]>(
    what: string,
    wanted: string,
    values: V,
    judge: (...values: { [K in keyof V]: number }) => { seen: string; isMet: boolean },
  ): void {
    if (values.some((value) => value === null)) return;
    this.wanted.push({ what, wanted, ...judge(...(values as unknown as { [K in keyof V]: number })) });
  }
}
