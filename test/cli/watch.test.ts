// `watch` on a loop that another process works through, and on stores that nobody has open.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { contents, makeStore, rotten } from '../mend/support.js';
import { folder } from '../store/support.js';
import { CLI, hasTmux, holdfast, liveLoop, start, Terminal, WITHOUT_TMUX } from './support.js';

async function linesOf(args: readonly string[], count: number): Promise<string[]> {
  const child = start(['watch', ...args]);
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
    if (text.split('\n').length > count) child.kill('SIGINT');
  });
  const [code] = await once(child, 'close');
  expect(code).toBe(0);
  return text.split('\n').slice(0, -1);
}

it('in a pipe: a plain line per look, with the progress of the loop and the time that is left', async () => {
  const file = join(folder(), 'loop.json');
  await liveLoop(file);
  const lines = await linesOf([file, '--every', '0.3'], 4);
  for (const line of lines) {
    expect(line).toMatch(
      /^\d\d:\d\d:\d\d {2}commit \d+ {2}[\d.]+\/s {2}[\d.]+ \S+B\/s {2}on disk (≤ \d+ ms|–) {2}lag /,
    );
    expect(line).toMatch(/loop\.json: \d+ of 2,000/);
  }
  expect(lines.at(-1)).toMatch(/of 2,000, [\d.]+\/s, \d+ (s|min) left/);
});

it('a store at rest: nothing happens, nobody writes, and nothing is touched', async () => {
  const directory = await makeStore();
  const before = contents(directory);
  const lines = await linesOf([directory, '--every', '0.1'], 2);
  expect(lines[0]).toMatch(/commit \d+ {2}0\/s {2}0 B\/s {2}on disk – {2}lag none {2}nobody writes$/);
  expect(contents(directory)).toEqual(before);
  expect(holdfast(['watch', rotten(directory)])).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringContaining('npx holdfast repair'),
  });
});

describe.skipIf(!hasTmux)(`in a terminal${WITHOUT_TMUX}`, () => {
  it('a live page: rates, lag, progress, last changes; q ends it and gives the terminal back', async () => {
    const there = folder();
    const { pid } = await liveLoop(join(there, 'loop.json'));
    const terminal = new Terminal(there);
    terminal.enter('echo before');
    terminal.run('watch', 'loop.json', '--every', '0.3');
    const screen = await terminal.until(/commits +[\d.]+\/s +[▁▂▃▄▅▆▇█]{4}/);
    expect(screen).toContain('holdfast watch  loop.json');
    expect(screen).toMatch(/\d\d:\d\d:\d\d {2}q quits\n/);
    expect(screen).toContain(`open in process ${pid} `);
    expect(screen).toMatch(/on disk +≤ \d+ ms +[▁▂▃▄▅▆▇█]/);
    expect(screen).toMatch(/loop\.json {2}━*─+ {2}\d+ of 2,000, [\d.]+\/s, \d+ (s|min) left\n {2}now item-\d+/);
    expect(screen).toMatch(/last changes\n\d\d:\d\d:\d\d +\d+ {2}loop\.json: /);
    expect(screen).toMatch(/completed \+= "item-\d+"/);
    expect(terminal.isRestored).toBe(false);
    terminal.type('q');
    expect(await terminal.until('code 0')).toContain('before');
    expect(terminal.isRestored).toBe(true);
  });

  it.each([['C-c'], ['Escape']])('%s ends it, too', async (key) => {
    const directory = await makeStore();
    const terminal = new Terminal(join(directory, '..'));
    terminal.run('watch', '.agent');
    expect(await terminal.until('last changes')).toContain('no process has it open');
    terminal.press(key);
    await terminal.until('code 0');
    expect(terminal.isRestored).toBe(true);
  });

  it('a signal that ends it gives the terminal back, too', async () => {
    const directory = await makeStore();
    const terminal = new Terminal(join(directory, '..'));
    terminal.enter(`sh -c 'echo $$ > pid; exec ${process.execPath} ${CLI} watch .agent'; echo "code $?"`);
    await terminal.until('last changes');
    process.kill(Number(readFileSync(join(directory, '../pid'), 'utf8')), 'SIGTERM');
    await terminal.until('code 143');
    expect(terminal.isRestored).toBe(true);
  });

  it('NO_COLOR takes the colours, and a window that is too small cuts the page', async () => {
    const directory = await makeStore();
    const terminal = new Terminal(join(directory, '..'));
    terminal.enter('export NO_COLOR=1');
    terminal.run('watch', '.agent');
    await terminal.until('last changes');
    expect(terminal.screen({ escapes: true })).not.toContain('\x1b[');
    terminal.type('q');
    await terminal.until('code 0');
  });

  it('a terminal that does not know its size gets a page all the same', async () => {
    const directory = await makeStore();
    const terminal = new Terminal(join(directory, '..'));
    terminal.enter('stty rows 0 cols 0');
    terminal.run('watch', '.agent');
    await terminal.until('last changes');
    terminal.type('q');
    await terminal.until('code 0');
  });
});
