// Every program in docs/recipes.md compiles, runs, and runs again on what it left.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ts from 'typescript';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { run } from '../support/process-child.js';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/recipes.md'), 'utf8');
const programs = [...page.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code as string);

/** Inside the package, so that its own name resolves as for those who installed it. */
const folder = join(root, '.build', `recipes-${process.pid}`);
let work: string;

beforeAll(() => {
  mkdirSync(folder, { recursive: true });
  work = mkdtempSync(join(tmpdir(), 'holdfast-recipes-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
  rmSync(work, { recursive: true, force: true });
});

const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  types: ['node'],
};

it('compile', () => {
  const files = programs.map((code, n) => {
    const path = join(folder, `recipe-${n}.mts`);
    writeFileSync(path, code);
    return path;
  });
  const problems = ts.getPreEmitDiagnostics(ts.createProgram(files, OPTIONS));
  expect(
    problems.map(({ file, start, messageText }) => {
      const line = file?.getLineAndCharacterOfPosition(start ?? 0).line;
      return `${file?.fileName}:${(line ?? 0) + 1} ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
    }),
  ).toEqual([]);
});

const EXPECTED: [string, string][] = [
  ['done: 30, skipped: 0, failed: 0\n', 'done: 0, skipped: 30, failed: 0\n'],
  [
    'features/login/feature sound todo\nfeatures/search/feature sound todo\nfeatures/upload/feature sound doing\n',
    'features/login/feature sound todo\nfeatures/search/feature sound todo\nfeatures/upload/feature sound doing\n',
  ],
  ['agree: true\n', 'agree: true\n'],
  ['both are there\n', 'both are there\n'],
  ['completed: 2\n', 'completed: 2\n'],
  ['turns: 1, characters: 25\n', 'turns: 2, characters: 50\n'],
  ['done: 3\n', 'done: 4\n'],
];

it.each(programs.map((code, n) => [/from '(holdfast[^']*)'/.exec(code)?.[1], n, code] as const))(
  '%s, program %i, runs twice',
  async (_, n, code) => {
    const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
    const { outputText } = ts.transpileModule(code, { compilerOptions });
    const program = `process.chdir(${JSON.stringify(work)});\n${outputText}`;
    for (const expected of EXPECTED[n] as [string, string]) {
      const { stdout, stderr, code: status } = await run(program);
      expect({ stdout, stderr, status }).toEqual({ stdout: expected, stderr: '', status: 0 });
    }
  },
);
