// 5, without opening: how fast a base and one large text are verified and decoded.

import { moduleAt } from '../compiled.js';
import { figuresOf } from '../figures.js';
import { inUnit } from '../format.js';
import type { Decoded, DecodeFigures } from '../micro/decode.js';
import type { Context } from '../question.js';
import type { Table, Wanted } from '../results.js';
import { inRounds } from '../rounds.js';
import { Judge } from '../wanted.js';

const NAMES: Record<Decoded, string> = {
  base: 'a base: read, verified, decoded',
  text: 'one frame of one large text: verified, decoded',
  json: 'for comparison: JSON.parse of the state of the base',
};
const SPEED = 'speed';
const WANTED_MB_PER_S = 150;

export async function decodeTable(context: Context): Promise<{ table: Table; wanted: Wanted[]; failures: string[] }> {
  const items = context.isQuick ? 40_000 : 300_000;
  // Prepared one after the other, each alone in its process: building a large heap is most of the work.
  const seats = (Object.keys(NAMES) as Decoded[]).map((what) => ({
    subject: NAMES[what],
    at: '',
    start: { what, items },
    order: null,
  }));
  const { played, failures } = await inRounds<null, DecodeFigures>(
    moduleAt('micro/decode'),
    'prepareDecode',
    seats,
    context,
  );
  const table: Table = {
    id: 'decode',
    title: 'Decoding alone',
    columns: 'metrics',
    figures: figuresOf(played, [
      { metric: SPEED, unit: 'MB/s', of: ({ mbPerS }) => mbPerS },
      { metric: 'size', unit: 'MB', of: ({ sizeMb }) => sizeMb },
    ]),
  };
  const judge = new Judge([table]);
  judge.expect(NAMES.base, `${WANTED_MB_PER_S} MB/s`, [judge.value('decode', NAMES.base, '', SPEED)], (speed) => ({
    seen: inUnit(speed, 'MB/s'),
    isMet: speed >= WANTED_MB_PER_S,
  }));
  return { table, wanted: judge.wanted, failures };
}
