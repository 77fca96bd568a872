// A program that saves without end, and what may be found after it was stopped at any moment.
//
// Every step changes two documents in one transaction: `list` holds a counter and the last hundred numbers, `total` the
// counter and a sum over all of them. Whatever state is found must be one that some step had left.
//
// It prints, unbuffered: `opened <ms>`, `found <state>`, `issued <n>` before a step, `returned <n> <when>` after it (on the
// clock that all processes share), `flushed <n>` when a flush that came after step n has resolved, and `fault <code>`.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Running, SAY } from './process-child.js';

const KEPT = 100;

export interface SaverOptions {
  directory: string;
  seed: number;
  /** Awaited between steps, as often as not: 'busy' hardly, 'irregular' up to 40 ms. */
  pace: 'busy' | 'irregular';
  /** Only look, and close. */
  isChecking?: boolean;
}

export function saver({ directory, seed, pace, isChecking = false }: SaverOptions): string {
  return `
import { writeSync } from 'node:fs';
import { open } from 'holdfast';
${SAY}
let state = ${seed >>> 0};
const random = () => { state = (Math.imul(state, 1664525) + 1013904223) >>> 0; return state / 2 ** 32; };
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const before = performance.now();
const store = await open(${JSON.stringify(directory)}, { projectDelayMs: 20 });
say('opened ' + (performance.now() - before).toFixed(1));
store.on('fault', ({ code }) => say('fault ' + code));
const known = store.documents().filter(({ version }) => version > 0).map(({ name }) => name);
const list = await store.doc('list', { initial: { n: 0, items: [], note: '' } });
const total = await store.doc('total', { initial: { n: 0, sum: 0 } });
say('found ' + JSON.stringify({ known, list: list.state, total: total.state }));
const step = () => {
  const n = list.state.n + 1;
  say('issued ' + n);
  store.transaction(() => {
    list.update((s) => {
      s.n = n;
      s.items.push(n);
      if (s.items.length > ${KEPT}) s.items.shift();
      s.note = 'x'.repeat(Math.floor(random() * 2000));
    });
    total.update((s) => { s.n = n; s.sum += n; });
  });
  const when = Number(process.hrtime.bigint() / 1000n) / 1000;
  say('returned ' + n + ' ' + when);
};
if (${isChecking}) await store.close();
else for (;;) {
  const burst = 1 + Math.floor(random() * ${pace === 'busy' ? 20 : 4});
  for (let left = burst; left > 0; left--) step();
  if (random() < 0.5) {
    const { n } = list.state;
    await store.flush({ projected: random() < 0.1 });
    say('flushed ' + n);
  }
  if (random() < 0.5) await sleep(random() * ${pace === 'busy' ? 3 : 40});
}`;
}

export interface Said {
  openedMs: number | null;
  found: Found | null;
  issued: number;
  returned: number;
  /** When each step returned. */
  returnedAtMs: Map<number, number>;
  flushed: number;
  faults: string[];
}

/** Now, on the clock of `returnedAtMs`. */
export function sharedNowMs(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}

export interface Found {
  known: string[];
  list: { n: number; items: number[]; note: string };
  total: { n: number; sum: number };
}

export function heard(lines: Running['lines']): Said {
  const returnedAtMs = new Map<number, number>();
  const said: Said = { openedMs: null, found: null, issued: 0, returned: 0, returnedAtMs, flushed: 0, faults: [] };
  for (const line of lines) {
    const at = line.indexOf(' ');
    const rest = line.slice(at + 1);
    switch (line.slice(0, at)) {
      case 'opened':
        said.openedMs = Number(rest);
        break;
      case 'found':
        said.found = JSON.parse(rest) as Found;
        break;
      case 'issued':
        said.issued = Number(rest);
        break;
      case 'returned': {
        const [n, when] = rest.split(' ').map(Number) as [number, number];
        said.returned = n;
        returnedAtMs.set(n, when);
        break;
      }
      case 'flushed':
        said.flushed = Number(rest);
        break;
      case 'fault':
        said.faults.push(rest);
        break;
      default:
        throw new Error(`The program printed ${JSON.stringify(line)}`);
    }
  }
  return said;
}

/** What is wrong with a state; empty when some step had left it. */
export function flaws({ list, total }: Found): string[] {
  const wrong: string[] = [];
  if (list.n !== total.n) wrong.push(`half a transaction: list is at ${list.n}, total at ${total.n}`);
  if (total.sum !== (total.n * (total.n + 1)) / 2) wrong.push(`the sum ${total.sum} is not that of ${total.n}`);
  wrong.push(...listFlaws(list));
  return wrong;
}

function listFlaws({ n, items }: Found['list']): string[] {
  const expected = Array.from({ length: Math.min(n, KEPT) }, (_, index) => n - Math.min(n, KEPT) + 1 + index);
  return JSON.stringify(items) === JSON.stringify(expected) ? [] : [`the items at ${n} are ${items.join(' ')}`];
}

/** The JSON files: each one complete version, and none that was never issued. */
export function fileFlaws(directory: string, issued: number): string[] {
  const wrong: string[] = [];
  for (const name of ['list', 'total']) {
    let text: string;
    try {
      text = readFileSync(join(directory, `${name}.json`), 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue;
      throw error;
    }
    try {
      const value = JSON.parse(text) as Found['list'];
      if (text !== `${JSON.stringify(value, null, 2)}\n`) wrong.push(`${name}.json is not as it is written`);
      if (value.n > issued) wrong.push(`${name}.json is at ${value.n}, issued were ${issued}`);
      if (name === 'list') wrong.push(...listFlaws(value).map((flaw) => `list.json: ${flaw}`));
    } catch (error) {
      wrong.push(`${name}.json: ${(error as Error).message}`);
    }
  }
  return wrong;
}
