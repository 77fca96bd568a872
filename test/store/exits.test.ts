// Every way in which a process ends, right after an update: the update is there, in truth and in the JSON file.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { folder, json, openStore } from './support.js';

const root = join(import.meta.dirname, '../..');

interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/** Runs a program with `store` and `doc` at hand, `before` before they are; `signal` is sent once it prints 'ready'. */
async function run(
  directory: string,
  code: string,
  { signal, before = '' }: { signal?: NodeJS.Signals; before?: string } = {},
): Promise<Ended> {
  const program = `
    import { open } from 'holdfast';
    ${before}
    const store = await open(${JSON.stringify(directory)}, { syncDelayMs: 60_000, projectDelayMs: 60_000 });
    const doc = await store.doc('loop', { initial: { n: 0 } });
    await store.flush({ projected: true });
    const ready = () => { process.stdout.write('ready\\n'); setInterval(() => {}, 1000); };
    ${code}`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { cwd: root });
  const ended: Ended = { code: null, signal: null, stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => {
    ended.stdout += chunk;
    if (signal !== undefined && String(chunk).includes('ready')) child.kill(signal);
  });
  child.stderr.on('data', (chunk) => {
    ended.stderr += chunk;
  });
  [ended.code, ended.signal] = await once(child, 'close');
  return ended;
}

/** What version 3 of signal-exit does, which many programs still bring with them: it waits until only its own are left. */
const SIGNAL_EXIT_3 = `
  const emitter = (process.__signal_exit_emitter__ = { count: 1 });
  const theirs = () => {
    if (process.listeners('SIGINT').length !== emitter.count) return;
    process.off('SIGINT', theirs);
    emitter.count--;
    process.stdout.write('older SIGINT\\n');
    process.kill(process.pid, 'SIGINT');
  };
  process.on('SIGINT', theirs);
  setTimeout(() => process.exit(1), 20_000).unref();`;

const SET = 'doc.update((s) => { s.n = 1; });';

async function expectSaved(directory: string, n: number): Promise<void> {
  expect(json(directory, 'loop')).toEqual({ n });
  const store = await openStore(directory);
  expect((await store.doc('loop', { initial: { n: -1 } })).state).toEqual({ n });
}

describe('an update is there, in truth and in the file, after', () => {
  it.each<[string, string, number]>([
    ['store.close()', `${SET} await store.close();`, 0],
    ['the event loop empties', SET, 0],
    ['process.exit()', `${SET} process.exit(3);`, 3],
    ['an uncaught error', `${SET} throw new Error('boom');`, 1],
    [
      'an unhandled rejection',
      `${SET} Promise.reject(new Error('boom')); await new Promise((r) => setTimeout(r, 5000));`,
      1,
    ],
    ['process.exitCode and the end', `${SET} process.exitCode = 4;`, 4],
    ['exit in a recipe, which is undone', `${SET} doc.update((s) => { s.n = 2; process.exit(5); });`, 5],
    [
      'exit in a transaction, which is undone',
      `${SET} store.transaction(() => { doc.update((s) => { s.n = 2; }); process.exit(6); });`,
      6,
    ],
    [
      'exit while files are being written, a large one first',
      `const large = await store.doc('large', { initial: { text: '' } });
       large.update((s) => { s.text = 'x'.repeat(20_000_000); });
       ${SET}
       await store.flush();
       store.flush({ projected: true });
       setTimeout(() => process.exit(8), 5);`,
      8,
    ],
    [
      'a change in a listener of exit that comes after ours',
      `process.on('exit', () => { doc.update((s) => { s.n = 1; }); }); doc.update((s) => { s.n = 2; });`,
      0,
    ],
    [
      'a transaction in a listener of exit, with nothing before it',
      `process.on('exit', () => { store.transaction(() => { ${SET} }); }); process.exit(7);`,
      7,
    ],
  ])('%s', async (_, code, expected) => {
    const directory = folder();
    const ended = await run(directory, code);
    expect(ended.code, ended.stderr).toBe(expected);
    await expectSaved(directory, 1);
  });

  it.each<NodeJS.Signals>(['SIGINT', 'SIGTERM', 'SIGHUP'])(
    '%s, which then takes its default action',
    async (signal) => {
      const directory = folder();
      const ended = await run(directory, `${SET} ready();`, { signal });
      expect([ended.code, ended.signal], ended.stderr).toEqual([null, signal]);
      await expectSaved(directory, 1);
    },
  );

  it('a signal that the program handles itself: it decides what happens', async () => {
    const directory = folder();
    const code = `process.on('SIGTERM', () => { setTimeout(() => { doc.update((s) => { s.n = 7; }); process.exit(9); }, 50); }); ${SET} ready();`;
    const ended = await run(directory, code, { signal: 'SIGTERM' });
    expect([ended.code, ended.signal], ended.stderr).toEqual([9, null]);
    await expectSaved(directory, 7);
  });

  // A listener added with `once` is gone by the time it runs, wherever in the program it was added.
  it.each(['before', 'after'])(
    'a signal that the program handles once, with a listener from %s the opening',
    async (when) => {
      const directory = folder();
      const listen =
        "process.once('SIGTERM', () => { setTimeout(() => { process.stdout.write('shut down'); process.exit(9); }, 50); });";
      const code = `${when === 'after' ? listen : ''} ${SET} ready();`;
      const ended = await run(directory, code, { signal: 'SIGTERM', before: when === 'before' ? listen : '' });
      expect([ended.code, ended.signal], ended.stderr).toEqual([9, null]);
      expect(ended.stdout).toContain('shut down');
      await expectSaved(directory, 1);
    },
  );

  it('beside signal-exit: both have their turn, and Ctrl-C ends the program', async () => {
    const directory = folder();
    const code = `
      import { onExit } from 'signal-exit';
      onExit((code, signal) => { process.stdout.write('theirs ' + signal + '\\n'); });
      ${SET} ready();`;
    const ended = await run(directory, code, { signal: 'SIGINT' });
    expect(ended.signal, ended.stderr).toBe('SIGINT');
    expect(ended.stdout).toContain('theirs SIGINT');
    await expectSaved(directory, 1);
  });

  it.each([false, true])(
    'beside signal-exit 3, which counts elsewhere; version 4 is there too: %s',
    async (isNewerToo) => {
      const directory = folder();
      const code = `
      ${isNewerToo ? "(await import('signal-exit')).onExit(() => { process.stdout.write('newer '); });" : ''}
      ${SIGNAL_EXIT_3}
      ${SET} ready();`;
      const ended = await run(directory, code, { signal: 'SIGINT' });
      expect(ended.signal, ended.stderr).toBe('SIGINT');
      expect(ended.stdout).toContain('older SIGINT');
      expect(ended.stdout.includes('newer')).toBe(isNewerToo);
      await expectSaved(directory, 1);
    },
  );
});

it('a process that outlives its signal goes on: files are written, the store can be closed, the next signal is heard', async () => {
  const directory = folder();
  const code = `
    import { onExit } from 'signal-exit';
    let times = 0;
    onExit(() => ++times === 1);
    ${SET}
    process.kill(process.pid, 'SIGTERM');
    while (process.listenerCount('SIGTERM') > 0) await new Promise((resolve) => setTimeout(resolve, 1));
    while (process.listenerCount('SIGTERM') === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    doc.update((s) => { s.n = 2; });
    await store.flush({ projected: true });
    const other = await store.doc('other', { initial: {} });
    await store.close();
    const again = await open(store.directory, { projectDelayMs: 60_000 });
    (await again.doc('loop', { initial: {} })).update((s) => { s.n = 3; });
    onExit(() => false);
    ready();`;
  const ended = await run(directory, code, { signal: 'SIGTERM' });
  expect([ended.code, ended.signal], ended.stderr).toEqual([null, 'SIGTERM']);
  await expectSaved(directory, 3);
});

it('a document that was removed at the end is gone, with its files', async () => {
  const directory = folder();
  const code = `
    const other = await store.doc('other', { initial: { n: 0 } });
    await store.flush({ projected: true });
    other.update((s) => { s.n = 1; });
    await store.flush({ projected: true });
    store.remove('other');
    ${SET}
    process.exit(3);`;
  const ended = await run(directory, code);
  expect(ended.code, ended.stderr).toBe(3);
  expect(readdirSync(directory).filter((name) => name.startsWith('other'))).toEqual([]);
  await expectSaved(directory, 1);
});

it('a process that was taken over and does not know it leaves the files of the new owner alone', async () => {
  const directory = folder();
  const code = `
    import { renameSync } from 'node:fs';
    ${SET}
    await store.flush();
    renameSync(store.directory + '/.holdfast/lock.1', store.directory + '/.holdfast/lock.2');
    process.exit(3);`;
  const ended = await run(directory, code);
  expect(ended.code).toBe(3);
  expect(ended.stderr).toContain('Another process has taken over');
  expect(json(directory, 'loop')).toEqual({ n: 0 });
});

it.each(['process.exit(3);', "process.kill(process.pid, 'SIGTERM');"])(
  'what could not be saved at the end is said: %s',
  async (end) => {
    const code = `
      import { rmSync } from 'node:fs';
      rmSync(store.directory + '/.holdfast/lock.1');
      ${SET} ${end}`;
    const { stderr } = await run(folder(), code);
    expect(stderr).toMatch(/HoldfastWarning: Saving .* at exit failed: Another process has taken over/);
  },
);

it('process.exit() with a small pending change returns soon', async () => {
  const directory = folder();
  const code = `${SET} const t = performance.now(); process.on('exit', () => process.stdout.write('took ' + (performance.now() - t))); process.exit();`;
  const { stdout } = await run(directory, code);
  const tookMs = Number(/took ([\d.]+)/.exec(stdout)?.[1]);
  console.info(`process.exit() with one pending update: ${tookMs.toFixed(1)} ms`);
  expect(tookMs).toBeGreaterThan(0);
  await expectSaved(directory, 1);
});

it('SIGKILL loses nothing that was flushed, and the next start does not wait', async () => {
  const directory = folder();
  const ended = await run(directory, `${SET} await store.flush(); ready();`, { signal: 'SIGKILL' });
  expect(ended.signal).toBe('SIGKILL');
  const store = await openStore(directory);
  expect((await store.doc('loop', { initial: { n: -1 } })).state).toEqual({ n: 1 });
});
