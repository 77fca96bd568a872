// Results as a benchmark would hand them in, with figures that are made up.

import type { Figure, Result, Table } from '../../bench/results.js';

export function figure(subject: string, at: string, rounds: number[], more: Partial<Figure> = {}): Figure {
  return { subject, at, metric: 'main-thread CPU', unit: 'µs', rounds, ...more };
}

export function table(figures: Figure[], more: Partial<Table> = {}): Table {
  return { id: 'update', title: 'One update', columns: 'conditions', figures, ...more };
}

export function result(tables: Table[], more: Partial<Result> = {}): Result {
  const about = { question: 'q1', title: 'What does a save cost?', date: '2026-01-02', commit: 'abc1234' };
  const how = {
    command: 'npm run bench',
    machine: 'a machine',
    versions: { lmdb: '3.0.0' },
    isQuick: false,
    tookS: 61,
  };
  return { ...about, ...how, tables, charts: [], wanted: [], notes: [], failures: [], ...more };
}
