// Threads that die at random moments. bench/campaign/threads.ts does it as often as one likes.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { open } from '../../src/opening.js';
import { JournalThread } from '../../src/threads/journal-thread.js';
import { folder, json, openStore, workersUrl } from '../store/support.js';
import { show, type Thread, terminateAgainAndAgain } from '../support/process-threads.js';

const isLong = Number(process.env.HOLDFAST_RUNS ?? 0) >= 1000;
const DEATHS = isLong ? 100 : 10;

describe('while a store is busy', () => {
  it.each<Thread>(['journal', 'snapshot'])(
    'the %s thread dies again and again: flushes resolve, nothing is lost, the files catch up',
    async (thread) => {
      const report = await terminateAgainAndAgain(folder(), thread, DEATHS, 3, workersUrl);
      console.info(show(thread, report));
      expect(report.wrong).toEqual([]);
      expect(report.deaths).toBe(DEATHS);
    },
    600_000,
  );
});

it('a journal thread that dies while a store is opening or closing: both come to their end', async () => {
  const directory = folder();
  for (let round = 0; round < 3; round++) {
    const opening = openStore(directory);
    await new Promise((resolve) => setTimeout(resolve, round * 15));
    await JournalThread.of(workersUrl).terminate();
    const store = await opening;
    const doc = await store.doc('a', { initial: { n: 0 } });
    expect(doc.state.n).toBe(round);
    doc.update((s) => void s.n++);
    const closing = store.close();
    await JournalThread.of(workersUrl).terminate();
    await closing;
  }
});

it('two stores share the threads: the death of one takes nothing from either', async () => {
  const [one, two] = [await openStore(folder()), await openStore(folder())];
  const docs = [await one.doc('a', { initial: { n: 0 } }), await two.doc('a', { initial: { n: 0 } })];
  for (let round = 1; round <= 3; round++) {
    for (const doc of docs) doc.update((s) => void (s.n = round));
    const flushed = Promise.all([one.flush({ projected: true }), two.flush({ projected: true })]);
    await JournalThread.of(workersUrl).terminate();
    await flushed;
    expect([json(one.directory, 'a'), json(two.directory, 'a')]).toEqual([{ n: round }, { n: round }]);
  }
});

describe('threads that cannot start', () => {
  const nowhere = new URL('file:///nowhere/to/be/found/');

  it('open says so instead of waiting', async () => {
    await expect(open(folder(), { workersUrl: nowhere })).rejects.toMatchObject({ code: 'HF_THREAD' });
  });

  it('a store whose snapshot thread never comes up says why, and closes with its files written all the same', async () => {
    // As a bundler leaves it that was told of one worker only.
    const workers = folder();
    writeFileSync(join(workers, 'package.json'), '{"type":"module"}');
    writeFileSync(join(workers, 'journal.js'), `import ${JSON.stringify(new URL('journal.js', workersUrl))};`);
    const directory = folder();
    const store = await openStore(directory, { workersUrl: pathToFileURL(`${workers}/`) });
    const doc = await store.doc('a', { initial: { n: 0 } });
    doc.update((s) => void (s.n = 1));
    await expect(store.flush({ projected: true })).rejects.toMatchObject({
      code: 'HF_THREAD',
      message: expect.stringContaining(join(workers, 'snapshot.cjs')),
    });
    await store.close();
    expect(json(directory, 'a')).toEqual({ n: 1 });
    const again = await openStore(directory);
    expect((await again.doc('a', { initial: { n: -1 } })).state.n).toBe(1);
  });
});
