// 6. How long does process.exit() take with changes that are not on disk yet, and are they on disk then?

import { rmSync } from 'node:fs';
import { start } from '../../test/support/process-child.js';
import { compiled, moduleAt } from '../compiled.js';
import { inUnit } from '../format.js';
import { type Question, roundsOf } from '../question.js';
import type { Figure, Table, Wanted } from '../results.js';
import { newDirectory } from '../rounds.js';
import { Judge } from '../wanted.js';
import { type ExitOrder, type ExitWay, foundAfter, WAYS } from './exit-child.js';

const CHILD = compiled(moduleAt('questions/exit-child'));
const SIZES: readonly { name: string; bytes: number }[] = [
  { name: 'nothing', bytes: 0 },
  { name: '1 KB', bytes: 1_000 },
  { name: '1 MB', bytes: 1_000_000 },
  { name: '50 MB', bytes: 50_000_000 },
];
const NAMES: Record<ExitWay, string> = {
  bare: 'process.exit() alone',
  holdfast: 'holdfast',
  'write-file-atomic': 'write-file-atomic.sync on exit',
};
/** No exit takes that long: it is a failure then. */
const HANG_MS = 60_000;

interface Trial {
  ms: number;
  isSaved: boolean;
}

export const exit: Question = {
  id: 'q6',
  title: 'How long does process.exit() take?',
  async run(context) {
    const ways = WAYS.filter((way) => way !== 'write-file-atomic' || context.rivals.some(({ id }) => id === way));
    const sizes = context.isQuick ? SIZES.filter(({ name }) => name !== '1 KB') : SIZES;
    const trials = sizes.flatMap(({ name, bytes }) => ways.map((way) => ({ way, name, bytes, found: [] as Trial[] })));
    const rounds = roundsOf(context);
    const failures: string[] = [];
    for (let round = 0; round < rounds; round++) {
      for (const [at, { way, name, bytes, found }] of trials.entries()) {
        context.onProgress(round * trials.length + at, rounds * trials.length, `${NAMES[way]}, ${name}`);
        try {
          found.push(await leave(newDirectory(context.scratch), way, bytes));
        } catch (error) {
          failures.push(`${NAMES[way]}, ${name}: ${(error as Error).message}`);
        }
      }
    }
    const figures = trials.flatMap(({ way, name, bytes, found }) => figuresFor(NAMES[way], name, bytes, found));
    const table: Table = {
      id: 'exit',
      title: 'From process.exit() to the end of the process',
      columns: 'conditions',
      figures,
    };
    return { tables: [table], charts: CHARTS, wanted: wantedOf(table), notes: NOTES, failures };
  },
};

async function leave(directory: string, way: ExitWay, bytes: number): Promise<Trial> {
  const order: ExitOrder = { directory, way, bytes };
  const program = `import { leave } from ${JSON.stringify(CHILD)}; await leave(${JSON.stringify(order)});`;
  const running = start(program, { timeoutMs: HANG_MS });
  const line = await running.line('leaving ');
  const { code, isHung, stderr } = await running.ended;
  const endedAtMs = performance.timeOrigin + performance.now();
  if (line === null || code !== 0 || isHung)
    throw new Error(`ended with ${code}${isHung ? ', it hung' : ''}: ${stderr.trim()}`);
  const isSaved = bytes === 0 || (await foundAfter(order)) === bytes;
  rmSync(directory, { recursive: true });
  return { ms: endedAtMs - Number(line.slice('leaving '.length)), isSaved };
}

function figuresFor(subject: string, at: string, bytes: number, found: readonly Trial[]): Figure[] {
  if (found.length === 0) return [];
  const about = { subject, at };
  const isAsked = bytes > 0 && subject !== NAMES.bare;
  const saved = found.filter(({ isSaved }) => isSaved).length / found.length;
  return [
    { ...about, metric: 'time', unit: 'ms', rounds: found.map(({ ms }) => ms) },
    ...(isAsked ? [{ ...about, metric: 'share that was saved', unit: '' as const, rounds: [saved] }] : []),
  ];
}

function wantedOf(table: Table): Wanted[] {
  const judge = new Judge([table]);
  for (const { name, bytes } of SIZES) {
    if (bytes === 0) continue;
    const [saved, ms] = ['share that was saved', 'time'].map((metric) =>
      judge.value('exit', NAMES.holdfast, name, metric),
    );
    judge.expect(`${name} pending at exit`, 'saved, always', [saved ?? null, ms ?? null], (share, took) => ({
      seen: `${(share * 100).toFixed(0)} % in ${inUnit(took, 'ms')}`,
      isMet: share === 1,
    }));
  }
  return judge.wanted;
}

const CHARTS = [
  {
    file: 'q6-exit.svg',
    title: 'From process.exit() to the end of the process',
    table: 'exit',
    metric: 'time',
    kind: 'bars' as const,
    scale: 'log' as const,
  },
];

const NOTES = [
  'The listener of write-file-atomic saves the whole state with `writeFileAtomic.sync` when the process exits.',
  'Pending: one update of that size, made just before. The process says the time, calls process.exit(), and its end is seen from outside.',
  'Saved: what a process that opens it afterwards finds.',
];
