// From what the rounds gave to figures: one per subject, condition and metric.

import type { Figure, Unit } from './results.js';
import type { Played } from './rounds.js';

export interface Metric<Figures> {
  metric: string;
  unit: Unit;
  /** Null where this subject has none. */
  of(figures: Figures): number | null;
}

export function figuresOf<Order, Figures>(
  played: readonly Played<Order, Figures>[],
  metrics: readonly Metric<Figures>[],
): Figure[] {
  return metrics.flatMap(({ metric, unit, of }) =>
    played.flatMap(({ seat: { subject, at, x }, rounds }) => {
      const values = rounds.map(of).filter((value) => value !== null);
      if (values.length === 0) return [];
      return [{ subject, at, ...(x !== undefined && { x }), metric, unit, rounds: values }];
    }),
  );
}

/** As a column: 10,000. */
export function counted(count: number, what = ''): string {
  return `${count.toLocaleString('en')}${what === '' ? '' : ` ${what}`}`;
}
