// SIGKILL at every call of the protocol that changes something: what is found before one such call is found after the one
// before it, so these are all the states that a kill can leave.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { configure, readFile, recover } from '../../src/file/index.js';
import { run } from '../support/process-child.js';
import { because, whyNoFaults } from '../support/process-means.js';

configure({ workersUrl: pathToFileURL(join(import.meta.dirname, '../../dist/workers')) });

const ROOT = mkdtempSync(join(tmpdir(), 'holdfast-file-kill-'));
afterAll(() => rmSync(ROOT, { recursive: true, force: true }));

const why = whyNoFaults();

/** By whatever name this machine has for them. */
const CALLS = /^(?:pwrite64|fsync|fchmod|bind|listen|rename|renameat|renameat2|link|linkat|unlink|unlinkat)$/;
const TRACED = 'pwrite64,fsync,fchmod,bind,listen,/^rename,/^link,/^unlink';
const FILES = ['a/1', 'a/2', 'b/1', 'b/new'];

let trials = 0;

function prepare(): string {
  const directory = join(ROOT, `${trials++}`);
  for (const folder of ['a', 'b']) mkdirSync(join(directory, folder), { recursive: true });
  for (const file of FILES.slice(0, 3)) writeFileSync(join(directory, file), `old ${file}`);
  return directory;
}

function program(directory: string): string {
  const files = FILES.map((file) => ({ path: join(directory, file), data: `new ${file}` }));
  return `import { writeFiles } from 'holdfast/file';
await writeFiles(${JSON.stringify(files)});
console.log('done');`;
}

/** How often the thread that does the work makes each call. */
async function census(): Promise<Map<string, number>> {
  const directory = prepare();
  const log = join(ROOT, 'census');
  const { stdout, stderr } = await run(program(directory), {
    wrapper: ['strace', '-f', '-o', log, '-e', `trace=${TRACED}`],
  });
  expect({ stdout, stderr }).toEqual({ stdout: 'done\n', stderr: '' });
  const perThread = new Map<string, Map<string, number>>();
  for (const line of readFileSync(log, 'utf8').split('\n')) {
    const [, thread = '', call = ''] = /^(\d+) +(\w+)\(/.exec(line) ?? [];
    if (!CALLS.test(call)) continue;
    const counts = perThread.get(thread) ?? new Map<string, number>();
    counts.set(call, (counts.get(call) ?? 0) + 1);
    perThread.set(thread, counts);
  }
  const [most] = [...perThread.values()].sort((a, b) => (b.get('fsync') ?? 0) - (a.get('fsync') ?? 0));
  return most ?? new Map();
}

function versionIn(directory: string): 'old' | 'new' | 'mixed' {
  const found = FILES.map((file) => {
    const [folder = '', name = ''] = file.split('/');
    return readdirSync(join(directory, folder)).includes(name) ? readFileSync(join(directory, file), 'utf8') : null;
  });
  const is = (version: string) =>
    FILES.every((file, n) => found[n] === (version === 'old' && n === 3 ? null : `${version} ${file}`));
  return is('old') ? 'old' : is('new') ? 'new' : 'mixed';
}

async function killAt(call: string, nth: number): Promise<'old' | 'new'> {
  const directory = prepare();
  const inject = `inject=${call}:signal=SIGKILL:when=${nth}`;
  const wrapper = ['strace', '-f', '-o', '/dev/null', '-e', `trace=${call}`, '-e', inject];
  const { stdout, isHung } = await run(program(directory), { wrapper });
  expect(isHung).toBe(false);
  expect(stdout).toBe('');
  // Alternately by the call itself and by any other one, first in either directory.
  if (nth % 2 === 0) await recover(join(directory, nth % 4 === 0 ? 'a' : 'b'));
  else await readFile(join(directory, nth % 4 === 1 ? 'a/1' : 'b/1'));
  const version = versionIn(directory);
  const where = `${call} ${nth}`;
  expect([where, version]).not.toEqual([where, 'mixed']);
  for (const folder of ['b', 'a']) expect(await recover(join(directory, folder))).toMatchObject({ conflicts: [] });
  expect([where, versionIn(directory)]).toEqual([where, version]);
  const names = ['a', 'b'].map((folder) => readdirSync(join(directory, folder)));
  const expected =
    version === 'old'
      ? [['1', '2'], ['1']]
      : [
          ['1', '2'],
          ['1', 'new'],
        ];
  expect([where, names]).toEqual([where, expected]);
  rmSync(directory, { recursive: true, force: true });
  return version as 'old' | 'new';
}

describe.skipIf(why !== null)(because('writeFiles over 4 files in 2 directories', why), () => {
  it('is all old or all new after SIGKILL at any call', async () => {
    const counts = await census();
    const kills = [...counts].flatMap(([call, count]) =>
      Array.from({ length: count }, (_, n) => ({ call, nth: n + 1 })),
    );
    expect(counts.get('fsync')).toBeGreaterThan(10);
    const outcomes = { old: 0, new: 0 };
    const worker = async () => {
      for (let next = kills.pop(); next !== undefined; next = kills.pop())
        outcomes[await killAt(next.call, next.nth)]++;
    };
    await Promise.all([worker(), worker(), worker()]);
    console.log(`SIGKILL at ${outcomes.old + outcomes.new} calls: ${outcomes.old} all old, ${outcomes.new} all new`);
    expect(outcomes.old).toBeGreaterThan(20);
    expect(outcomes.new).toBeGreaterThan(10);
  }, 600_000);
});
