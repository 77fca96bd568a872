import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { nodeDisk } from '../../src/disk/node-disk.js';
import type { Log } from '../../src/log.js';
import { compact, forget } from '../../src/projection/station.js';
import type { Store } from '../../src/store.js';
import { storeIdAt } from '../projection/support.js';
import { refusal } from '../support/refusal.js';
import { faults, folder, openStore } from './support.js';

async function all<E>(log: Log<E>, since = 0): Promise<E[]> {
  const entries: E[] = [];
  let index = since;
  for await (const found of log.read({ since })) {
    expect(found.index).toBe(index++);
    entries.push(found.entry);
  }
  return entries;
}

function lines(directory: string, name: string): unknown[] {
  const text = readFileSync(join(directory, `${name}.jsonl`), 'utf8');
  expect(text === '' || text.endsWith('\n')).toBe(true);
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as unknown);
}

const Event = z.object({ step: z.string(), n: z.number().int(), tags: z.array(z.string()).default([]) });

describe('append', () => {
  it('is synchronous, counts, and is read back in order, also after the store was opened again', async () => {
    const directory = folder();
    const store = await openStore(directory);
    const log = await store.log<unknown>('events/all');
    const given: unknown[] = [
      { a: 1 },
      'text',
      7,
      null,
      true,
      [1, [2]],
      { __proto__x: 1 },
      JSON.parse('{"__proto__":1}'),
      '\ud800',
    ];
    for (const [index, entry] of given.entries()) expect(log.append(entry)).toBe(index);
    expect(log.length).toBe(given.length);
    expect(await all(log)).toEqual(given);
    expect(log.durableLength).toBe(given.length);
    expect(await all(log, 4)).toEqual(given.slice(4));
    expect(await all(log, 99)).toEqual([]);
    await store.close();
    expect(lines(directory, 'events/all')).toEqual(given);
    const again = await openStore(directory);
    expect(again.logs()).toEqual([
      { name: 'events/all', length: given.length, path: join(directory, 'events/all.jsonl') },
    ]);
    expect(await all(await again.log('events/all'))).toEqual(given);
    expect(again.documents()).toEqual([]);
    expect(faults).toEqual([]);
  });

  it('copies what it is given', async () => {
    const store = await openStore(folder());
    const log = await store.log<{ list: number[] }>('events');
    const entry = { list: [1] };
    log.append(entry);
    entry.list.push(2);
    expect(await all(log)).toEqual([{ list: [1] }]);
  });

  it('follows the schema: fills defaults, and refuses with the path and nothing changed', async () => {
    const store = await openStore(folder());
    const log = await store.log('events', { schema: Event });
    log.append({ step: 'a', n: 1 });
    const found = refusal(() => log.append({ step: 'b', n: 'two' as never }));
    expect(found).toMatchObject({ code: 'HF_SCHEMA', path: ['n'] });
    expect(refusal(() => log.append({ step: 'b', n: 2, more: 1 } as never))).toMatchObject({ code: 'HF_SCHEMA' });
    expect(refusal(() => log.append({ step: 'b', n: Number.NaN }))).toMatchObject({ code: 'HF_VALUE', path: ['n'] });
    expect(refusal(() => log.append(undefined as never))).toMatchObject({ code: 'HF_VALUE' });
    expect(log.length).toBe(1);
    const [first] = await all(log);
    const tags: string[] = first?.tags ?? ['?'];
    expect(tags).toEqual([]);
    await expect(store.log('other', { schema: z.string().transform(Number) })).rejects.toMatchObject({
      code: 'HF_SCHEMA',
    });
  });

  it('joins transactions: a throw takes back exactly what was appended inside, and documents and logs go together', async () => {
    const directory = folder();
    const store = await openStore(directory);
    const log = await store.log<string>('events');
    const doc = await store.doc('state', { initial: { n: 0 } });
    log.append('before');
    const commits: number[] = [];
    store.on('commit', ({ seq }) => commits.push(seq));
    expect(() =>
      store.transaction(() => {
        log.append('lost');
        doc.update((draft) => {
          draft.n = 1;
          log.append('lost too');
        });
        expect(log.length).toBe(3);
        throw new Error('no');
      }),
    ).toThrow('no');
    expect(log.length).toBe(1);
    expect(commits).toEqual([]);
    store.transaction(() => {
      log.append('kept');
      expect(() =>
        store.transaction(() => {
          log.append('inner');
          throw new Error('inner');
        }),
      ).toThrow('inner');
      doc.update((draft) => {
        draft.n = 2;
      });
    });
    expect(commits).toHaveLength(1);
    expect(await all(log)).toEqual(['before', 'kept']);
    expect(doc.state).toEqual({ n: 2 });
    expect(await all(await store.log('empty'))).toEqual([]);
  });

  it('has names of its own, which follow the rules for documents', async () => {
    const directory = folder();
    const store = await openStore(directory);
    const log = await store.log('same');
    const doc = await store.doc('same', { initial: { n: 1 } });
    log.append('entry');
    await store.flush({ projected: true });
    expect(doc.state).toEqual({ n: 1 });
    expect(lines(directory, 'same')).toEqual(['entry']);
    expect(await store.log('same')).toBe(log);
    for (const name of ['', 'a:b', '../x', 'a//b'])
      await expect(store.log(name)).rejects.toMatchObject({ code: 'HF_NAME' });
    await expect(store.log('SAME')).rejects.toMatchObject({ code: 'HF_NAME' });
    await expect(store.doc('x.jsonl/y', { initial: {} })).rejects.toMatchObject({ code: 'HF_NAME' });
    writeFileSync(join(directory, 'theirs.jsonl'), '{"mine":1}\n');
    await expect(store.log('theirs')).rejects.toMatchObject({ code: 'HF_EXISTS' });
    expect(() => log.read({ since: -1 })).toThrow(TypeError);
  });

  it('is refused when too much waits, instead of filling the memory', async () => {
    const store = await openStore(folder(), { pendingBytesMax: 256 * 1024 });
    const log = await store.log<string>('events');
    const found = refusal(() => {
      for (;;) log.append('x'.repeat(10_000));
    });
    expect(found).toMatchObject({ code: 'HF_BACKPRESSURE' });
    const { length } = log;
    await store.drained();
    log.append('after');
    expect((await all(log)).length).toBe(length + 1);
  });
});

describe('read', () => {
  it('stops when asked to, and may be left half-way', async () => {
    const store = await openStore(folder());
    const log = await store.log<number>('events');
    for (let n = 0; n < 5000; n++) log.append(n);
    const controller = new AbortController();
    const seen: number[] = [];
    const reading = (async () => {
      for await (const { entry } of log.read({ signal: controller.signal })) {
        seen.push(entry);
        if (entry === 10) controller.abort(new Error('enough'));
      }
    })();
    await expect(reading).rejects.toThrow('enough');
    expect(seen).toHaveLength(11);
    for await (const { entry } of log.read()) if (entry === 3) break;
    expect((await all(log)).length).toBe(5000);
  });

  it('gives what was there when it began, while more is appended and the journal is compacted under it', async () => {
    const store = await openStore(folder());
    const log = await store.log<string>('events');
    for (let n = 0; n < 300; n++) log.append(`${n} ${'x'.repeat(10_000)}`);
    let index = 0;
    for await (const { entry } of log.read()) {
      expect(entry.startsWith(`${index} `)).toBe(true);
      if (++index % 60 === 0) {
        log.append('later');
        await store.flush();
        compactNow(store);
      }
    }
    expect(index).toBe(300);
    expect((await all(log)).length).toBe(305);
    expect(faults).toEqual([]);
  });
});

let number = 100_000;

/** As the snapshot thread does once the journal has grown. */
function compactNow(store: Store): void {
  const storeId = storeIdAt(nodeDisk, store.directory);
  const request = { directory: store.directory, storeId, owner: 77, number: number++, timeMs: 0 };
  expect(compact({ ...request, toSeq: store.health().durableSeq })).toMatchObject({ kind: 'compacted' });
  forget(storeId);
}

describe('the JSON Lines', () => {
  async function started(): Promise<{ directory: string; path: string; store: Store; log: Log<unknown> }> {
    const directory = folder();
    // Files are written when the test says so.
    const store = await openStore(directory, { projectDelayMs: 60_000 });
    const log = await store.log('events');
    for (let n = 0; n < 20; n++) log.append({ n });
    await store.flush({ projected: true });
    return { directory, path: join(directory, 'events.jsonl'), store, log };
  }
  const kept = (directory: string) =>
    readdirSync(join(directory, '.holdfast/quarantine')).filter((name) => name.includes('events'));
  const recovered = (store: Store) => {
    const found: string[] = [];
    store.on('recovered', ({ projections }) =>
      found.push(...projections.map((each) => `${each.document} ${each.found}`)),
    );
    return found;
  };
  const want = (count: number) => Array.from({ length: count }, (_, n) => ({ n }));

  it('are appended in place: whoever follows the file goes on reading', async () => {
    const { path, store, log, directory } = await started();
    const { ino, size } = statSync(path);
    const before = readFileSync(path);
    for (let n = 20; n < 40; n++) {
      log.append({ n });
      await store.flush({ projected: true });
      expect(statSync(path).ino).toBe(ino);
      expect(lines(directory, 'events')).toEqual(want(n + 1));
    }
    expect(readFileSync(path).subarray(0, size)).toEqual(before);
    await store.close();
    const again = await openStore(directory);
    (await again.log('events')).append({ n: 40 });
    await again.flush({ projected: true });
    expect(statSync(path).ino).toBe(ino);
    expect(lines(directory, 'events')).toEqual(want(41));
    expect(kept(directory)).toEqual([]);
  });

  it('are cut and continued after a torn end, without a word', async () => {
    for (const end of ['{"n":2', '{"n":20}\n{"n', '\0\0\0\0', '{"n":20}\n\0\0\0']) {
      const { path, store, log, directory } = await started();
      log.append({ n: 20 });
      log.append({ n: 21 });
      await store.flush();
      const { ino } = statSync(path);
      const found = recovered(store);
      appendFileSync(path, end);
      await store.flush({ projected: true });
      expect(lines(directory, 'events')).toEqual(want(22));
      expect(statSync(path).ino).toBe(ino);
      expect(found).toEqual([]);
      expect(kept(directory)).toEqual([]);
      await store.close();
    }
  });

  const damages: [string, (path: string) => void, number][] = [
    ['missing', (path) => rmSync(path), 0],
    ['empty', (path) => truncateSync(path, 0), 1],
    ['damaged', (path) => truncateSync(path, 30), 1],
    ['damaged', (path) => writeFileSync(path, readFileSync(path, 'utf8').replace('{"n":7}', '{"n":8}')), 1],
    ['damaged', (path) => writeFileSync(path, readFileSync(path, 'utf8').replace('{"n":7}\n', '')), 1],
    ['edited', (path) => appendFileSync(path, '{"by":"hand"}\n'), 1],
  ];
  for (const [found, damage, copies] of damages) {
    it(`${found}: are put right from truth while the store is open, what was there is kept, and it is told (${damage})`, async () => {
      const { path, store, log, directory } = await started();
      const told = recovered(store);
      damage(path);
      log.append({ n: 20 });
      await store.flush({ projected: true });
      expect(lines(directory, 'events')).toEqual(want(21));
      expect(told).toEqual([`log:events ${found}`]);
      expect(kept(directory)).toHaveLength(copies);
      expect(faults).toEqual([]);
    });

    it(`${found}: so they are at the next open (${damage})`, async () => {
      const { path, store, directory } = await started();
      await store.close();
      damage(path);
      const again = await openStore(directory, { projectDelayMs: 5 });
      const told = recovered(again);
      await again.flush({ projected: true });
      expect(lines(directory, 'events')).toEqual(want(20));
      expect(told).toEqual([`log:events ${found}`]);
      expect(kept(directory)).toHaveLength(copies);
      expect(await all(await again.log('events'))).toEqual(want(20));
    });
  }

  it('are written anew, or found to be ours, when the record of them is lost', async () => {
    const { path, store, directory } = await started();
    await store.close();
    const { ino } = statSync(path);
    rmSync(join(directory, '.holdfast/projections'));
    const again = await openStore(directory);
    (await again.log('events')).append({ n: 20 });
    await again.flush({ projected: true });
    expect(statSync(path).ino).toBe(ino);
    expect(lines(directory, 'events')).toEqual(want(21));
    expect(kept(directory)).toEqual([]);
  });

  it('do not hold up anything when they cannot be written', async () => {
    const { path, store, log, directory } = await started();
    rmSync(path);
    const { mkdirSync } = await import('node:fs');
    mkdirSync(path);
    log.append({ n: 20 });
    await store.flush();
    await expect(store.flush({ projected: true })).rejects.toMatchObject({ code: 'HF_IO' });
    expect(faults.some((fault) => fault.startsWith('HF_IO'))).toBe(true);
    expect(await all(log)).toEqual(want(21));
    rmSync(path, { recursive: true });
    await store.close();
    expect(existsSync(path)).toBe(true);
    expect(lines(directory, 'events')).toEqual(want(21));
  });
});
