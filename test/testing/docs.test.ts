import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/testing-your-program.md'), 'utf8');
const [, example] = /```js\n([\s\S]*?)```/.exec(page) as unknown as [string, string];

function run(code: string) {
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    cwd: root,
    encoding: 'utf8',
    timeout: 30_000,
  });
  return { status, stderr };
}

it('the example runs as it stands, and ends by itself', () => {
  expect(run(example)).toEqual({ status: 0, stderr: '' });
});

it('the example fails without its flush, as the page says', () => {
  const { status, stderr } = run(example.replace('await loop.flush();', ''));
  expect(status).toBe(1);
  expect(stderr).toMatch(/Expected values to be strictly deep-equal/);
});
