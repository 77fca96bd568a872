import { driverOf } from '../drivers/index.js';
import { inUnit } from '../format.js';
import type { Table, Wanted } from '../results.js';
import { Judge } from '../wanted.js';
import { JUDGED, pacedAt } from './growth-paced.js';

const CPU = 'main-thread CPU';

export function wantedOfGrowth(tables: readonly Table[]): Wanted[] {
  const judge = new Judge(tables);
  for (const [table, subject] of GROWING) flat(judge, table, subject);
  const at = '10,000 items';
  judge.expect(
    'an update at 10,000 items, against write-file-atomic',
    '500 × less main-thread CPU',
    [judge.value('update', 'holdfast', at, CPU), judge.value('update', 'write-file-atomic', at, CPU)],
    (ours, theirs) => ({ seen: `${(theirs / ours).toFixed(0)} × less`, isMet: theirs >= ours * 500 }),
  );
  // Each update handed over at once, as holdfast does by itself; and held back as long as the debounce holds it back.
  for (const subject of ['holdfast', 'holdfast-coalescing'])
    for (const condition of JUDGED) againstDebounce(judge, subject, pacedAt(condition));
  for (const items of [100, 1_000, 10_000, 100_000, 1_000_000])
    durableSteps(judge, `${items.toLocaleString('en')} items`);
  return judge.wanted;
}

const GROWING = [
  ['update', 'holdfast'],
  ['update', 'holdfast-zod'],
  ['step', 'holdfast'],
  ['step', 'holdfast-zod'],
] as const;

function flat(judge: Judge, table: 'update' | 'step', subject: string): void {
  const [small, large] = [100, 100_000].map((n) => judge.value(table, subject, `${n.toLocaleString('en')} items`, CPU));
  judge.expect(
    `${table === 'update' ? 'an update' : 'a durable step'} at 100 and at 100,000 items, ${driverOf(subject).name}`,
    '1.3 × or 1 µs more',
    [small ?? null, large ?? null],
    (few, many) => ({
      seen: `${inUnit(few, 'µs')} → ${inUnit(many, 'µs')}, ${(many / few).toFixed(2)} ×`,
      isMet: many <= few * 1.3 || many <= few + 1,
    }),
  );
}

function againstDebounce(judge: Judge, subject: string, at: string): void {
  const of = (id: string) => judge.value('paced', id, at, CPU);
  judge.expect(
    `an update at ${at}, ${driverOf(subject).name}, against write-file-atomic behind the same debounce, without the cost of the loop`,
    '20 × less main-thread CPU',
    [of('nothing'), of(subject), of('write-file-atomic-debounced')],
    (loop, ours, theirs) => {
      // At a quiet pace ours can be within what the loop varies by.
      const net = Math.max(ours - loop, 0.1);
      return {
        seen: `${((theirs - loop) / net).toFixed(0)} × less (${inUnit(net, 'µs')}, ${inUnit(theirs - loop, 'µs')})`,
        isMet: theirs - loop >= 20 * net,
      };
    },
  );
}

function durableSteps(judge: Judge, at: string): void {
  const rivals = ['sqlite-wal-full', 'lmdb', 'classic-level'];
  for (const rival of rivals) {
    judge.expect(
      `a durable step at ${at}, against ${driverOf(rival).name}`,
      'less main-thread CPU',
      [judge.value('step', 'holdfast', at, CPU), judge.value('step', rival, at, CPU)],
      (ours, theirs) => ({ seen: `${inUnit(ours, 'µs')} and ${inUnit(theirs, 'µs')}`, isMet: ours < theirs }),
    );
  }
}
