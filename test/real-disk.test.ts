// The same protocol on the real disk, in real processes.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Truth } from '../src/truth.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const cli = join(import.meta.dirname, '../dist/src/cli/main.js');

it('a loop that is killed again and again has every acknowledged item, and runs none twice', () => {
  const options = { encoding: 'utf8', timeout: 60_000, env: { ...process.env, TMPDIR: folder } } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, 'demo'], options);
  expect(stderr).toBe('');
  expect(stdout).toMatch(/kills survived +[1-9]/);
  expect(stdout).toMatch(/ran again after being acknowledged +0\n/);
  expect(stdout).toMatch(/updates lost +0\n/);
  expect(stdout).toContain('"item-0001": {');
  // Plain in a pipe.
  expect(stdout).not.toContain('\x1b');
  expect(stdout).not.toContain('\r');
  expect(status).toBe(0);
  expect(readdirSync(folder)).toEqual([]);
}, 70_000);

it('Ctrl-C ends the demo, its child, and its folder', async () => {
  const child = spawn(process.execPath, [cli, 'demo'], { env: { ...process.env, TMPDIR: folder } });
  child.stdout.on('data', (chunk) => {
    if (String(chunk).includes('kill 1')) child.kill('SIGINT');
  });
  const [, signal] = await once(child, 'close');
  expect(signal).toBe('SIGINT');
  expect(readdirSync(folder)).toEqual([]);
});

it('a store is private, ignored by git, and opens again', () => {
  const directory = join(folder, 'deep', 'er', '.agent');
  const truth = new Truth(directory);
  truth.doc('loop', { initial: { n: 1 } }).update((s) => {
    s.n = 2;
  });
  truth.compact();
  truth.close();
  expect(statSync(join(directory, '.holdfast')).mode & 0o777).toBe(0o700);
  expect(readdirSync(join(directory, '.holdfast')).sort()).toEqual([
    '.gitignore',
    '0000000001.tail',
    '0000000002.tail',
    '0000000003.base',
    'high-water',
    'quarantine',
    'tmp',
  ]);
  expect(new Truth(directory).doc('loop', { initial: { n: 0 } }).state).toEqual({ n: 2 });
});

it('leftovers of a killed writer are swept', () => {
  const truth = new Truth(folder);
  truth.close();
  writeFileSync(join(folder, '.holdfast', 'tmp', '0000000009.tail.abc'), 'half');
  new Truth(folder).close();
  expect(readdirSync(join(folder, '.holdfast', 'tmp'))).toEqual([]);
});

it('a file where a directory should be, or a directory where a file should be, is that error', () => {
  writeFileSync(join(folder, 'plain'), '');
  expect(() => new Truth(join(folder, 'plain'))).toThrow(expect.objectContaining({ code: 'ENOTDIR' }));
  mkdirSync(join(folder, '.holdfast'));
  mkdirSync(join(folder, '.holdfast', '0000000001.tail'));
  expect(() => new Truth(folder)).toThrow(expect.objectContaining({ code: 'EISDIR' }));
});

it.skipIf(process.getuid?.() === 0)(
  'a directory that may not be read is that error (skipped as root: root may read all)',
  () => {
    new Truth(folder).close();
    chmodSync(join(folder, '.holdfast'), 0);
    expect(() => new Truth(folder)).toThrow(expect.objectContaining({ code: 'EACCES' }));
    chmodSync(join(folder, '.holdfast'), 0o700);
  },
);
