// 5. How long until a state is back, verified, and how much memory does that take?

import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { itemsIn } from '../agent-state.js';
import { onceAndKilled, onceApart } from '../apart.js';
import { moduleAt } from '../compiled.js';
import { among, driverOf } from '../drivers/index.js';
import { inUnit } from '../format.js';
import { type Context, portion, type Question, roundsOf } from '../question.js';
import type { Figure, Table, Wanted } from '../results.js';
import { newDirectory } from '../rounds.js';
import { Judge } from '../wanted.js';
import { CONDITIONS, type Condition, type LoadFigures } from './load-child.js';
import { decodeTable } from './load-decode.js';

const RIVALS = ['lowdb', 'conf', 'nedb', 'sqlite-wal-full', 'lmdb', 'classic-level'];
const CHILD = moduleAt('questions/load-child');
const JSON_SUBJECT = 'JSON.parse(readFileSync())';

/** What is loaded, and what is done to a copy of it before. */
interface Load {
  subject: string;
  driver: string;
  condition: Condition;
}

function loadsOf({ rivals }: Context): Load[] {
  return [
    { subject: JSON_SUBJECT, driver: 'json', condition: 'clean' },
    ...CONDITIONS.map((condition): Load => {
      const how = condition === 'clean' ? '' : `, ${condition}`;
      return { subject: `holdfast${how}`, driver: 'holdfast-zod', condition };
    }),
    ...among(RIVALS, rivals).map(({ id }): Load => ({ subject: id, driver: id, condition: 'clean' })),
  ];
}

export const load: Question = {
  id: 'q5',
  title: 'How long until a state is back?',
  async run(context) {
    const sizes = context.isQuick ? [10] : [1, 10, 100];
    const table: Table = {
      id: 'load',
      title: 'From disk to memory, in a new process',
      columns: 'conditions',
      figures: [],
    };
    const failures: string[] = [];
    for (const [at, mb] of sizes.entries()) {
      table.figures.push(...(await measureSize(portion(context, at, sizes.length + 1), mb, failures)));
    }
    const decode = await decodeTable(portion(context, sizes.length, sizes.length + 1));
    failures.push(...decode.failures);
    return {
      tables: [inOrder(table), decode.table],
      charts: CHARTS,
      wanted: [...wantedOf(table), ...decode.wanted],
      notes: NOTES,
      failures,
    };
  },
};

/** One table per metric, the time first. */
function inOrder(table: Table): Table {
  const order = ['time', 'of which open', 'peak memory', 'memory when loaded'];
  const figures = table.figures.toSorted((a, b) => order.indexOf(a.metric) - order.indexOf(b.metric));
  return { ...table, figures };
}

async function measureSize(context: Context, mb: number, failures: string[]): Promise<Figure[]> {
  const loads = loadsOf(context);
  const drivers = [...new Set(loads.map(({ driver }) => driver).filter((id) => id !== 'json'))];
  const rounds = roundsOf(context);
  const total = drivers.length + rounds * loads.length;
  const root = newDirectory(context.scratch);
  const found = new Map<Load, LoadFigures[]>(loads.map((one) => [one, []]));
  let done = 0;
  const attempt = async (what: string, work: () => Promise<void>) => {
    context.onProgress(done++, total, `${what}, ${mb} MB`);
    try {
      await work();
    } catch (error) {
      failures.push(`${what}, ${mb} MB: ${(error as Error).message}`);
    }
  };
  for (const driver of drivers) {
    const directory = join(root, driver);
    mkdirSync(directory);
    await attempt(`${driver}, writing`, () =>
      onceApart(CHILD, 'prepareWriting', { driver, directory, items: itemsIn(mb) }),
    );
  }
  for (let round = 0; round < rounds; round++) {
    for (const [one, list] of found) await attempt(one.subject, async () => void list.push(await loadOnce(root, one)));
  }
  rmSync(root, { recursive: true });
  return [...found].flatMap(([{ subject }, list]) => figuresFor(subject, mb, list));
}

/** Each in a process of its own; what opening changes is done to a copy. */
async function loadOnce(root: string, { driver, condition }: Load): Promise<LoadFigures> {
  const source = join(root, driver === 'json' ? 'holdfast-zod' : driver);
  if (driver === 'json') return onceApart(CHILD, 'prepareParsing', { path: join(source, 'loop.json') });
  if (driverOf(driver).package !== undefined) return onceApart(CHILD, 'prepareLoading', { driver, directory: source });
  const directory = join(root, 'copy');
  cpSync(source, directory, { recursive: true, filter: (path) => !path.endsWith('.sock') });
  try {
    if (condition !== 'clean') await onceAndKilled(CHILD, 'prepareHarm', { driver, directory, condition });
    return await onceApart(CHILD, 'prepareLoading', { driver, directory });
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function figuresFor(subject: string, mb: number, list: readonly LoadFigures[]): Figure[] {
  const [first] = list;
  if (first === undefined) return [];
  const about = { subject, at: `${mb} MB`, x: mb };
  const ofAll = (metric: string, unit: Figure['unit'], key: 'ms' | 'peakMb' | 'loadedMb'): Figure => {
    return { ...about, metric, unit, rounds: list.map((one) => one[key]) };
  };
  const opens = list.flatMap(({ openMs }) => (openMs === null ? [] : [openMs]));
  return [
    ofAll('time', 'ms', 'ms'),
    ...(opens.length === 0 ? [] : [{ ...about, metric: 'of which open', unit: 'ms' as const, rounds: opens }]),
    ofAll('peak memory', 'MB', 'peakMb'),
    ofAll('memory when loaded', 'MB', 'loadedMb'),
  ];
}

/** Below this it is about starting threads, whatever the state. */
const JUDGED = '100 MB';

function wantedOf(table: Table): Wanted[] {
  const judge = new Judge([table]);
  const time = (subject: string) => judge.value('load', subject, JUDGED, 'time');
  judge.expect(
    `a clean state of ${JUDGED}, schema unchanged, against JSON.parse of its file`,
    '2 × its time',
    [time('holdfast'), time(JSON_SUBJECT)],
    (ours, theirs) => ({
      seen: `${inUnit(ours, 'ms')} and ${inUnit(theirs, 'ms')}: ${(ours / theirs).toFixed(2)} ×`,
      isMet: ours <= 2 * theirs,
    }),
  );
  return judge.wanted;
}

const CHARTS = [
  {
    file: 'q5-load.svg',
    title: 'From disk to memory, verified',
    table: 'load',
    metric: 'time',
    kind: 'lines' as const,
    xLabel: 'MB of state as JSON',
    scale: 'log' as const,
  },
];

const NOTES = [
  'Imports are not counted, files are in the page cache. Verified: holdfast by checksums over everything; better-sqlite3 by integrity_check, which sees structure and not content; the others read what is there.',
  'holdfast has the zod schema that it had when it saved. Killed: never closed, with 10,000 commits since. Damaged: a byte in the middle of the newest base is another one; what is older has it all.',
  'Memory is resident, of all threads, above what the process had before it loaded.',
];
