import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { readingDisk } from '../../src/disk/reading-disk.js';
import { type Verdict, verify } from '../../src/inspect/index.js';
import { repair, restore } from '../../src/mend/index.js';
import { openDoc } from '../../src/open-doc.js';
import { openStore, workersUrl } from '../store/support.js';
import { start } from '../support/process-child.js';
import { flip, folder, hiddenFiles, Life, LOOP, traces } from './support.js';

/** Documents with backups, a log with files of its own and JSON Lines, two generations. */
async function saved(directory: string): Promise<void> {
  const store = await openStore(directory, { audit: false });
  const doc = await store.doc<{ n: number }>('loop', { initial: { n: 0 } });
  await store.doc('deep/side', { initial: { text: 'x' } });
  const log = await store.log('events');
  for (let n = 1; n <= 6; n++) {
    doc.update((s) => void (s.n = n));
    log.append({ n });
    await store.flush({ projected: true });
  }
  await store.close();
}

const said = ({ findings }: Verdict) =>
  findings.map(({ effect, file, what }) => `${effect} ${file} ${what}`).join('\n');

describe('verify', () => {
  it('reads every byte of a sound store once, and says how far it is', async () => {
    const directory = folder();
    await saved(directory);
    const before = traces(directory);
    const seen: { bytes: number; bytesTotal: number }[] = [];
    const verdict = await verify(directory, { onProgress: (progress) => seen.push(progress) });
    expect(verdict).toMatchObject({ verdict: 'sound', isOpenable: true, findings: [], firstSeq: 1, commits: 14 });
    expect(verdict.durableSeq).toBe(verdict.lastSeq);
    // Two JSON files, three backups, one of JSON Lines.
    expect(verdict.files.published).toBe(6);
    expect(seen.at(-1)).toEqual({ bytes: verdict.bytes, bytesTotal: verdict.bytes });
    expect(traces(directory)).toEqual(before);
  });

  it.each<[string, (directory: string) => void, RegExp]>([
    ['a JSON file is gone', (at) => rmSync(join(at, 'loop.json')), /^file .*loop\.json is missing/],
    ['a JSON file is empty', (at) => writeFileSync(join(at, 'loop.json'), ''), /^file .*loop\.json is empty/],
    ['a JSON file is cut', (at) => writeFileSync(join(at, 'deep/side.json'), '{"te'), /^file .*side\.json is no JSON/],
    [
      'a JSON file was edited',
      (at) => writeFileSync(join(at, 'loop.json'), '{"n":7}'),
      /^choice .*loop\.json holds other data/,
    ],
    ['a backup has rotted', (at) => flip(join(at, 'loop.json.bak2'), 0), /^file .*loop\.json\.bak2 is no JSON/],
    [
      'JSON Lines have rotted',
      (at) => flip(join(at, 'events.jsonl'), 3),
      /^file .*events\.jsonl is not what was written/,
    ],
    [
      'a commit has rotted',
      (at) => flip(hiddenFiles(at, '.tail')[0] as string, 300),
      /^refused .*tail is damaged at byte \d+: commits? .* cannot be read/,
    ],
    [
      'the record has rotted',
      (at) => flip(join(at, '.holdfast/projections'), 100),
      /^spare .*projections is damaged at byte 0/,
    ],
    [
      'a JSON file is a folder',
      (at) => {
        rmSync(join(at, 'loop.json'));
        mkdirSync(join(at, 'loop.json'));
      },
      /^choice .*loop\.json is not a file but a directory/,
    ],
  ])('says so when %s', async (_, harm, expected) => {
    const directory = folder();
    await saved(directory);
    harm(directory);
    const verdict = await verify(directory);
    expect(verdict.verdict).toBe('damaged');
    expect(verdict.isOpenable).toBe(!expected.source.startsWith('^refused'));
    expect(said(verdict)).toMatch(expected);
    expect(verdict.findings).toHaveLength(1);
  });

  it('does not take for damage what is only in other clothes, or what a crash leaves', async () => {
    const directory = folder();
    await saved(directory);
    writeFileSync(join(directory, 'loop.json'), '{"n":6}');
    const tail = hiddenFiles(directory, '.tail').at(-1) as string;
    writeFileSync(tail, Buffer.concat([readFileSync(tail), Buffer.from([0xff, 0x48, 0x46, 0xfe, 9, 9, 9])]));
    writeFileSync(join(directory, 'loop.json.bak1'), '{"n":"by hand"}');
    const verdict = await verify(directory);
    expect(said(verdict)).toMatch(
      /^harmless .*tail has a torn end.*\nharmless .*loop\.json holds the same data.*\nharmless .*bak1 is none of the versions/,
    );
    expect(verdict.verdict).toBe('sound');
  });

  it('knows a document by the journal where the record does not: after a salvage', async () => {
    const life = new Life();
    life.make('loop', LOOP);
    life.make('side', { text: 'x' });
    for (let n = 2; n <= 9; n++) life.item(n);
    life.truth.close();
    const { directory } = life;
    const store = await openStore(directory, { audit: false });
    await store.flush({ projected: true });
    await store.close();
    const [tail] = hiddenFiles(directory, '.tail') as [string];
    flip(tail, readFileSync(tail).indexOf('item-5'));
    const { drifted } = await repair(directory, { workersUrl });
    expect(drifted).toMatchObject([{ name: 'loop' }]);
    expect(said(await verify(directory))).toMatch(/^choice .*loop\.json holds other data than was saved.*$/);
    writeFileSync(join(directory, 'unmanaged.json'), '{}');
    await restore(directory, 'loop', 'saved', { workersUrl });
    expect(await verify(directory)).toMatchObject({ verdict: 'sound' });
  });

  it('a folder beside the documents that is closed to it is none of its business', async () => {
    const directory = folder();
    await saved(directory);
    mkdirSync(join(directory, 'lost+found'));
    rmSync(join(directory, '.holdfast/projections'));
    const { list } = readingDisk;
    const closed = vi.spyOn(readingDisk, 'list').mockImplementation((path) => {
      if (path.endsWith('lost+found')) throw Object.assign(new Error('EACCES'), { code: 'EACCES' });
      return list(path);
    });
    const { verdict } = await verify(directory);
    closed.mockRestore();
    expect(verdict).toBe('sound');
  });

  it('checks the files of logs, and knows whether the entries are elsewhere', async () => {
    const life = new Life();
    life.make('loop', LOOP);
    for (let n = 0; n < 3; n++) {
      life.truth.log('events').append({ n, pad: 'x'.repeat(200) });
      life.truth.compact();
    }
    life.truth.close();
    const { directory } = life;
    const [entries] = readdirSync(join(directory, '.holdfast/logs')).map((name) =>
      join(directory, '.holdfast/logs', name),
    );
    expect((await verify(directory)).findings).toEqual([]);
    // In the middle of the file: its header and end still say that it is there.
    flip(entries as string, 300);
    const verdict = await verify(directory);
    expect(verdict).toMatchObject({ verdict: 'damaged', isOpenable: true });
    expect(said(verdict)).toMatch(/^lost .*entries is damaged at byte 80, from entry 0 on$/);
  });

  it('takes one generation for spare as long as the other is whole', async () => {
    const life = new Life();
    life.make('loop', LOOP);
    for (let n = 2; n <= 12; n++) {
      life.item(n);
      if (n % 4 === 0) life.truth.compact();
    }
    life.truth.close();
    const { directory } = life;
    const [older, newer] = hiddenFiles(directory, '.base') as [string, string];
    flip(newer, 150);
    const first = await verify(directory);
    expect(said(first)).toMatch(/^spare .*base is damaged at byte 80$/);
    expect(first.isOpenable).toBe(true);
    flip(older, 150);
    const second = await verify(directory);
    expect(second.isOpenable).toBe(false);
    expect(said(second)).toMatch(/refused .* has no base that can be read/);
  });

  it('works on a single document while it is in use, and on a store that is being written, rotated and compacted', async () => {
    const file = join(folder(), 'state.json');
    const doc = await openDoc(file, { initial: { n: 0 }, workersUrl });
    await doc.flush({ projected: true });
    expect(await verify(file)).toMatchObject({ verdict: 'sound', files: { published: 1 } });
    await doc.close();
    const directory = folder();
    const writer = start(`
      import { open } from 'holdfast';
      const store = await open(${JSON.stringify(directory)}, { projectDelayMs: 5, projectBytesPerSecMax: 1e9 });
      const doc = await store.doc('loop', { initial: { n: 0, pad: '' } });
      const log = await store.log('events');
      await store.flush();
      console.log('ready');
      const end = Date.now() + 2500;
      while (Date.now() < end) {
        for (let i = 0; i < 20; i++) doc.update((s) => { s.n += 1; s.pad = 'x'.repeat(2000) + s.n; });
        log.append({ n: doc.state.n });
        await doc.flush();
      }
      await store.close();
      console.log('done');`);
    await writer.line('ready');
    let rounds = 0;
    while (writer.lines.length < 2) {
      const verdict = await verify(directory);
      expect(said(verdict)).not.toMatch(/^(refused|lost|spare|file|choice)/m);
      rounds++;
    }
    expect(await writer.ended).toMatchObject({ code: 0, stderr: '' });
    expect(rounds).toBeGreaterThan(3);
    expect(await verify(directory)).toMatchObject({ verdict: 'sound', findings: [] });
  });

  it('stops when it is told to, and refuses what is no store', async () => {
    const directory = folder();
    await saved(directory);
    await expect(verify(directory, { signal: AbortSignal.abort() })).rejects.toThrow('aborted');
    const stopping = new AbortController();
    await expect(verify(directory, { signal: stopping.signal, onProgress: () => stopping.abort() })).rejects.toThrow(
      'aborted',
    );
    await expect(verify(join(directory, 'nothing'))).rejects.toMatchObject({ code: 'HF_MISSING' });
    await expect(verify(folder())).rejects.toMatchObject({ code: 'HF_MISSING' });
  });
});
