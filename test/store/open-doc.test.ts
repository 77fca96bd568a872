import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type OpenDocOptions, type OpenDocument, openDoc } from '../../src/open-doc.js';
import { open } from '../../src/opening.js';
import { run, sleep, start } from '../support/process-child.js';
import { folder, workersUrl } from './support.js';

interface State {
  n: number;
}

const opened: OpenDocument<unknown>[] = [];

async function openState(path: string, options: Partial<OpenDocOptions<State>> = {}): Promise<OpenDocument<State>> {
  const settings = { workersUrl, projectDelayMs: 20, initial: { n: 0 }, ...options } as OpenDocOptions<State>;
  const doc = await openDoc(path, settings as OpenDocOptions<State> & { schema?: undefined });
  opened.push(doc as OpenDocument<unknown>);
  return doc;
}

function read(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}

afterEach(async () => {
  // One that is closed already says so, or does nothing.
  for (const doc of opened.splice(0)) await doc.close().catch(() => undefined);
});

describe('openDoc', () => {
  it('makes the file, and a hidden folder beside it; opened again it goes on', async () => {
    const directory = folder();
    const path = join(directory, 'deep', 'er', 'state.json');
    const doc = await openState(path);
    doc.update((s) => void (s.n = 1));
    await doc.flush();
    expect(doc.durableVersion).toBe(2);
    await doc.close();
    expect(readdirSync(join(directory, 'deep', 'er')).sort()).toEqual(['.state.json.holdfast', 'state.json']);
    expect(readFileSync(path, 'utf8')).toBe('{\n  "n": 1\n}\n');
    expect(() => doc.update((s) => void (s.n = 2))).toThrow(expect.objectContaining({ code: 'HF_CLOSED' }));
    const again = await openState(path);
    expect([again.state, again.version]).toEqual([{ n: 1 }, 2]);
  });

  it('takes a file over that is already there, and keeps it as the first backup', async () => {
    const path = join(folder(), 'settings');
    writeFileSync(path, '{"n":7}');
    const doc = await openDoc(path, { workersUrl, schema: z.object({ n: z.number() }), initial: { n: 0 } });
    opened.push(doc as OpenDocument<unknown>);
    expect(doc.state.n).toBe(7);
    await doc.flush({ projected: true });
    expect([read(path), readFileSync(`${path}.bak1`, 'utf8')]).toEqual([{ n: 7 }, '{"n":7}']);
    doc.update((s) => void (s.n = 8));
    await doc.close();
    expect([read(path), readFileSync(`${path}.bak2`, 'utf8')]).toEqual([{ n: 8 }, '{"n":7}']);
  });

  it.each([0, 1, 10, 40])('a file that was taken over follows a change made %i ms later', async (delayMs) => {
    const path = join(folder(), 'state.json');
    writeFileSync(path, '{"n":7}');
    const doc = await openState(path);
    if (delayMs > 0) await sleep(delayMs);
    doc.update((s) => void (s.n = 8));
    await doc.close();
    expect(read(path)).toEqual({ n: 8 });
  });

  it.each(['', '{"n":', '{"n":"seven"}'])('refuses a file that holds %j, and leaves it as it is', async (text) => {
    const path = join(folder(), 'state.json');
    writeFileSync(path, text);
    const schema = z.object({ n: z.number() });
    const opening = openDoc(path, { workersUrl, schema, initial: { n: 0 } });
    await expect(opening).rejects.toMatchObject({ code: text.endsWith('}') ? 'HF_SCHEMA' : 'HF_DAMAGED' });
    expect(readFileSync(path, 'utf8')).toBe(text);
    // It let go: once mended it opens.
    writeFileSync(path, '{"n":1}');
    expect((await openState(path)).state).toEqual({ n: 1 });
  });

  it('keeps as many backups as it is told', async () => {
    const path = join(folder(), 'state.json');
    const doc = await openState(path, { backups: 2 });
    for (let n = 1; n <= 4; n++) {
      doc.update((s) => void (s.n = n));
      await doc.flush({ projected: true });
    }
    expect([read(path), read(`${path}.bak1`), read(`${path}.bak2`)]).toEqual([{ n: 4 }, { n: 3 }, { n: 2 }]);
    expect(existsSync(`${path}.bak3`)).toBe(false);
  });

  it('shares nothing with another document in the folder', async () => {
    const directory = folder();
    const [one, two] = await Promise.all([openState(join(directory, 'a.json')), openState(join(directory, 'b.json'))]);
    one.update((s) => void (s.n = 1));
    await one.close();
    two.update((s) => void (s.n = 2));
    await two.close();
    expect([read(join(directory, 'a.json')), read(join(directory, 'b.json'))]).toEqual([{ n: 1 }, { n: 2 }]);
  });

  it('leaves other files in the folder alone, also those that look like leftovers of a store', async () => {
    const directory = folder();
    const names = ['.holdfast-0123456789abcdef.tmp', 'other.json', 'broken.json', 'state.json.bak7', 'notes.txt'];
    for (const name of names) writeFileSync(join(directory, name), `left ${name}`);
    const doc = await openState(join(directory, 'state.json'));
    doc.update((s) => void (s.n = 1));
    await doc.close();
    await (await openState(join(directory, 'state.json'))).close();
    for (const name of names) expect(readFileSync(join(directory, name), 'utf8')).toBe(`left ${name}`);
    expect(readdirSync(directory).sort()).toEqual([...names, '.state.json.holdfast', 'state.json'].sort());
  });

  it('opened twice is the same document, and takes two closes', async () => {
    const path = join(folder(), 'state.json');
    const [one, two] = await Promise.all([openState(path), openState(path)]);
    expect(two).toBe(one);
    await one.close();
    two.update((s) => void (s.n = 1));
    await two.close();
    expect(() => two.update((s) => void (s.n = 2))).toThrow(expect.objectContaining({ code: 'HF_CLOSED' }));
    const again = await openState(path);
    expect(again).not.toBe(one);
    expect(again.state).toEqual({ n: 1 });
  });

  it('can be disposed of', async () => {
    const path = join(folder(), 'state.json');
    const doc = await openState(path);
    doc.update((s) => void (s.n = 1));
    await doc[Symbol.asyncDispose]();
    expect(read(path)).toEqual({ n: 1 });
  });

  it('follows symbolic links, to the file and on the way to it: one file, one truth', async () => {
    const directory = folder();
    mkdirSync(join(directory, 'real'));
    const real = join(directory, 'real', 'state.json');
    writeFileSync(real, '{"n":5}');
    symlinkSync(real, join(directory, 'link.json'));
    symlinkSync('real', join(directory, 'way'));
    const docs = await Promise.all(
      [real, join(directory, 'link.json'), join(directory, 'way', 'state.json')].map((path) => openState(path)),
    );
    expect(new Set(docs).size).toBe(1);
    docs[0]?.update((s) => void (s.n = 6));
    for (const doc of docs) await doc.close();
    expect(read(real)).toEqual({ n: 6 });
    expect(readdirSync(directory).sort()).toEqual(['link.json', 'real', 'way']);
    symlinkSync('nowhere', join(directory, 'dangling.json'));
    await expect(openState(join(directory, 'dangling.json'))).rejects.toMatchObject({ code: 'HF_IO' });
  });

  it('goes on after its folder was moved, or file and hidden folder were renamed together', async () => {
    const directory = folder();
    const doc = await openState(join(directory, 'before', 'state.json'));
    doc.update((s) => void (s.n = 1));
    await doc.close();
    renameSync(join(directory, 'before'), join(directory, 'after'));
    const moved = await openState(join(directory, 'after', 'state.json'));
    expect(moved.state).toEqual({ n: 1 });
    moved.update((s) => void (s.n = 2));
    await moved.close();
    renameSync(join(directory, 'after', 'state.json'), join(directory, 'after', 'new.json'));
    renameSync(join(directory, 'after', '.state.json.holdfast'), join(directory, 'after', '.new.json.holdfast'));
    const renamed = await openState(join(directory, 'after', 'new.json'));
    expect([renamed.state, renamed.name]).toEqual([{ n: 2 }, 'state.json']);
    renamed.update((s) => void (s.n = 3));
    await renamed.close();
    expect(readdirSync(join(directory, 'after')).filter((name) => !name.includes('.bak'))).toEqual([
      '.new.json.holdfast',
      'new.json',
    ]);
    expect(read(join(directory, 'after', 'new.json'))).toEqual({ n: 3 });
  });

  it('refuses bad paths before anything is made', async () => {
    const directory = folder();
    mkdirSync(join(directory, 'dir.json'));
    for (const path of ['', 7, undefined, join(directory, 'nul\0.json')])
      await expect(openState(path as string)).rejects.toThrow(TypeError);
    for (const name of ['x'.repeat(255), 'x'.repeat(246), '.x.json.holdfast', '.holdfast', 'con', 'state.json.bak1'])
      await expect(openState(join(directory, name))).rejects.toMatchObject({ code: 'HF_NAME' });
    await expect(openState(join(directory, 'dir.json'))).rejects.toMatchObject({ code: 'EISDIR' });
    await expect(openState(join(directory, 'x.json'), { syncDelayMs: -1 })).rejects.toThrow(TypeError);
    expect(readdirSync(directory)).toEqual(['dir.json']);
    const longest = await openState(join(directory, 'x'.repeat(245)));
    longest.update((s) => void (s.n = 1));
    await longest.close();
    expect(read(join(directory, 'x'.repeat(245)))).toEqual({ n: 1 });
    await expect(open(join(directory, `.${'x'.repeat(245)}.holdfast`))).rejects.toThrow(/openDoc/);
  });

  it('is drift when somebody else changes the file: refused, adopted or restored by choice', async () => {
    const path = join(folder(), 'state.json');
    await (await openState(path)).close();
    writeFileSync(path, '{"n":9}');
    await expect(openState(path)).rejects.toMatchObject({ code: 'HF_DRIFT' });
    expect(readFileSync(path, 'utf8')).toBe('{"n":9}');
    const adopted = await openState(path, { onDrift: 'adopt' });
    expect(adopted.state).toEqual({ n: 9 });
    await adopted.close();
    writeFileSync(path, '{"n":10}');
    const restored = await openState(path, { onDrift: 'restore' });
    expect(restored.state).toEqual({ n: 9 });
    await restored.close();
    expect(read(path)).toEqual({ n: 9 });
  });
});

describe('openDoc in processes of their own', () => {
  it('process.exit right after an update saves truth and file', async () => {
    const path = join(folder(), 'state.json');
    const ended = await run(`
      import { openDoc } from 'holdfast';
      const doc = await openDoc(${JSON.stringify(path)}, { initial: { n: 0 }, syncDelayMs: 60_000, projectDelayMs: 60_000 });
      doc.update((s) => { s.n = 1; });
      process.exit(3);`);
    expect([ended.code, ended.stderr]).toEqual([3, '']);
    expect(read(path)).toEqual({ n: 1 });
    expect((await openState(path)).state).toEqual({ n: 1 });
  });

  it('a second process is refused with HF_LOCKED, and let in once the first is gone', async () => {
    const path = join(folder(), 'state.json');
    const child = start(`
      import { openDoc } from 'holdfast';
      const doc = await openDoc(${JSON.stringify(path)}, { initial: { n: 0 } });
      doc.update((s) => { s.n = 1; });
      await doc.flush();
      console.log('ready');
      setInterval(() => {}, 1000);`);
    expect(await child.line('ready')).toBe('ready');
    await expect(openState(path)).rejects.toMatchObject({ code: 'HF_LOCKED' });
    child.kill('SIGKILL');
    await child.ended;
    expect((await openState(path)).state).toEqual({ n: 1 });
  });
});
