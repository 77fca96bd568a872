// The n-th system call of a kind fails, once or from then on, in a program that opens, saves and closes. Each thread has
// its own count, from before the store is opened; for a fault that comes once, tracing ends with the first.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run, SAY, start } from './process-child.js';

/** Not `write`: nothing here writes files with it, and it is what wakes event loops. */
export const CALLS = {
  openat: 'openat',
  pwrite64: 'pwrite64',
  fsync: 'fsync',
  fdatasync: 'fdatasync',
  rename: 'rename,renameat,renameat2',
  link: 'link,linkat',
} as const;

export type Call = keyof typeof CALLS;

export const ERRORS = ['EIO', 'ENOSPC', 'EMFILE'] as const;

export interface FaultCase {
  call: Call;
  error: (typeof ERRORS)[number];
  n: number;
  /** Or every one from the n-th on. */
  isOnce: boolean;
}

export interface FaultResult {
  /** False when the program makes fewer such calls. */
  isReached: boolean;
  said: string[];
  wrong: string[];
}

const PROGRAM = `
import { writeSync } from 'node:fs';
import { once } from 'node:events';
import { open } from 'holdfast';
const [directory, isOnce] = [process.env.HOLDFAST_DIR, process.env.HOLDFAST_ONCE === '1'];
${SAY}
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
say('ready');
await once(process.stdin, 'data');
process.stdin.pause();
/** A fault that comes once is over at the next attempt, or soon after. */
const attempt = async (what, act) => {
  for (let left = isOnce ? 6 : 2; ; left--) {
    try {
      return await act();
    } catch (error) {
      say('refused ' + what + ' ' + (error.code ?? 'without a code: ' + error.stack));
      if (left === 0) return null;
      await sleep(isOnce ? 300 : 30);
    }
  }
};
const store = await attempt('open', () => open(directory, { projectDelayMs: 10, exit: { timeoutMs: 2000 } }));
if (store !== null) {
  store.on('fault', ({ code }) => say('fault ' + code));
  const doc = await attempt('doc', () => store.doc('a', { initial: { n: 0 } }));
  for (let n = 1; doc !== null && n <= 3; n++) {
    say('issued ' + n);
    doc.update((s) => { s.n = n; });
    const done = await attempt('flush', async () => { await store.flush({ projected: n === 2 }); return true; });
    if (done) say('flushed ' + n);
    // Long enough for a mark.
    if (n === 2) await sleep(150);
  }
  say('phase ' + store.health().phase);
  if (await attempt('close', async () => { await store.close(); return true; })) say('closed');
}
say('end');
process.exit();`;

const CHECK = `
import { open } from 'holdfast';
const store = await open(process.env.HOLDFAST_DIR);
const known = store.documents().some(({ name, version }) => name === 'a' && version > 0);
const doc = await store.doc('a', { initial: { n: -1 } });
console.log('found ' + doc.state.n + ' ' + known);
await store.close();`;

export async function runFault(fault: FaultCase): Promise<FaultResult> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-fault-'));
  const env = { HOLDFAST_DIR: join(folder, 'store'), HOLDFAST_ONCE: fault.isOnce ? '1' : '0' };
  const log = join(folder, 'trace');
  try {
    const child = start(PROGRAM, { env });
    await child.line('ready');
    const calls = CALLS[fault.call];
    const when = `${fault.n}${fault.isOnce ? '' : '+'}`;
    const inject = `inject=${calls}:error=${fault.error}:when=${when}`;
    const args = ['-f', '-o', log, '-e', `trace=${calls}`, '-e', 'signal=none', '-e', inject, '-p', `${child.pid}`];
    const tracer = spawn('strace', args, { stdio: ['ignore', 'ignore', 'pipe'] });
    const isOver = new Promise<void>((resolve) => tracer.once('exit', () => resolve()));
    await new Promise<void>((resolve) => {
      tracer.stderr.on('data', (chunk) => String(chunk).includes('attached') && resolve());
      tracer.once('exit', () => resolve());
    });
    child.write('go\n');
    const hasFailed = () => readFileSync(log, 'utf8').includes('(INJECTED)');
    // A thread that is started anew would meet the same fault again.
    const watcher = setInterval(() => fault.isOnce && hasFailed() && letGo(tracer), 20);
    const ended = await child.ended;
    letGo(tracer);
    await isOver;
    clearInterval(watcher);
    const isReached = hasFailed();
    const checked = await run(CHECK, { env });
    return { isReached, said: [...child.lines], wrong: judge(fault, ended, [...child.lines], checked) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A tracer that is told to let go while what it traces is ending may wait for ever, and so does whoever waits for that. */
const LET_GO_MS = 3_000;

const lettingGo = new WeakSet<ChildProcess>();

function letGo(tracer: ChildProcess): void {
  if (lettingGo.has(tracer)) return;
  lettingGo.add(tracer);
  tracer.kill('SIGTERM');
  const timer = setTimeout(() => tracer.kill('SIGKILL'), LET_GO_MS);
  tracer.once('exit', () => clearTimeout(timer));
}

type End = Awaited<ReturnType<typeof run>>;

function judge({ isOnce }: FaultCase, ended: End, said: string[], checked: End): string[] {
  const wrong: string[] = [];
  const last = (word: string) => Number(said.findLast((line) => line.startsWith(`${word} `))?.split(' ')[1] ?? 0);
  const [flushed, issued] = [last('flushed'), last('issued')];
  if (ended.isHung) wrong.push('it hung');
  else if (!said.includes('end')) wrong.push(`it ended with ${ended.code ?? ended.signal}: ${ended.stderr}`);
  for (const line of said) {
    const code = /^refused \w+ (.*)$/.exec(line)?.[1];
    if (code !== undefined && !/^(HF_\w+|E[A-Z]+)$/.test(code)) wrong.push(line);
  }
  if (isOnce && !ended.isHung && said.includes('end')) {
    if (flushed !== 3) wrong.push(`the last flush did not resolve: ${said.join(', ')}`);
    if (!said.includes('closed')) wrong.push(`close did not resolve: ${said.join(', ')}`);
    if (flushed === 3 && !said.includes('phase open')) wrong.push(`it did not mend: ${said.join(', ')}`);
  }
  const [, found, known] = /found (-?\d+) (\w+)/.exec(checked.stdout) ?? [];
  if (found === undefined) wrong.push(`it does not open any more: ${checked.stderr}`);
  else {
    // The one who looks makes it anew with -1 when there is nothing.
    if (Number(found) < flushed && (flushed > 0 || found !== '-1')) wrong.push(`flushed ${flushed}, found ${found}`);
    if (Number(found) > issued) wrong.push(`issued ${issued}, found ${found}`);
    if (flushed > 0 && known !== 'true') wrong.push('it is not known any more');
  }
  return wrong;
}

export function showCase({ call, error, n, isOnce }: FaultCase): string {
  return `${call} ${error} at ${n}${isOnce ? '' : ' and ever after'}`;
}
