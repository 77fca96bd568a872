// What a question hands in. Everything that is printed, drawn or compared later is made from this.

export type Unit = 'µs' | 'ms' | 's' | '/s' | 'MB' | 'MB/s' | 'bytes' | '×' | '';

export interface Figure {
  /** The id of a driver, or the name of what else was measured. */
  subject: string;
  /** Under which condition; empty when there is only one. */
  at: string;
  /** The condition as a number, where it is drawn. */
  x?: number;
  metric: string;
  unit: Unit;
  /** One value per round. */
  rounds: number[];
}

export interface Table {
  id: string;
  title: string;
  /** What the columns are. With conditions there is one table per metric, the most important one first. */
  columns: 'conditions' | 'metrics';
  figures: Figure[];
  /** One line below it. */
  note?: string;
}

/** Drawn from the figures of a table. */
export interface Chart {
  file: string;
  title: string;
  table: string;
  metric: string;
  kind: 'lines' | 'bars';
  /** @default the conditions in words */
  xLabel?: string;
  scale: 'log' | 'linear';
  /** Of a chart of bars: only this condition. */
  at?: string;
}

/** What it is to show, and what it showed. */
export interface Wanted {
  what: string;
  wanted: string;
  seen: string;
  isMet: boolean;
}

export interface Answer {
  tables: Table[];
  charts: Chart[];
  wanted: Wanted[];
  /** How it was measured, and what could not be. */
  notes: string[];
  /** Subjects that failed, with what they said. */
  failures: string[];
}

export interface Result extends Answer {
  question: string;
  title: string;
  date: string;
  commit: string;
  command: string;
  machine: string;
  versions: Record<string, string>;
  isQuick: boolean;
  tookS: number;
}

export function figureOf(
  { figures }: Table,
  { subject, at, metric }: Partial<Pick<Figure, 'subject' | 'at' | 'metric'>>,
): Figure | null {
  return (
    figures.find(
      (one) =>
        (subject === undefined || one.subject === subject) &&
        (at === undefined || one.at === at) &&
        (metric === undefined || one.metric === metric),
    ) ?? null
  );
}

/** More of it is better. */
export function isMoreBetter(unit: Unit): boolean {
  return unit === '/s' || unit === 'MB/s';
}
