// 1, without a disk: one update from draft to frame, and what it costs to hand over everything instead.

import { moduleAt } from '../compiled.js';
import { counted, figuresOf } from '../figures.js';
import { WAYS } from '../micro/hand-over.js';
import type { Latency } from '../micro/measure.js';
import { type Context, portion } from '../question.js';
import type { Table } from '../results.js';
import { inRounds, type Seat } from '../rounds.js';

const SIZES = [100, 100_000];
const METRICS = [
  { metric: 'median', unit: 'µs' as const, of: ({ p50Us }: Latency) => p50Us },
  { metric: 'p99', unit: 'µs' as const, of: ({ p99Us }: Latency) => p99Us },
];

export async function microTables(context: Context): Promise<{ tables: Table[]; failures: string[] }> {
  const updates = await inRounds<null, Latency>(
    moduleAt('micro/update'),
    'prepareUpdates',
    updateSeats(context),
    portion(context, 0, 2),
  );
  const wholes = await inRounds<null, Latency>(
    moduleAt('micro/hand-over'),
    'prepareHandOver',
    wholeSeats(context),
    portion(context, 1, 2),
  );
  const tables: Table[] = [
    {
      id: 'micro-update',
      title: 'One update alone: draft, checks, frame; no disk',
      columns: 'conditions',
      figures: figuresOf(updates.played, METRICS),
      note: 'An id is pushed, a record entry and a field are set.',
    },
    {
      id: 'micro-whole',
      title: 'The whole state handed over instead',
      columns: 'conditions',
      figures: figuresOf(wholes.played, METRICS.slice(0, 1)),
    },
  ];
  return { tables, failures: [...updates.failures, ...wholes.failures] };
}

function updateSeats({ isQuick }: Context): Seat<null>[] {
  const iterations = isQuick ? 2_000 : 10_000;
  return [true, false].flatMap((hasSchema) =>
    SIZES.map((items) => ({
      subject: hasSchema ? 'update with a zod schema' : 'update',
      at: counted(items, 'items'),
      x: items,
      start: { items, hasSchema, iterations },
      order: null,
    })),
  );
}

function wholeSeats({ isQuick }: Context): Seat<null>[] {
  return Object.keys(WAYS).flatMap((way) =>
    SIZES.map((items) => ({
      subject: way,
      at: counted(items, 'items'),
      x: items,
      start: { way, items, iterations: items === 100 ? 2_000 : isQuick ? 2 : 8 },
      order: null,
    })),
  );
}
