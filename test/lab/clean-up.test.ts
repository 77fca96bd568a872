// What is left of a lab that was ended in the middle.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { compiled, moduleAt } from '../../bench/compiled.js';
import { MEMORY } from '../../bench/lab/clean-up.js';
import { sleep } from '../support/process-child.js';
import { whyNoCuts } from '../support/process-means.js';

const LAB = fileURLToPath(compiled(moduleAt('lab/main')));
/** With file systems of its own, where these can be made. */
const CAMPAIGN = whyNoCuts() === null ? 'power-cut' : 'kill';
const ENDINGS = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const;

it.skipIf(!existsSync(LAB)).each(ENDINGS)('%s leaves no process, no mount and no folder', async (signal, code) => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-ended-'));
  const env = { ...process.env, TMPDIR: folder };
  const args = [LAB, CAMPAIGN, '--only', 'holdfast', '--size', '50', '--out', join(folder, 'out')];
  const lab = spawn(process.execPath, args, { env, stdio: 'ignore' });
  const ended = once(lab, 'exit');
  // A subject is at work.
  while (!hasTail(folder) && lab.exitCode === null) await sleep(20);
  lab.kill(signal);
  expect(await ended).toEqual([code, null]);
  expect(readFileSync('/proc/self/mounts', 'utf8')).not.toContain(folder);
  // Nobody is left who would make something.
  await sleep(200);
  expect(readdirSync(folder)).toEqual([]);
  if (existsSync(MEMORY)) expect(readdirSync(MEMORY).join()).not.toContain(`-${lab.pid}-`);
  rmdirSync(folder);
});

function hasTail(folder: string): boolean {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' }).some((path) => path.endsWith('.tail'));
  } catch (error) {
    // Folders come and go while it is listed, and a disk that has lost its power cannot be.
    if (!['ENOENT', 'EIO'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    return false;
  }
}
