// Stores and text outputs were written in place: JSON decode errors, truncated deliveries, links replaced by files.

import { lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { folder } from '../store/support.js';
import { run } from '../support/process-child.js';

const OLD = 'the delivery of yesterday\n'.repeat(10);
/** No file may grow beyond 64 KiB: as on a disk that is full. */
const LIMITED = { wrapper: ['bash', '-c', 'ulimit -f 64; trap "" XFSZ; exec "$@"', 'limited'] };

function delivery(): { link: string; target: string } {
  const directory = folder();
  mkdirSync(join(directory, 'shared'));
  const target = join(directory, 'shared', 'report.txt');
  writeFileSync(target, OLD);
  const link = join(directory, 'report.txt');
  symlinkSync(target, link);
  return { link, target };
}

it('the technique: a disk that is full leaves a delivery cut short', async () => {
  const { link, target } = delivery();
  const { stdout } = await run(
    `import { writeFileSync } from 'node:fs';
     try { writeFileSync(${JSON.stringify(link)}, 'new '.repeat(100_000)); } catch (error) { console.log(error.code); }`,
    LIMITED,
  );
  expect(stdout.trim()).toBe('EFBIG');
  const left = readFileSync(target, 'utf8');
  expect(left).not.toBe(OLD);
  expect(left.length).toBeLessThan(400_000);
});

it('ours: the old one is whole, the link is a link, nothing is left over, and the error says what to do', async () => {
  const { link, target } = delivery();
  const { stdout, stderr } = await run(
    `import { writeFile } from 'holdfast/file';
     await writeFile(${JSON.stringify(link)}, 'new '.repeat(100_000)).catch((error) => console.log(error.code + ' ' + error.message));
     await writeFile(${JSON.stringify(link)}, 'new').then(() => console.log('small: written'));`,
    LIMITED,
  );
  expect(stderr).toBe('');
  expect(stdout).toMatch(/^HF_DISK_FULL .*Free some space/);
  expect(stdout).toContain('small: written');
  expect(lstatSync(link).isSymbolicLink()).toBe(true);
  expect(readFileSync(target, 'utf8')).toBe('new');
});
