// Other users, other processes, threads that die: what the calls meet outside.

import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { configure, readFile, recover, writeFile, writeFiles } from '../../src/file/index.js';
import { start } from '../support/process-child.js';
import { because, whyNoFaults } from '../support/process-means.js';

configure({ workersUrl: pathToFileURL(join(import.meta.dirname, '../../dist/workers')) });

const NOBODY = 65_534;
const FILE_MODULE = pathToFileURL(join(import.meta.dirname, '../../dist/src/file/index.js')).href;

let directory = '';
const at = (...names: string[]) => join(directory, ...names);

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-world-'));
  chmodSync(directory, 0o755);
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** Null when a program can be run as nobody, and may read this project. */
function whyNotNobody(): string | null {
  if (process.geteuid?.() !== 0) return 'not root';
  const { status } = spawnSync(process.execPath, ['-e', `require('fs').readdirSync('${import.meta.dirname}')`], {
    uid: NOBODY,
    gid: NOBODY,
  });
  return status === 0 ? null : 'nobody may not read this project';
}

/** What the call came to, made as a user without any rights. */
function asNobody(call: string): { code?: string; cause?: string; message?: string; done?: boolean } {
  const program = `
    import { readFile, writeFile, writeFiles } from ${JSON.stringify(FILE_MODULE)};
    try { await (${call}); console.log('{"done":true}'); }
    catch ({ code, cause, message }) { console.log(JSON.stringify({ code, cause: cause?.code, message })); }`;
  const args = ['--input-type=module', '-e', program];
  const { stdout, stderr } = spawnSync(process.execPath, args, {
    uid: NOBODY,
    gid: NOBODY,
    cwd: '/',
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}

const noNobody = whyNotNobody();

describe.skipIf(noNobody !== null)(because('a user without the right', noNobody), () => {
  it('to write to a directory gets a clear error, and the files stay', () => {
    writeFileSync(at('a'), 'old', { mode: 0o666 });
    const refused = { code: 'HF_IO', cause: 'EACCES' };
    expect(asNobody(`writeFile(${JSON.stringify(at('a'))}, 'new')`)).toMatchObject(refused);
    expect(asNobody(`writeFiles([{ path: ${JSON.stringify(at('a'))}, data: 'new' }])`)).toMatchObject(refused);
    expect(asNobody(`readFile(${JSON.stringify(at('a'))})`)).toEqual({ done: true });
    expect(readFileSync(at('a'), 'utf8')).toBe('old');
    expect(readdirSync(directory)).toEqual(['a']);
  });

  it('to give a file to its owner gets a clear error, and the file stays', () => {
    mkdirSync(at('open'));
    chmodSync(at('open'), 0o777);
    writeFileSync(at('open', 'a'), 'old', { mode: 0o666 });
    const { code, message } = asNobody(`writeFile(${JSON.stringify(at('open', 'a'))}, 'new')`);
    expect({ code, message }).toEqual({
      code: 'HF_IO',
      message: expect.stringContaining('belongs to user 0, group 0'),
    });
    expect(readFileSync(at('open', 'a'), 'utf8')).toBe('old');
    chownSync(at('open', 'a'), NOBODY, NOBODY);
    expect(asNobody(`writeFile(${JSON.stringify(at('open', 'a'))}, 'new')`)).toEqual({ done: true });
    expect(readdirSync(at('open'))).toEqual(['a']);
  });
});

const noFaults = whyNoFaults();

/** A process that is killed, or waits for three seconds, when it is about to replace the first file. */
async function interrupted(inject: string) {
  for (const folder of ['a', 'b']) mkdirSync(at(folder));
  for (const file of ['a/1', 'b/1']) writeFileSync(at(file), 'old');
  const files = ['a/1', 'b/1'].map((file) => ({ path: at(file), data: 'new' }));
  const program = `import { writeFiles } from 'holdfast/file';
    await writeFiles(${JSON.stringify(files)});
    console.log('done');`;
  // The first rename is that of the intent.
  const wrapper = ['strace', '-f', '-o', '/dev/null', '-e', 'trace=rename', '-e', `inject=rename:${inject}:when=2`];
  return start(program, { wrapper });
}

describe.skipIf(noFaults !== null)(because('a process that was killed', noFaults), () => {
  it('has its files completed by a write; what was changed meanwhile is kept and warned of', async () => {
    await (await interrupted('signal=SIGKILL')).ended;
    writeFileSync(at('a', '1'), 'by hand');
    const warned = new Promise<Error>((resolve) => process.once('warning', resolve));
    await writeFile(at('b', 'other'), 'x');
    expect(readFileSync(at('b', '1'), 'utf8')).toBe('new');
    expect(readFileSync(at('a', '1'), 'utf8')).toBe('by hand');
    expect(await warned).toMatchObject({ code: 'HF_CONFLICT', message: expect.stringContaining(at('a', '1')) });
    // The next call in that directory sweeps it, too.
    expect(await recover(at('a'))).toEqual({ completed: [], undone: [], conflicts: [] });
    expect(readdirSync(at('a'))).toEqual(['1', expect.stringContaining('1.conflict-')]);
    expect(readFileSync(at('a', readdirSync(at('a'))[1] ?? ''), 'utf8')).toBe('new');
  });

  it('has them completed where they are now, if the tree was moved', async () => {
    await (await interrupted('signal=SIGKILL')).ended;
    mkdirSync(at('moved'));
    for (const folder of ['a', 'b']) renameSync(at(folder), at('moved', folder));
    const { completed } = await recover(at('moved', 'b'));
    expect(completed.sort()).toEqual([at('moved', 'a', '1'), at('moved', 'b', '1')]);
    expect(readFileSync(at('moved', 'a', '1'), 'utf8')).toBe('new');
  });
});

const noStranger = noFaults ?? noNobody;

describe.skipIf(noStranger !== null)(because('what a process of another user left', noStranger), () => {
  const call = (name: string, ...names: string[]) => {
    const data = name === 'writeFile' ? `, 'x'` : '';
    return asNobody(`${name}(${JSON.stringify(at(...names))}${data})`);
  };

  it('stands in the way of its own files only', async () => {
    await (await interrupted('signal=SIGKILL')).ended;
    writeFileSync(at('b', 'other'), 'old');
    // Root left it, and nobody may not end it here.
    expect(call('readFile', 'b', 'other')).toEqual({ done: true });
    expect(call('readFile', 'b', '1')).toMatchObject({ code: 'HF_IO', cause: 'EACCES' });
    chmodSync(at('b'), 0o777);
    expect(call('writeFile', 'b', 'mine')).toEqual({ done: true });
    // Anybody may have left this.
    chownSync(at('b', '.holdfast-files'), 1, 1);
    chmodSync(at('a'), 0o777);
    expect(call('readFile', 'b', 'other')).toEqual({ done: true });
    expect(call('writeFile', 'b', 'mine')).toEqual({ done: true });
    expect(call('writeFile', 'b', '1')).toMatchObject({ code: 'HF_LOCKED' });
    expect(readFileSync(at('b', '1'), 'utf8')).toBe('old');
    chownSync(at('b', '.holdfast-files'), 0, 0);
    expect((await recover(at('b'))).completed.sort()).toEqual([at('a', '1'), at('b', '1')]);
    expect(readdirSync(at('b'))).toEqual(['1', 'mine', 'other']);
  });
});

describe.skipIf(noFaults !== null)(because('a process that is at work', noFaults), () => {
  it('is waited for by those who want the same files, and by nobody else', async () => {
    const other = await interrupted('delay_enter=3000000');
    while (!readdirSync(at('a')).some((name) => name.endsWith('.intent'))) await new Promise((r) => setTimeout(r, 20));
    await writeFile(at('a', 'other'), 'x');
    expect((await readFile(at('b', '1'))).toString()).toBe('old');
    expect(await recover(at('a'))).toEqual({ completed: [], undone: [], conflicts: [] });
    expect(other.lines).toEqual([]);
    await writeFile(at('a', '1'), 'after it');
    await writeFiles([{ path: at('b', '1'), data: 'after it' }]);
    expect((await other.ended).stdout).toBe('done\n');
    expect(readFileSync(at('a', '1'), 'utf8')).toBe('after it');
    expect([readdirSync(at('a')), readdirSync(at('b'))]).toEqual([['1', 'other'], ['1']]);
  });
});

describe('a file thread that dies', () => {
  const POOLS = Symbol.for('holdfast.file-pools');

  function threads(): { terminate(): Promise<unknown> }[] {
    const pools = (globalThis as { [POOLS]?: Map<string, { pool: { threads: { terminate(): Promise<unknown> }[] } }> })[
      POOLS
    ];
    return [...(pools?.values() ?? [])].flatMap(({ pool }) => [...pool.threads]);
  }

  it('is told to those who waited for it, and the next calls go on, all or none', async () => {
    for (const folder of ['a', 'b']) mkdirSync(at(folder));
    const paths = [at('a', '1'), at('b', '1')];
    let died = 0;
    for (let n = 0; n < 30; n++) {
      const written = writeFiles(paths.map((path) => ({ path, data: `${n}`.repeat(2_000_000) }))).then(
        () => null,
        (error: { code?: string }) => error.code,
      );
      await new Promise((resolve) => setTimeout(resolve, n));
      await Promise.all(threads().map((thread) => thread.terminate()));
      const code = await written;
      if (code !== null) died++;
      expect([null, 'HF_THREAD']).toContain(code);
      const found = await Promise.all(paths.map((path) => readFile(path, 'utf8').catch(() => 'none')));
      expect(found[0]?.slice(0, 10)).toBe(found[1]?.slice(0, 10));
    }
    expect(died).toBeGreaterThan(0);
    await writeFiles(paths.map((path) => ({ path, data: 'end' })));
    expect(readFileSync(at('b', '1'), 'utf8')).toBe('end');
  });
});
