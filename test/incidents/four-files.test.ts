// One save wrote four files, one after the other. A failure between them left files that disagreed with each other.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { configure, writeFiles } from '../../src/file/index.js';
import { folder, openStore, workersUrl } from '../store/support.js';
import { sleep, start } from '../support/process-child.js';

const NAMES = ['plan', 'context', 'index', 'log'];

beforeAll(() => configure({ workersUrl }));

function paths(directory: string): string[] {
  mkdirSync(join(directory, 'one'));
  mkdirSync(join(directory, 'two'));
  const list = NAMES.map((name, n) => join(directory, n < 2 ? 'one' : 'two', `${name}.json`));
  for (const path of list) writeFileSync(path, '{"n":1}');
  return list;
}

const versions = (list: readonly string[]) => new Set(list.map((path) => readFileSync(path, 'utf8')));

it('the technique: a failure in the middle leaves two versions', async () => {
  const list = paths(folder());
  const save = async () => {
    for (const [n, path] of list.entries()) {
      if (n === 2) throw new Error('ENOSPC');
      await writeFile(path, '{"n":2}');
    }
  };
  await expect(save()).rejects.toThrow();
  expect(versions(list).size).toBe(2);
});

it('writeFiles: all or none, and the error names the file', async () => {
  const directory = folder();
  const list = paths(directory);
  mkdirSync(join(directory, 'two', 'blocked'));
  const files = [...list, join(directory, 'two', 'blocked')].map((path) => ({ path, data: '{"n":2}' }));
  await expect(writeFiles(files)).rejects.toThrow(/blocked/);
  expect(versions(list)).toEqual(new Set(['{"n":1}']));
  await writeFiles(files.slice(0, 4));
  expect(versions(list)).toEqual(new Set(['{"n":2}']));
});

it('store.transaction: a refusal in the middle undoes all, a kill at any moment leaves one version', async () => {
  const directory = folder();
  const program = `
    import { open } from 'holdfast';
    const store = await open(${JSON.stringify(directory)});
    const docs = await Promise.all(${JSON.stringify(NAMES)}.map((name) => store.doc(name, { initial: { n: 0 } })));
    console.log('ready');
    for (;;) {
      store.transaction(() => docs.forEach((doc) => doc.update((s) => { s.n++; })));
      if (docs[0].state.n % 7 === 0) await store.flush();
    }`;
  for (let kill = 0; kill < 4; kill++) {
    const child = start(program);
    await child.line('ready');
    await sleep(20 + kill * 25);
    child.kill('SIGKILL');
    await child.ended;
    const store = await openStore(directory);
    const docs = await Promise.all(NAMES.map((name) => store.doc(name, { initial: { n: 0 } })));
    expect(new Set(docs.map((doc) => doc.state.n)).size).toBe(1);
    const before = docs[0]?.state.n;
    expect(() =>
      store.transaction(() =>
        docs.forEach((doc, n) => {
          doc.update((s) => void s.n++);
          if (n === 2) throw new Error('no');
        }),
      ),
    ).toThrow('no');
    expect(new Set(docs.map((doc) => doc.state.n))).toEqual(new Set([before]));
    await store.close();
  }
});
