// The package as others get it: packed, installed into an empty project, and used from there.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Project } from './project.js';

const root = join(import.meta.dirname, '../..');

let project: Project;
beforeAll(() => {
  project = new Project();
}, 60_000);
afterAll(() => project?.remove());

describe('the tarball', () => {
  it('holds the build and its sources, and nothing else', () => {
    const { size, unpackedSize, files } = project.packed;
    console.info(
      `${files.length} files, ${(size / 1024).toFixed(0)} KB packed, ${(unpackedSize / 1024).toFixed(0)} KB`,
    );
    const paths = files.map((file) => file.path);
    expect(paths).toEqual(
      expect.arrayContaining(['dist/src/index.js', 'dist/src/index.d.ts', 'dist/workers/journal.js']),
    );
    const expected = /^(dist\/|src\/|workers\/|docs\/|package\.json$|README\.md$|LICENSE$|CHANGELOG\.md$)/;
    expect(paths.filter((path) => !expected.test(path))).toEqual([]);
    expect(paths.filter((path) => /\.test\.|(^|\/)(test|bench)\/|tsbuildinfo/.test(path))).toEqual([]);
  });

  it('has a source for every source map, and a map for every built file', () => {
    const paths = new Set(project.packed.files.map((file) => file.path));
    const built = [...paths].filter((path) => path.startsWith('dist/') && path.endsWith('.js'));
    const astray = built.flatMap((path) => {
      if (!paths.has(`${path}.map`)) return [`${path}: no map`];
      const { sources } = JSON.parse(readFileSync(join(root, `${path}.map`), 'utf8')) as { sources: string[] };
      const missing = sources.filter((source) => !paths.has(normalize(join(dirname(path), source))));
      return missing.map((source) => `${path}: ${source} is not in the package (left over from an earlier build?)`);
    });
    expect(astray).toEqual([]);
  });

  it('is clean for publint', () => {
    const { status, stdout, stderr } = project.tool('publint', 'run', project.tarball, '--strict');
    expect(status, stdout + stderr).toBe(0);
    expect(stdout).toContain('All good');
  });

  it.skipIf(!existsSync(join(root, 'node_modules/.bin/attw')))('is clean for attw', () => {
    const { status, stdout, stderr } = project.tool('attw', project.tarball, '--profile', 'esm-only');
    expect(status, stdout + stderr).toBe(0);
  });
});

/** Saves through both threads: `flush` is the journal's answer, the file is the snapshot thread's work. */
const USE = `
  const { readFileSync } = await import('node:fs');
  const directory = process.argv[2];
  const store = await open(directory, process.argv[3] ? { workersUrl: process.argv[3] } : {});
  const doc = await store.doc('loop', { initial: { n: 0 } });
  doc.update((state) => { state.n += 1; });
  await store.flush({ projected: true });
  const { n } = JSON.parse(readFileSync(directory + '/loop.json', 'utf8'));
  await store.close();
  console.log('file says', n);`;

describe('installed', () => {
  beforeEach((context) => {
    context.skip(project.offlineBecause !== null, `the packages it needs cannot be had (${project.offlineBecause})`);
  });

  it('works in a plain ESM program, and opens again', () => {
    const program = project.write('plain.mjs', `import { open } from 'holdfast';${USE}`);
    for (const n of [1, 2])
      expect(project.node(program, 'store-esm')).toEqual({ status: 0, stdout: `file says ${n}\n`, stderr: '' });
  });

  it('works with require() in a CommonJS program', () => {
    const program = project.write('plain.cjs', `const { open } = require('holdfast'); (async () => {${USE}})();`);
    const { status, stdout, stderr } = project.node(program, 'store-cjs');
    expect({ status, stdout }, stderr).toEqual({ status: 0, stdout: 'file says 1\n' });
    console.info(stderr === '' ? 'require() is silent' : `require() says: ${stderr.trim()}`);
  });

  it('has a disk in memory for tests, from ESM and CommonJS alike', () => {
    const use = `
      const disk = memory();
      const doc = await (await open(disk)).doc('a', { initial: { n: 0 } });
      doc.update((state) => { state.n = 1; });
      await doc.flush();
      doc.update((state) => { state.n = 2; });
      disk.crash('power');
      console.log((await (await open(disk)).doc('a', { initial: { n: 0 } })).state.n);`;
    const esm = `import { open } from 'holdfast'; import { memory } from 'holdfast/testing';${use}`;
    const cjs = `const { open } = require('holdfast'); const { memory } = require('holdfast/testing'); (async () => {${use}})();`;
    for (const program of [project.write('memory.mjs', esm), project.write('memory.cjs', cjs)]) {
      const { status, stdout, stderr } = project.node(program);
      expect({ status, stdout }, stderr).toEqual({ status: 0, stdout: '1\n' });
    }
  });

  it('brings the command, and its functions for programs', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    expect(project.command('holdfast', '--version')).toEqual({ status: 0, stdout: `${version}\n`, stderr: '' });
    const program = project.write('plain.mjs', `import { open } from 'holdfast';${USE}`);
    expect(project.node(program, 'store-seen').status).toBe(0);
    const shown = project.command('holdfast', 'inspect', 'store-seen', '--doc', 'loop', '--path', 'n');
    expect(shown).toEqual({ status: 0, stdout: '1\n', stderr: '' });
    expect(project.command('holdfast', 'verify', 'store-seen')).toMatchObject({ status: 0, stderr: '' });
    const use = `console.log((await at('store-seen', 'loop')).state.n);`;
    const esm = project.write('seen.mjs', `import { at } from 'holdfast/inspect';${use}`);
    const cjs = project.write('seen.cjs', `const { at } = require('holdfast/inspect'); (async () => {${use}})();`);
    for (const path of [esm, cjs]) expect(project.node(path).stdout).toBe('1\n');
  });

  it('has every entry point under its name, for import and for require()', () => {
    const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { exports: object };
    const names = Object.keys(exports).flatMap((name) => (name.endsWith('.json') ? [] : [`holdfast${name.slice(1)}`]));
    expect(names).toHaveLength(7);
    const show = '(name, all) => console.log(name, Object.keys(all).length > 0)';
    const list = JSON.stringify(names);
    const esm = `for (const name of ${list}) (${show})(name, await import(name));`;
    const cjs = `for (const name of ${list}) (${show})(name, require(name));`;
    for (const program of [project.write('names.mjs', esm), project.write('names.cjs', cjs)]) {
      const { status, stdout, stderr } = project.node(program);
      expect({ status, stdout }, stderr).toEqual({ status: 0, stdout: names.map((name) => `${name} true\n`).join('') });
    }
  });

  it('has no top-level await: every module can be required', () => {
    const modules = readdirSync(join(project.library, 'dist/src'), { recursive: true, encoding: 'utf8' }).filter(
      (path) => path.endsWith('.js') && !path.startsWith('cli/'),
    );
    expect(modules.length).toBeGreaterThan(20);
    const paths = modules.map((path) => join(project.library, 'dist/src', path));
    const program = project.write('all.cjs', `for (const path of ${JSON.stringify(paths)}) require(path);`);
    const { status, stderr } = project.node(program);
    expect(status, stderr).toBe(0);
  });

  it('has full types in a strict NodeNext project; what is wrong does not compile', () => {
    project.write('tsconfig.json', JSON.stringify({ compilerOptions: STRICT, include: ['*.ts', '*.cts'] }));
    project.write('program.ts', PROGRAM);
    project.write('program.cts', PROGRAM_CJS);
    project.write('readme.ts', readmeExample());
    project.write('wrong.ts', WRONG.map(([line]) => line).join('\n'));
    const tsc = project.node(project.path('node_modules/typescript/bin/tsc'), '--pretty', 'false');
    // Continuation lines are indented.
    const errors = tsc.stdout.split('\n').filter((line) => line !== '' && !line.startsWith(' '));
    expect(errors.filter((line) => !line.startsWith('wrong.ts'))).toEqual([]);
    const found = errors.flatMap((line) => {
      const match = /^wrong\.ts\((\d+),\d+\): error (TS\d+)/.exec(line);
      return match === null ? [] : [match.slice(1)];
    });
    const expected = WRONG.flatMap(([, code], index) => (code === undefined ? [] : [[String(index + 1), code]]));
    expect(found, tsc.stdout).toEqual(expected);
  });

  it("the README's first program runs as it stands, as JavaScript too, and goes on where it was killed", () => {
    const program = readmeExample();
    const killed = program.replace(
      'await loop.flush();',
      "$& if (item === 'build') process.kill(process.pid, 'SIGKILL');",
    );
    const outputs = program.replace('const output =', "console.log('works on', item); $&");
    expect(project.node(project.write('killed.mjs', killed)).status).toBe(null);
    const rest = { status: 0, stdout: 'works on review\n', stderr: '' };
    expect(project.node(project.write('readme.mjs', outputs))).toEqual(rest);
    expect(project.node(project.write('readme.mjs', program))).toEqual({ status: 0, stdout: '', stderr: '' });
  });

  it('the TypeScript program runs', () => {
    const { status, stdout, stderr } = project.node('out/program.js', 'store-ts');
    expect({ status, stdout }, stderr).toEqual({ status: 0, stdout: 'done: a,b\n' });
  });
});

// vitest brings this bundler along; without it there is nothing to try.
describe.skipIf(!existsSync(join(root, 'node_modules/.bin/rolldown')))('in a bundle', () => {
  beforeEach((context) => {
    context.skip(project.offlineBecause !== null, `the packages it needs cannot be had (${project.offlineBecause})`);
    project.write('plain.mjs', `import { open } from 'holdfast';${USE}`);
  });

  function bundle(name: string, ...flags: string[]): string {
    const { status, stderr } = project.tool('rolldown', 'plain.mjs', '-o', name, '--platform', 'node', ...flags);
    expect(status, stderr).toBe(0);
    return project.path(name);
  }

  it('works when it is external', () => {
    const program = bundle('bundle/external.mjs', '--external', 'holdfast');
    expect(project.node(program, 'store-external')).toEqual({ status: 0, stdout: 'file says 1\n', stderr: '' });
  });

  it('works when it is bundled, with piscina external and workersUrl', () => {
    const program = bundle('bundle/inlined.mjs', '--external', 'piscina');
    const workersUrl = pathToFileURL(join(project.library, 'dist/workers')).href;
    const ran = project.node(program, 'store-inlined', workersUrl);
    expect(ran).toEqual({ status: 0, stdout: 'file says 1\n', stderr: '' });
  });

  it('works when its workers are bundled too', () => {
    const program = bundle('bundle/all.mjs', '--external', 'piscina');
    for (const worker of ['journal.js', 'sync.js', 'snapshot.cjs']) {
      const from = join(project.library, 'dist/workers', worker);
      const as = worker.endsWith('.cjs') ? ['--format', 'cjs', '--no-codeSplitting'] : [];
      const { status, stderr } = project.tool(
        'rolldown',
        from,
        '-o',
        `bundle/workers/${worker}`,
        '--platform',
        'node',
        ...as,
      );
      expect(status, stderr).toBe(0);
    }
    const workersUrl = pathToFileURL(project.path('bundle/workers')).href;
    const ran = project.node(program, 'store-all', workersUrl);
    expect(ran).toEqual({ status: 0, stdout: 'file says 1\n', stderr: '' });
  });
});

/** The first example of the README that is a whole program. */
function readmeExample(): string {
  const blocks = readFileSync(join(root, 'README.md'), 'utf8').matchAll(/```ts\n(.*?)```/gs);
  for (const [, block] of blocks) if (block?.includes("from 'holdfast'")) return block;
  throw new Error('The README has no such example');
}

const STRICT = {
  target: 'ES2022',
  lib: ['ES2023', 'ESNext.Disposable'],
  module: 'NodeNext',
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
  types: ['node'],
  outDir: 'out',
};

const PROGRAM = `
import { type Document, HoldfastError, open } from 'holdfast';
import { z } from 'zod';

const Loop = z.object({
  current: z.string().nullable(),
  done: z.record(z.string(), z.object({ output: z.string(), tokens: z.number().optional() })),
});

const store = await open(process.argv[2] ?? '.agent', { syncDelayMs: 50, exit: { timeoutMs: 1000 } });
const loop = await store.doc('loop', { schema: Loop, initial: { current: null, done: {} } });
const same: Document<z.output<typeof Loop>> = loop;

for (const id of ['a', 'b']) {
  if (loop.state.done[id]) continue;
  const count: number = loop.update((state) => {
    state.done[id] = { output: id.toUpperCase() };
    return Object.keys(state.done).length;
  });
  await store.flush();
  if (count < 1) throw new HoldfastError('HF_VALUE', 'never');
}
console.log('done: ' + Object.keys(same.state.done).join(','));
await store.close();
`;

const PROGRAM_CJS = `
import { open } from 'holdfast';

export async function main(): Promise<number> {
  await using store = await open('.agent');
  const doc = await store.doc('plain', { initial: { n: 1 } });
  return doc.state.n;
}
`;

/** Line by line; with the error that it must give, if any. */
const WRONG: [line: string, code?: string][] = [
  ["import { open } from 'holdfast';"],
  ["import { z } from 'zod';"],
  ["const store = await open('.agent');"],
  ['const schema = z.object({ n: z.number(), list: z.array(z.string()) });'],
  ["const doc = await store.doc('a', { schema, initial: { n: 0, list: [] } });"],
  ['doc.update((state) => { state.m = 1; });', 'TS2339'],
  ["doc.update((state) => { state.n = 'one'; });", 'TS2322'],
  ['doc.update(async (state) => { state.n = 1; });', 'TS2345'],
  ['store.transaction(async () => 1);', 'TS2322'],
  ['doc.state.n = 1;', 'TS2540'],
  ["doc.state.list.push('x');", 'TS2339'],
  ["await store.doc('b', { schema, initial: { n: 'zero', list: [] } });", 'TS2769'],
  ["await open('.agent', { syncDelay: 5 });", 'TS2561'],
  ["store.on('error', () => undefined);", 'TS2345'],
];
