// Processes on the built package, ended in every way.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Running, start } from '../support/process-child.js';
import { killLoops, show } from './kills.js';
import { asOriginal, folder, read } from './support.js';

it('2,000 items killed 8 times: all happened, none ran again after it was acknowledged', async () => {
  const report = await killLoops({ directory: folder(), items: 2000, kills: 8, concurrency: 4, seed: 11 });
  console.info(show(report));
  expect(report.wrong).toEqual([]);
  expect(report.reruns).toBeLessThanOrEqual(8 * 4);
}, 120_000);

it('an item is named as in progress after a kill, with when it began and how often', async () => {
  const path = join(folder(), 'state.json');
  const program = `
    import { LoopState } from 'holdfast/loop';
    const state = await LoopState.create(${JSON.stringify(path)});
    console.log('found ' + JSON.stringify(state.interrupted));
    state.begin('a');
    // Nothing waits for it: a busy machine needs longer than the milliseconds that are said of an idle one.
    setTimeout(() => console.log('begun'), 300);
    setInterval(() => {}, 1000);
  `;
  for (let run = 0; run < 3; run++) {
    const child = start(program);
    const found = JSON.parse((await child.line('found '))?.slice(6) ?? 'null');
    await child.line('begun');
    child.kill('SIGKILL');
    await child.ended;
    expect(found).toEqual(run === 0 ? [] : [{ id: 'a', tries: run, beganAt: expect.any(String) }]);
  }
});

it.each(['refuse', 'adopt'])(
  'what was acknowledged right after a file was taken over survives a kill (onDrift: %s)',
  async (onDrift) => {
    const path = join(folder(), 'state.json');
    const completed = Array.from({ length: 40_000 }, (_, n) => `before-${n}`);
    writeFileSync(path, asOriginal({ completed, failed: [] }));
    const program = `
    import { LoopState } from 'holdfast/loop';
    const state = await LoopState.create(${JSON.stringify(path)}, { onDrift: '${onDrift}' });
    console.log('found ' + state.completed.length);
    state.begin('after-' + state.completed.length);
    await state.end('after-' + state.completed.length, { status: 'success' });
    process.kill(process.pid, 'SIGKILL');
  `;
    for (let run = 0; run < 3; run++) {
      const { stdout, stderr } = await start(program).ended;
      expect([stdout, stderr]).toEqual([`found ${completed.length + run}\n`, '']);
    }
  },
);

describe('SIGINT', () => {
  const loop = (path: string, before = '', after = '') => `
    import { runLoop } from 'holdfast/loop';
    ${before}
    const items = Array.from({ length: 1000 }, (_, n) => 'item-' + n);
    const work = async (item, { signal }) => {
      if (item === 'item-5') {
        // When all that listen to the signal have had their turn.
        signal.addEventListener('abort', () => setTimeout(() => console.log('stopping'), 10));
        console.log('ready');
      }
      await new Promise((resolve) => setTimeout(resolve, item === 'item-5' ? 300 : 5));
      console.log('ended ' + item + ' ' + signal.aborted);
    };
    const summary = await runLoop(items, ${JSON.stringify(path)}, work, { concurrency: 2 });
    ${after}
    console.log('after ' + summary.stopped);
  `;
  const interrupted = async (child: Running) => {
    await child.line('ready');
    child.kill('SIGINT');
    return child.ended;
  };

  it('lets the work in hand end, saves, and ends the process as a signal does', async () => {
    const path = join(folder(), 'state.json');
    const { signal, stdout, stderr } = await interrupted(start(loop(path)));
    expect(stderr).toBe('');
    expect(signal).toBe('SIGINT');
    expect(stdout).toContain('ended item-5 true');
    expect(stdout).not.toContain('after');
    const completed = read(path).completed as string[];
    expect(completed).toContain('item-5');
    expect(completed.length).toBeLessThan(1000);
    expect(read(path)).toEqual({ completed, failed: [] });
  });

  it('sent twice ends the process at once; what was acknowledged is saved', async () => {
    const path = join(folder(), 'state.json');
    const child = start(loop(path).replace('300', '30000'));
    await child.line('ready');
    child.kill('SIGINT');
    await child.line('stopping');
    child.kill('SIGINT');
    const { signal, isHung } = await child.ended;
    expect([signal, isHung]).toEqual(['SIGINT', false]);
    expect(read(path)).toMatchObject({ completed: expect.arrayContaining(['item-0']), inProgress: 'item-5' });
  });

  it('is the business of a program that listens to it', async () => {
    const path = join(folder(), 'state.json');
    const before = `process.on('SIGINT', () => console.log('mine'));`;
    const { code, stdout } = await interrupted(start(loop(path, before).replace('1000 }', '60 }')));
    expect(code).toBe(0);
    expect(stdout).toContain('mine');
    expect(stdout).toContain('after null');
    expect(read(path).completed).toHaveLength(60);
  });

  it('ends the first process of a container too, which signals do not end by themselves', async ({ skip }) => {
    const wrapper = ['unshare', '--pid', '--fork', '--kill-child'];
    skip(spawnSync('unshare', [...wrapper.slice(1), 'true']).status !== 0, '`unshare --pid` is not permitted here');
    const path = join(folder(), 'state.json');
    // Its pid is another one out here.
    const before = `
      const { log } = console;
      console.log = (line) => {
        log(line);
        if (line === 'ready') process.kill(process.pid, 'SIGINT');
      };`;
    const { code, stdout } = await start(loop(path, before), { wrapper }).ended;
    expect(code).toBe(130);
    expect(stdout).not.toContain('after');
    expect(read(path).completed).toContain('item-0');
  });

  it('waits for all loops of the process', async () => {
    const directory = folder();
    const [path, other] = [join(directory, 'state.json'), join(directory, 'other.json')];
    const before = `
      const second = runLoop(['slow'], ${JSON.stringify(other)}, async () => {
        await new Promise((resolve) => setTimeout(resolve, 1500));
        console.log('slow ended');
      });
    `;
    const { signal, stdout } = await interrupted(start(loop(path, before)));
    expect(signal).toBe('SIGINT');
    expect(stdout).toContain('slow ended');
    expect(stdout).not.toContain('after');
    expect(read(other)).toEqual({ completed: ['slow'], failed: [] });
  });
});

it('the example in the docs runs, and goes on where it was', async () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/loop.md'), 'utf8');
  const [, example = ''] = /```js\n([\s\S]*?)```/.exec(page) ?? [];
  const directory = folder();
  const program = example.replaceAll("'.agent/", `'${directory}/`);
  expect(program).toContain(directory);
  const first = await start(program).ended;
  expect([first.code, first.stderr]).toEqual([0, '']);
  expect(existsSync(join(directory, 'loop.json'))).toBe(true);
  const second = await start(program).ended;
  expect(second.stdout).toContain('resumed: ');
  writeFileSync(join(directory, 'loop.json'), '');
  const third = await start(program).ended;
  expect(third.stdout).toContain('recovered: ');
});
