import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { nodeDisk } from '../../src/disk/node-disk.js';
import { Places } from '../../src/journal/places.js';
import { StoreReader } from '../../src/journal/reader.js';
import { openDoc } from '../../src/open-doc.js';
import { open } from '../../src/opening.js';
import { openReadOnly } from '../../src/read-only.js';
import { Truth } from '../../src/truth.js';
import { traces } from '../inspect/support.js';
import { start } from '../support/process-child.js';
import { folder, openStore, workersUrl } from './support.js';

interface State {
  n: number;
}

/** A store that was killed, without threads. */
function killed(directory: string, build: (truth: Truth) => void): void {
  const truth = new Truth(directory);
  build(truth);
  truth.abandon();
}

const newestTail = (directory: string) =>
  join(
    directory,
    '.holdfast',
    readdirSync(join(directory, '.holdfast'))
      .filter((name) => name.endsWith('.tail'))
      .sort()
      .at(-1) as string,
  );

describe('a store opened for reading', () => {
  it('shows what a live writer has saved, and follows it', async () => {
    const directory = folder();
    const store = await openStore(directory);
    const doc = await store.doc<State>('a', { initial: { n: 1 } });
    await store.doc('deep/b', { initial: { text: 'x' } });
    await store.flush();
    const reader = await openReadOnly(directory);
    const seen = await reader.doc<State>('a');
    expect([seen.name, seen.state, seen.version]).toEqual(['a', { n: 1 }, 1]);
    expect(reader.documents()).toEqual([
      { name: 'a', version: 1 },
      { name: 'deep/b', version: 1 },
    ]);
    for (let n = 2; n <= 50; n++) {
      doc.update((s) => void (s.n = n));
      if (n % 10 > 0) continue;
      await store.flush();
      await seen.refresh();
      expect([seen.state, seen.version]).toEqual([{ n }, n]);
    }
    expect(reader.health()).toMatchObject({ phase: 'open', lastSeq: store.health().lastSeq });
    await store.close();
    await reader.refresh();
    const { lastSeq, durableSeq } = reader.health();
    expect(durableSeq).toBe(lastSeq);
  });

  it('writes nothing, neither at opening nor at following, and leaves the lock alone', async () => {
    const directory = folder();
    killed(directory, (truth) => {
      const doc = truth.doc<State>('a', { initial: { n: 0 } });
      for (let n = 1; n < 20; n++) doc.update((s) => void (s.n = n));
      truth.compact();
      doc.update((s) => void (s.n = 20));
    });
    writeFileSync(join(directory, 'a.json'), '{"n":"edited by hand"}');
    writeFileSync(join(directory, '.holdfast', 'tmp', 'left'), 'over');
    // A torn end, which a writer would cut.
    const tail = newestTail(directory);
    writeFileSync(tail, Buffer.concat([readFileSync(tail), Buffer.from([0xff, 0x48, 0x46, 0xfe, 9, 9, 9])]));
    const before = traces(directory);
    const reader = await openReadOnly(directory);
    expect((await reader.doc<State>('a')).state).toEqual({ n: 20 });
    await reader.refresh();
    await reader.close();
    expect(traces(directory)).toEqual(before);
    // And a writer gets in while somebody reads.
    const again = await openReadOnly(directory);
    const store = await openStore(directory, { onDrift: 'restore' });
    const doc = await store.doc<State>('a', { initial: { n: 0 } });
    doc.update((s) => void (s.n = 21));
    await store.flush();
    await again.refresh();
    expect((await again.doc<State>('a')).state).toEqual({ n: 21 });
  });

  it('works where nothing may be written', async () => {
    const directory = folder();
    const store = await openStore(directory);
    await store.doc<State>('a', { initial: { n: 1 } });
    await store.close();
    const hidden = join(directory, '.holdfast');
    for (const name of readdirSync(hidden)) chmodSync(join(hidden, name), 0o500);
    chmodSync(hidden, 0o555);
    chmodSync(directory, 0o555);
    // Permissions do not stop root, so it runs as nobody in particular if it can.
    chmodSync(hidden, 0o555);
    for (const name of readdirSync(hidden)) chmodSync(join(hidden, name), 0o555);
    const program = `
      import { openReadOnly } from 'holdfast';
      if (process.getuid() === 0) { process.setgroups([]); process.setgid(65534); process.setuid(65534); }
      const reader = await openReadOnly(${JSON.stringify(directory)});
      await reader.refresh();
      console.log('state ' + JSON.stringify((await reader.doc('a')).state));`;
    const child = start(program);
    const line = await child.line('state');
    const { stderr } = await child.ended;
    chmodSync(directory, 0o755);
    chmodSync(hidden, 0o755);
    for (const name of readdirSync(hidden)) chmodSync(join(hidden, name), 0o755);
    expect([line, stderr]).toEqual(['state {"n":1}', '']);
  });

  it('sees documents of one transaction together, made, changed and removed', async () => {
    const directory = folder();
    const truth = new Truth(directory);
    const a = truth.doc<State>('a', { initial: { n: 0 } });
    const b = truth.doc<State>('b', { initial: { n: 0 } });
    const reader = await openReadOnly(directory);
    const [seenA, seenB] = [await reader.doc<State>('a'), await reader.doc<State>('b')];
    truth.transaction(() => {
      a.update((s) => void (s.n = 1));
      b.update((s) => void (s.n = 1));
    });
    expect([seenA.state, seenB.state]).toEqual([{ n: 0 }, { n: 0 }]);
    await seenA.refresh();
    expect([seenA.state, seenB.state]).toEqual([{ n: 1 }, { n: 1 }]);
    truth.remove('a');
    truth.doc<State>('c', { initial: { n: 3 } });
    await reader.refresh();
    expect(() => seenA.state).toThrow(expect.objectContaining({ code: 'HF_MISSING' }));
    expect(seenA.version).toBe(0);
    await expect(seenA.refresh()).rejects.toMatchObject({ code: 'HF_MISSING' });
    await expect(reader.doc('a')).rejects.toMatchObject({ code: 'HF_MISSING' });
    expect((await reader.doc<State>('c')).state).toEqual({ n: 3 });
    truth.doc<State>('a', { initial: { n: 9 } });
    await reader.refresh();
    expect(seenA.state).toEqual({ n: 9 });
    truth.close();
  });

  it('follows through rotation, compaction, retention and a new writer', async () => {
    const directory = folder();
    let truth = new Truth(directory);
    truth.doc<State>('a', { initial: { n: 0 } });
    const reader = await openReadOnly(directory);
    const seen = await reader.doc<State>('a');
    for (let n = 1; n <= 40; n++) {
      truth.doc<State>('a', { initial: { n: 0 } }).update((s) => void (s.n = n));
      if (n % 5 === 0) truth.rotate();
      if (n % 7 === 0) truth.compact();
      if (n % 11 === 0) {
        if (n % 2 === 0) truth.close();
        else truth.abandon();
        truth = new Truth(directory);
      }
      if (n % 3 > 0) continue;
      await reader.refresh();
      expect([n, seen.state, seen.version]).toEqual([n, { n }, n + 1]);
    }
    truth.close();
  });

  it('looks again when files vanish, or are ahead of one another, while it reads', async () => {
    const directory = folder();
    const truth = new Truth(directory);
    const doc = truth.doc<State>('a', { initial: { n: 0 } });
    let upset = 0;
    const at = (path: string) => {
      // As a fast writer would: between any two calls of the reader everything moves on.
      if (upset <= 0 || !/\.(tail|base)$/.test(path)) return;
      upset--;
      doc.update((s) => void s.n++);
      truth.compact();
      truth.compact();
      truth.mark();
    };
    const disk = {
      ...nodeDisk,
      open: (path: string, access: 'create' | 'read' | 'write', mode?: number) => {
        at(path);
        return nodeDisk.open(path, access, mode);
      },
    };
    const reader = new StoreReader(new Places(directory), disk);
    for (let round = 0; round < 12; round++) {
      upset = round % 5;
      if (round === 0) await reader.read();
      else await reader.catchUp();
      upset = 0;
      await reader.catchUp();
      expect(reader.documents.get('a')?.state).toEqual({ n: doc.state.n });
    }
    expect(doc.state.n).toBeGreaterThan(15);
    truth.close();
  });

  it('beside a process that writes, rotates and compacts all the time, never throws and never goes back', async () => {
    const directory = folder();
    const child = start(
      `
      import { open } from 'holdfast';
      const store = await open(${JSON.stringify(directory)}, { projectDelayMs: 5, syncDelayMs: 5 });
      const a = await store.doc('a', { initial: { n: 0, pad: '' } });
      const b = await store.doc('b', { initial: { n: 0 } });
      await store.flush();
      console.log('ready');
      const end = Date.now() + 4000;
      for (let n = 1; Date.now() < end; n++) {
        store.transaction(() => {
          a.update((s) => { s.n = n; s.pad = String(n).repeat(20_000); });
          b.update((s) => { s.n = n; });
        });
        if (n % 5 === 0) await store.flush();
      }
      await store.close();
      console.log('done ' + a.state.n);`,
    );
    expect(await child.line('ready')).toBe('ready');
    const reader = await openReadOnly(directory);
    const a = await reader.doc<State>('a');
    const b = await reader.doc<State>('b');
    let last = 0;
    let refreshes = 0;
    let fresh = 0;
    while (!child.lines.some((line) => line.startsWith('done'))) {
      await reader.refresh();
      refreshes++;
      expect(b.state.n).toBe(a.state.n);
      expect(a.state.n).toBeGreaterThanOrEqual(last);
      last = a.state.n;
      if (refreshes % 10 === 0) {
        const other = await openReadOnly(directory);
        expect((await other.doc<State>('a')).state.n).toBeGreaterThanOrEqual(last);
        fresh++;
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    await child.ended;
    await reader.refresh();
    expect(child.lines.at(-1)).toBe(`done ${a.state.n}`);
    expect(refreshes).toBeGreaterThan(10);
    expect(fresh).toBeGreaterThan(0);
  });

  it('passes over a torn end, and takes it once it is whole', async () => {
    const directory = folder();
    const truth = new Truth(directory);
    const doc = truth.doc<State>('a', { initial: { n: 0 } });
    truth.mark();
    const tail = newestTail(directory);
    const short = readFileSync(tail);
    doc.update((s) => void (s.n = 1));
    const whole = readFileSync(tail);
    truth.abandon();
    const end = whole.findLastIndex((byte) => byte !== 0) + 1;
    for (let cut = end - 1; cut > end - 20; cut--) {
      const torn = Buffer.from(whole);
      torn.fill(0, cut);
      writeFileSync(tail, torn);
      const reader = await openReadOnly(directory);
      const seen = await reader.doc<State>('a');
      // Some bytes at the end of a frame may be zero anyway.
      if (!torn.equals(whole)) expect(seen.state).toEqual({ n: 0 });
      await reader.refresh();
      writeFileSync(tail, whole);
      await reader.refresh();
      expect(seen.state).toEqual({ n: 1 });
    }
    writeFileSync(tail, short);
    expect((await (await openReadOnly(directory)).doc<State>('a')).state).toEqual({ n: 0 });
  });

  it('refuses damage with the report that open gives, at opening and at following; what was read stays', async () => {
    const directory = folder();
    const store = await openStore(directory);
    const doc = await store.doc<State>('a', { initial: { n: 1 } });
    await store.flush();
    const reader = await openReadOnly(directory);
    const seen = await reader.doc<State>('a');
    for (let n = 2; n < 10; n++) doc.update((s) => void (s.n = n));
    await store.close();
    const tail = newestTail(directory);
    const bytes = readFileSync(tail);
    bytes.fill(7, 400, 420);
    writeFileSync(tail, bytes);
    const before = traces(directory);
    const refused = await open(directory, { workersUrl }).catch((error: unknown) => error as { details: unknown });
    const own = await openReadOnly(directory).catch((error: unknown) => error as { details: unknown });
    expect(own).toMatchObject({ code: 'HF_DAMAGED' });
    expect((own as { details: unknown }).details).toEqual((refused as { details: unknown }).details);
    await expect(reader.refresh()).rejects.toMatchObject({ code: 'HF_DAMAGED' });
    expect(seen.state.n).toBeLessThan(9);
    expect(before.filter((line) => line.includes('.tail'))).toEqual(
      traces(directory).filter((line) => line.includes('.tail')),
    );
  });

  it('tells rot of what was read long ago from what is not there yet, by the witness', async () => {
    const directory = folder();
    const truth = new Truth(directory);
    const doc = truth.doc<State>('a', { initial: { n: 0 } });
    const reader = await openReadOnly(directory);
    doc.update((s) => void (s.n = 1));
    truth.mark();
    truth.abandon();
    // The commit and the mark behind it are gone; only high-water knows that there was one.
    const tail = newestTail(directory);
    const bytes = readFileSync(tail);
    bytes.fill(0, bytes.lastIndexOf(Buffer.from([0xff, 0x48, 0x46, 0xfe]), -1) - 60);
    writeFileSync(tail, bytes);
    await expect(reader.refresh()).rejects.toMatchObject({ code: 'HF_DAMAGED' });
  });

  it('is HF_MISSING where there is no store, and creates nothing', async () => {
    const directory = folder();
    await expect(openReadOnly(directory)).rejects.toMatchObject({ code: 'HF_MISSING' });
    await expect(openReadOnly(join(directory, 'never'))).rejects.toMatchObject({ code: 'HF_MISSING' });
    mkdirSync(join(directory, '.holdfast'));
    await expect(openReadOnly(directory)).rejects.toMatchObject({ code: 'HF_MISSING' });
    expect(readdirSync(directory)).toEqual(['.holdfast']);
    await expect(openReadOnly('')).rejects.toThrow(TypeError);
    await expect(openReadOnly(7 as never)).rejects.toThrow(TypeError);
  });

  it('is HF_MISSING when the store went away or was replaced by another; what was read stays', async () => {
    const directory = join(folder(), 'store');
    killed(directory, (truth) => void truth.doc<State>('a', { initial: { n: 1 } }));
    const other = join(folder(), 'other');
    killed(other, (truth) => void truth.doc<State>('a', { initial: { n: 2 } }));
    const reader = await openReadOnly(directory);
    const seen = await reader.doc<State>('a');
    renameSync(directory, `${directory}-moved`);
    await expect(reader.refresh()).rejects.toMatchObject({ code: 'HF_MISSING' });
    cpSync(other, directory, { recursive: true });
    await expect(reader.refresh()).rejects.toMatchObject({ code: 'HF_MISSING' });
    expect(seen.state).toEqual({ n: 1 });
    rmSync(directory, { recursive: true });
    renameSync(`${directory}-moved`, directory);
    await reader.refresh();
  });

  it('checks the schema it is given, at opening and whenever the writer changed something', async () => {
    const directory = folder();
    const truth = new Truth(directory);
    const doc = truth.doc<{ n: unknown }>('a', { initial: { n: 1 } });
    const reader = await openReadOnly(directory);
    const seen = await reader.doc('a', { schema: z.object({ n: z.number() }) });
    expect(seen.state.n.toFixed(1)).toBe('1.0');
    await expect(reader.doc('a', { schema: z.object({ n: z.string() }) })).rejects.toMatchObject({ code: 'HF_SCHEMA' });
    doc.update((s) => void (s.n = 'text'));
    await expect(seen.refresh()).rejects.toMatchObject({ code: 'HF_SCHEMA', path: ['n'] });
    expect(() => seen.state).toThrow(expect.objectContaining({ code: 'HF_SCHEMA' }));
    // One document's trouble is not another's.
    await reader.refresh();
    doc.update((s) => void (s.n = 2));
    await seen.refresh();
    expect(seen.state.n).toBe(2);
    await expect(reader.doc('../a')).rejects.toMatchObject({ code: 'HF_NAME' });
    truth.close();
  });

  it('reads a document of openDoc by its hidden folder', async () => {
    const directory = folder();
    const doc = await openDoc<State>(join(directory, 'state.json'), { workersUrl, initial: { n: 1 } });
    await doc.flush();
    const reader = await openReadOnly(join(directory, '.state.json.holdfast'));
    const [only] = reader.documents();
    expect((await reader.doc<State>(only?.name ?? '')).state).toEqual({ n: 1 });
    await doc.close();
  });

  it('is closed for good', async () => {
    const directory = folder();
    killed(directory, (truth) => void truth.doc<State>('a', { initial: { n: 1 } }));
    const reader = await openReadOnly(directory);
    const seen = await reader.doc<State>('a');
    await reader[Symbol.asyncDispose]();
    await reader.close();
    expect(reader.health().phase).toBe('closed');
    expect(() => reader.documents()).toThrow(expect.objectContaining({ code: 'HF_CLOSED' }));
    expect(() => seen.state).toThrow(expect.objectContaining({ code: 'HF_CLOSED' }));
    await expect(reader.refresh()).rejects.toMatchObject({ code: 'HF_CLOSED' });
    await expect(reader.doc('a')).rejects.toMatchObject({ code: 'HF_CLOSED' });
  });
});
