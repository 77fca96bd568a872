// A loop in a process of its own, killed again and again. What it did is written down outside of it: each line of the log
// is in the kernel before the program goes on, so what the log says happened, whatever the loop believes.

import { appendFileSync, existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { sleep, start } from '../support/process-child.js';
import { randomFrom } from '../support/random.js';

export interface LoopKillReport {
  items: number;
  kills: number;
  /** Kills before the loop had begun anything. */
  early: number;
  starts: number;
  reruns: number;
  rerunsMax: number;
  /** Begun when the process was killed, and not named as interrupted afterwards. */
  unnamed: number;
  interrupted: number;
  elapsedMs: number;
  wrong: string[];
}

export interface LoopKillOptions {
  directory: string;
  items: number;
  kills: number;
  concurrency: number;
  seed: number;
  /** Items take none, one or two times this. @default 1 */
  workMs?: number;
}

const FAILS_EVERY = 97;

function program({ directory, items, concurrency, workMs = 1 }: LoopKillOptions): string {
  return `
    import { openSync, writeSync } from 'node:fs';
    import { runLoop } from 'holdfast/loop';
    const log = openSync(${JSON.stringify(join(directory, 'log'))}, 'a');
    const say = (line) => writeSync(log, line + '\\n');
    const items = Array.from({ length: ${items} }, (_, n) => ({ id: 'item-' + n, n }));
    const work = async ({ id, n }) => {
      say('start ' + id);
      if (n % 3 > 0) await new Promise((resolve) => setTimeout(resolve, (n % 3) * ${workMs}));
      say('effect ' + id);
      if (n % ${FAILS_EVERY} === 0) throw new Error('bad');
    };
    const summary = await runLoop(items, ${JSON.stringify(join(directory, 'state.json'))}, work, {
      concurrency: ${concurrency},
      onInterrupted: (list) => say('interrupted ' + list.map(({ id }) => id).join(' ')),
      onProgress: ({ id }) => say('acknowledged ' + id),
    });
    say('summary ' + JSON.stringify(summary));
  `;
}

export async function killLoops(options: LoopKillOptions): Promise<LoopKillReport> {
  const { directory, items, kills, concurrency, seed } = options;
  const random = randomFrom(seed);
  const log = join(directory, 'log');
  const wrong: string[] = [];
  const startedMs = performance.now();
  let early = 0;
  for (let kill = 0; kill <= kills; kill++) {
    appendFileSync(log, 'run\n');
    const bytesBefore = statSync(log).size;
    const child = start(program(options), { timeoutMs: 300_000 });
    if (kill < kills) {
      // One in ten while it starts; the others after their share of what is left, at no particular place.
      if (random() < 0.1) await sleep(random() * 200);
      else await grown(log, bytesBefore + share(log, items, kills - kill, random()), child.ended);
      await sleep(random() * 3);
      child.kill('SIGKILL');
    }
    const { code, signal, stderr, isHung } = await child.ended;
    if (isHung) wrong.push(`run ${kill}: it hung`);
    if (stderr !== '') wrong.push(`run ${kill}: ${stderr}`);
    if (kill < kills && signal !== 'SIGKILL') wrong.push(`run ${kill}: it ended by itself (${code})`);
    if (kill === kills && code !== 0) wrong.push(`the last run ended with ${code ?? signal}`);
    if (statSync(log).size === bytesBefore) early++;
  }
  const judged = judge(readFileSync(log, 'utf8'), items);
  const rerunsMax = kills * concurrency;
  if (judged.reruns > rerunsMax) wrong.push(`${judged.reruns} items ran again, at most ${rerunsMax} may`);
  wrong.push(...judged.wrong, ...fileFlaws(join(directory, 'state.json'), items));
  return { ...judged, items, kills, early, rerunsMax, wrong, elapsedMs: performance.now() - startedMs };
}

const BYTES_PER_ITEM = 55;

function share(log: string, items: number, runs: number, chance: number): number {
  const left = Math.max(0, items * BYTES_PER_ITEM - statSync(log).size);
  return (left / (runs + 1)) * (0.4 + chance * 1.2);
}

async function grown(log: string, bytes: number, ended: Promise<unknown>): Promise<void> {
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  while (!isOver && statSync(log).size < bytes) await sleep(2);
}

function judge(text: string, items: number) {
  const wrong: string[] = [];
  const acknowledged = new Set<string>();
  const happened = new Set<string>();
  const startedOnce = new Set<string>();
  let open = new Set<string>();
  let cut = new Set<string>();
  const sum = { starts: 0, unnamed: 0, interrupted: 0 };
  for (const line of text.split('\n')) {
    const [what, ...ids] = line.split(' ');
    const [id = ''] = ids;
    if (what === 'run') {
      cut = new Set([...cut, ...open]);
      open = new Set();
    } else if (what === 'interrupted') {
      sum.interrupted += ids.length;
      for (const one of ids) {
        // Begun in the moment before its work wrote its first line: that is no flaw. Acknowledged is one.
        if (acknowledged.has(one)) wrong.push(`${one} was acknowledged, and then named as interrupted`);
        cut.delete(one);
      }
    } else if (what === 'start') {
      if (acknowledged.has(id)) wrong.push(`${id} ran again after it was acknowledged`);
      if (cut.delete(id)) sum.unnamed++;
      sum.starts++;
      startedOnce.add(id);
      open.add(id);
    } else if (what === 'effect') happened.add(id);
    else if (what === 'acknowledged') {
      acknowledged.add(id);
      open.delete(id);
    }
  }
  for (let n = 0; n < items; n++) if (!happened.has(`item-${n}`)) wrong.push(`item-${n} never happened`);
  return { ...sum, reruns: sum.starts - startedOnce.size, wrong };
}

function fileFlaws(path: string, items: number): string[] {
  if (!existsSync(path)) return ['there is no file'];
  const state = JSON.parse(readFileSync(path, 'utf8')) as { completed: string[]; failed: { id: string }[] };
  const wrong: string[] = [];
  const keys = Object.keys(state).join();
  if (keys !== 'completed,failed') wrong.push(`the file has the keys ${keys}`);
  const failed = Array.from({ length: items }, (_, n) => n).filter((n) => n % FAILS_EVERY === 0);
  if (state.failed.length !== failed.length) wrong.push(`${state.failed.length} failed in the file`);
  const all = new Set([...state.completed, ...state.failed.map(({ id }) => id)]);
  const length = state.completed.length + state.failed.length;
  if (all.size !== items || length !== items) wrong.push(`the file has ${length} items, ${all.size} of them different`);
  return wrong;
}

export function show(report: LoopKillReport): string {
  const { items, kills, early, starts, reruns, rerunsMax, interrupted, unnamed, elapsedMs, wrong } = report;
  return [
    `${items} items, ${kills} kills (${early} before anything was begun), ${(elapsedMs / 1000).toFixed(1)} s`,
    `${starts} starts, ${reruns} of items that had been started before (at most ${rerunsMax} may)`,
    `${interrupted} named as interrupted, ${unnamed} begun and not named`,
    `${wrong.length} flaws`,
  ].join('\n');
}
