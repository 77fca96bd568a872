// 7. How much memory does it take, all threads, and does it stay as much?

import { itemsIn } from '../agent-state.js';
import { moduleAt } from '../compiled.js';
import { among } from '../drivers/index.js';
import { figuresOf } from '../figures.js';
import { inUnit } from '../format.js';
import { inWords } from '../lab/progress.js';
import { type Context, portion, type Question } from '../question.js';
import type { Figure, Table, Wanted } from '../results.js';
import { inRounds, type Played } from '../rounds.js';
import { median } from '../statistics.js';
import { Judge } from '../wanted.js';
import type { MemoryFigures, SoakFigures } from './memory-child.js';

const SUBJECTS = ['nothing', 'holdfast-zod', 'write-file-atomic-debounced', 'lowdb', 'conf', 'nedb'];
const CHILD = moduleAt('questions/memory-child');
const ALONE = 'nothing';
const RATIO = '× heap of the state alone';
const SOAK_MB = 10;
const SAMPLES_MAX = 60;
const SAMPLE_MIN_S = 0.25;

export const memory: Question = {
  id: 'q7',
  title: 'How much memory, and does it stay as much?',
  async run(context) {
    const sizes = context.isQuick ? [10] : [1, 10, 100];
    const table: Table = {
      id: 'memory',
      title: 'Resident memory of all threads, more than the process had before',
      columns: 'conditions',
      figures: [],
    };
    const failures: string[] = [];
    for (const [at, mb] of sizes.entries()) {
      const seats = among(SUBJECTS, context.rivals).map(({ id }) => ({
        subject: id,
        at: `${mb} MB`,
        x: mb,
        start: { driver: id, items: itemsIn(mb) },
        order: null,
      }));
      const part = portion(context, at, sizes.length + 1);
      const outcome = await inRounds<null, MemoryFigures>(CHILD, 'prepareMemory', seats, part, context.isQuick ? 1 : 3);
      failures.push(...outcome.failures);
      table.figures.push(...memoryFigures(outcome.played, mb));
    }
    table.figures.sort((a, b) => METRIC_ORDER.indexOf(a.metric) - METRIC_ORDER.indexOf(b.metric));
    const soaked = await soak(portion(context, sizes.length, sizes.length + 1));
    failures.push(...soaked.failures);
    const wanted = [...wantedOf(table, sizes), ...soaked.wanted];
    return { tables: [table, soaked.table], charts: CHARTS, wanted, notes: NOTES, failures };
  },
};

const PER_MB = 'per MB of state as JSON';
const METRIC_ORDER = [RATIO, PER_MB, 'resident', 'heap of the state'];

function memoryFigures(played: readonly Played<null, MemoryFigures>[], mb: number): Figure[] {
  const alone = played.find(({ seat }) => seat.subject === ALONE);
  const heap = alone === undefined ? null : median(alone.rounds.map(({ heapMb }) => heapMb));
  const ratio = {
    metric: RATIO,
    unit: '×' as const,
    of: ({ residentMb }: MemoryFigures) => (heap === null ? null : residentMb / heap),
  };
  return [
    ...figuresOf(played, [
      ratio,
      { metric: PER_MB, unit: 'MB', of: ({ residentMb }) => residentMb / mb },
      { metric: 'resident', unit: 'MB', of: ({ residentMb }) => residentMb },
    ]),
    ...figuresOf(alone === undefined ? [] : [alone], [
      { metric: 'heap of the state', unit: 'MB', of: ({ heapMb }) => heapMb },
    ]),
  ];
}

async function soak(context: Context): Promise<{ table: Table; wanted: Wanted[]; failures: string[] }> {
  const samples = Math.max(4, Math.min(SAMPLES_MAX, Math.floor(context.soakS / SAMPLE_MIN_S)));
  const seat = {
    subject: 'holdfast-zod',
    at: '',
    start: { driver: 'holdfast-zod', items: itemsIn(SOAK_MB), seconds: context.soakS / samples },
    order: null,
  };
  const { played, failures } = await inRounds<null, SoakFigures>(CHILD, 'prepareSoak', [seat], context, samples);
  const taken = played[0]?.rounds ?? [];
  const figures = taken.map(({ residentMb, atS }): Figure => {
    return {
      subject: 'holdfast-zod',
      at: `${Math.round(atS)} s`,
      x: atS,
      metric: 'resident',
      unit: 'MB',
      rounds: [residentMb],
    };
  });
  const rate = median(taken.map(({ perSecond }) => perSecond).concat(taken.length === 0 ? [0] : []));
  const table: Table = {
    id: 'soak',
    title: `Resident memory over ${inWords(context.soakS)} with ${SOAK_MB} MB of state`,
    columns: 'conditions',
    figures,
    note: `${Math.round(rate).toLocaleString('en')} updates a second.`,
  };
  return { table, wanted: wantedOfSoak(taken), failures };
}

/** The first third is for the heap to find its size. */
function wantedOfSoak(taken: readonly SoakFigures[]): Wanted[] {
  if (taken.length < 4) return [];
  const third = Math.floor(taken.length / 3);
  const residents = taken.map(({ residentMb }) => residentMb);
  const [before, after] = [median(residents.slice(third, 2 * third)), median(residents.slice(2 * third))];
  const seen = `${inUnit(before, 'MB')} → ${inUnit(after, 'MB')}, ${(after / before).toFixed(2)} ×`;
  return [
    {
      what: 'the soak, its last third against the one before',
      wanted: 'flat: 1.1 ×',
      seen,
      isMet: after <= 1.1 * before,
    },
  ];
}

function wantedOf(table: Table, sizes: readonly number[]): Wanted[] {
  const judge = new Judge([table]);
  for (const mb of sizes) {
    judge.expect(
      `${mb} MB of state, all threads, against the heap of the state alone`,
      '2.5 ×',
      [judge.value('memory', 'holdfast-zod', `${mb} MB`, RATIO)],
      (ratio) => ({ seen: `${ratio.toFixed(2)} ×`, isMet: ratio <= 2.5 }),
    );
  }
  return judge.wanted;
}

const CHARTS = [
  {
    file: 'q7-soak.svg',
    title: 'Resident memory of all threads while updates go on',
    table: 'soak',
    metric: 'resident',
    kind: 'lines' as const,
    xLabel: 'seconds',
    scale: 'linear' as const,
  },
];

const NOTES = [
  'Measured after 2,000 updates, or those of one second, when all is on disk, a second and a half has gone by and garbage is collected on the main thread; other threads collect theirs when they like. While the file of a large document is written, holdfast holds a second copy of the state and the text of the file. The state itself is part of it: the line of nothing saved is the state alone. Threads have a size of their own, which weighs most where the state is small.',
  'During the soak nothing is collected on purpose. `--soak 3600` makes it an hour.',
];
