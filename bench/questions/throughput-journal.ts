// 4, holdfast alone: what a streamed byte and what an update are in the journal.

import { mkdtempSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { append, open } from 'holdfast';
import { sleep } from '../../test/support/process-child.js';
import { agentState, finish, itemId, output, schema } from '../agent-state.js';
import type { Prepared } from '../child.js';
import { figuresOf } from '../figures.js';
import { type Context, portion } from '../question.js';
import type { Table, Wanted } from '../results.js';
import { inRounds } from '../rounds.js';
import { Judge } from '../wanted.js';

const TEXT_BYTES = 200_000;
const TOKEN = 'tokn';
const PERIOD_MS = 5;

interface StreamStart {
  directory: string;
  chunkBytes: number;
  coalesceMs: number;
  appends: number;
}

export async function prepareStream(start: StreamStart): Promise<Prepared<null, number>> {
  return { round: () => streamOnce(start), end: async () => undefined };
}

/** Journal bytes per streamed byte. */
async function streamOnce({ directory: parent, chunkBytes, coalesceMs, appends }: StreamStart): Promise<number> {
  const directory = mkdtempSync(join(parent, 'stream-'));
  const initial = { text: 'x'.repeat(TEXT_BYTES) };
  const first = await open(directory);
  await first.doc('transcript', { initial });
  await first.close();
  const store = await open(directory, { coalesceMs });
  const transcript = await store.doc('transcript', { initial });
  const before = tailBytes(directory);
  for (let n = 0; n < appends; n++) {
    transcript.update((state) => append(state, 'text', TOKEN.repeat(chunkBytes / TOKEN.length)));
    await sleep(PERIOD_MS);
  }
  await store.close();
  return (tailBytes(directory) - before) / (appends * chunkBytes);
}

function tailBytes(directory: string): number {
  const hidden = join(directory, '.holdfast');
  const tails = readdirSync(hidden).filter((name) => name.endsWith('.tail'));
  return tails.reduce((sum, name) => sum + statSync(join(hidden, name)).size, 0);
}

interface UpdateStart {
  directory: string;
  isFlushed: boolean;
  updates: number;
}

/** Journal bytes per update: an item's record, two fields. */
export async function prepareUpdateBytes({
  directory,
  isFlushed,
  updates,
}: UpdateStart): Promise<Prepared<null, number>> {
  const store = await open(directory);
  const doc = await store.doc('loop', { schema, initial: agentState(1_000, 60) });
  let bytes = 0;
  store.on('commit', (commit) => {
    bytes += commit.bytes;
  });
  const text = output('text', 60);
  const round = async () => {
    await store.flush();
    bytes = 0;
    for (let n = 0; n < updates; n++) {
      doc.update((state) => finish(state, itemId(n % 1_000), text));
      if (isFlushed) await store.flush();
    }
    await store.flush();
    return bytes / updates;
  };
  return { round, end: () => store.close() };
}

const STREAMS = [
  { chunkBytes: 4, coalesceMs: 0 },
  { chunkBytes: 64, coalesceMs: 0 },
  { chunkBytes: 4, coalesceMs: 100 },
];
const streamName = ({ chunkBytes, coalesceMs }: (typeof STREAMS)[number]) =>
  `${chunkBytes} bytes at a time${coalesceMs > 0 ? `, coalesceMs ${coalesceMs}` : ''}`;

export async function journalTables(
  context: Context,
): Promise<{ tables: Table[]; wanted: Wanted[]; failures: string[] }> {
  const streams = await inRounds<null, number>(
    import.meta.url,
    'prepareStream',
    STREAMS.map((one) => ({
      subject: 'holdfast',
      at: streamName(one),
      start: { ...one, appends: context.isQuick ? 60 : 300 },
      order: null,
    })),
    portion(context, 0, 2),
    context.isQuick ? 1 : 3,
  );
  const updates = await inRounds<null, number>(
    import.meta.url,
    'prepareUpdateBytes',
    [true, false].map((isFlushed) => ({
      subject: 'holdfast',
      at: isFlushed ? 'each flushed' : 'not awaited',
      start: { isFlushed, updates: context.isQuick ? 200 : 2_000 },
      order: null,
    })),
    portion(context, 1, 2),
    context.isQuick ? 1 : 3,
  );
  const tables: Table[] = [
    {
      id: 'streaming',
      title: '200 appends a second to a text of 200 KB: journal bytes per streamed byte',
      columns: 'conditions',
      figures: figuresOf(streams.played, [{ metric: 'amplification', unit: '×', of: (ratio) => ratio }]),
    },
    {
      id: 'journal',
      title: 'Journal bytes per update: a record of 60 characters, two fields',
      columns: 'conditions',
      figures: figuresOf(updates.played, [{ metric: 'bytes', unit: 'bytes', of: (bytes) => bytes }]),
    },
  ];
  return { tables, wanted: wantedOf(tables), failures: [...streams.failures, ...updates.failures] };
}

function wantedOf(tables: readonly Table[]): Wanted[] {
  const judge = new Judge(tables);
  for (const stream of STREAMS) {
    const at = streamName(stream);
    judge.expect(
      `streaming ${at}`,
      '3 journal bytes per byte',
      [judge.value('streaming', 'holdfast', at, 'amplification')],
      (ratio) => ({
        seen: ratio.toFixed(2),
        isMet: ratio <= 3,
      }),
    );
  }
  return judge.wanted;
}
