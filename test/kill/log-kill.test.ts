// A log in real processes: killed at random moments, ended in every other way, and larger than the memory it is given.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { run, sleep, start } from '../support/process-child.js';
import { randomFrom } from '../support/random.js';

const isLong = Number(process.env.HOLDFAST_RUNS ?? 0) >= 1000;
const KILLS = isLong ? 200 : 12;

const folders: string[] = [];
const folder = () => {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-log-'));
  folders.push(path);
  return path;
};
afterEach(() => {
  for (const path of folders.splice(0)) rmSync(path, { recursive: true, force: true });
});

/** Entry n is { n } and the document counts them: whatever is found is 0, 1, 2, … and the two agree. */
const appender = (directory: string) => `
  import { open } from 'holdfast';
  const store = await open(${JSON.stringify(directory)}, { projectDelayMs: 5 });
  store.on('fault', (error) => console.log('fault ' + error.code));
  store.on('recovered', ({ projections }) => { for (const each of projections) if (each.document === 'log:events') console.log('lines ' + each.found); });
  const log = await store.log('events');
  const doc = await store.doc('state', { initial: { count: 0 } });
  let n = 0;
  for await (const { index, entry } of log.read()) {
    if (index !== n || entry.n !== n) throw new Error('entry ' + index + ' is ' + entry.n + ', expected ' + n);
    n++;
  }
  if (doc.state.count !== n) throw new Error('the document counts ' + doc.state.count + ', the log has ' + n);
  console.log('found ' + n);
  for (;;) {
    for (let burst = 0; burst < 200; burst++) {
      store.transaction(() => { log.append({ n: n++, text: 'x'.repeat(n % 900) }); doc.update((s) => { s.count = n; }); });
    }
    const upTo = n;
    if (n % 400 === 0) { await log.flush(); console.log('flushed ' + upTo); }
    else await new Promise((r) => setImmediate(r));
  }`;

it('killed at any moment it has every flushed entry, none twice, none out of order, and agrees with its document', async () => {
  const directory = folder();
  const random = randomFrom(7);
  let flushed = 0;
  let total = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    const child = start(appender(directory));
    const found = await child.line('found');
    await sleep(random() * 300);
    child.kill('SIGKILL');
    const { stderr } = await child.ended;
    expect(stderr).toBe('');
    expect(found).not.toBeNull();
    const count = Number(found?.split(' ')[1]);
    expect(count).toBeGreaterThanOrEqual(flushed);
    expect(child.lines.filter((line) => /^(fault|lines)/.test(line))).toEqual([]);
    const last = child.lines.filter((line) => line.startsWith('flushed')).at(-1);
    flushed = last === undefined ? count : Number(last.split(' ')[1]);
    total = count;
  }
  console.info(`${KILLS} kills, ${total} entries`);
  expect(total).toBeGreaterThan(1000);
}, 600_000);

it('its JSON Lines show every entry after process.exit, an error and a signal', async () => {
  for (const [end, signal] of [
    ['process.exit(0)', undefined],
    ["throw new Error('boom')", undefined],
    ["console.log('ready'); setInterval(() => {}, 1000)", 'SIGTERM'],
  ] as const) {
    const directory = folder();
    const child = start(`
      import { open } from 'holdfast';
      const store = await open(${JSON.stringify(directory)}, { syncDelayMs: 60_000, projectDelayMs: 60_000 });
      const log = await store.log('events');
      log.append({ n: 0 });
      await store.flush({ projected: true });
      for (let n = 1; n < 500; n++) log.append({ n });
      ${end};`);
    if (signal !== undefined) {
      await child.line('ready');
      child.kill(signal);
    }
    await child.ended;
    const lines = readFileSync(join(directory, 'events.jsonl'), 'utf8').split('\n').slice(0, -1);
    expect(lines.map((line) => (JSON.parse(line) as { n: number }).n)).toEqual(
      Array.from({ length: 500 }, (_, n) => n),
    );
  }
});

it('costs no memory for the entries it has: 200,000 of them, far more than the heap, appended and read', async () => {
  const directory = folder();
  const program = `
    import { open } from 'holdfast';
    const store = await open(${JSON.stringify(directory)}, { pendingBytesMax: 4 * 1024 * 1024 });
    const log = await store.log('events');
    const from = log.length;
    for (let n = from; n < 200_000; n++) {
      if (n % 500 === 0) await store.drained();
      log.append({ n, text: 'y'.repeat(400) });
    }
    await store.flush({ projected: true });
    let n = 0;
    for await (const { index, entry } of log.read()) {
      if (index !== n || entry.n !== n) throw new Error('entry ' + index + ' is ' + entry.n);
      n++;
    }
    const began = performance.now();
    for await (const { entry } of log.read({ since: n - 1 })) if (entry.n !== n - 1) throw new Error('last');
    const lastMs = performance.now() - began;
    global.gc();
    const { heapUsed } = process.memoryUsage();
    console.log('done ' + JSON.stringify({ n, heapMb: heapUsed / 1e6, lastMs }));
    await store.close();`;
  // The entries alone are about 85 MB; worker threads inherit the limit.
  const env = { NODE_OPTIONS: '--max-old-space-size=64' };
  const wrapper = ['/usr/bin/env'];
  for (let round = 0; round < 2; round++) {
    const { stdout, stderr, code } = await run(program.replace('global.gc();', 'globalThis.gc?.();'), {
      env,
      wrapper,
      timeoutMs: 240_000,
    });
    expect(stderr).toBe('');
    expect(code).toBe(0);
    const done = JSON.parse(/^done (.*)$/m.exec(stdout)?.[1] ?? '{}') as { n: number; heapMb: number; lastMs: number };
    console.info(
      `round ${round}: ${done.n} entries, ${done.heapMb.toFixed(0)} MB heap, last entry in ${done.lastMs.toFixed(0)} ms`,
    );
    expect(done.n).toBe(200_000);
    expect(done.heapMb).toBeLessThan(50);
  }
  const text = readFileSync(join(directory, 'events.jsonl'));
  let lines = 0;
  for (let at = text.indexOf(10); at !== -1; at = text.indexOf(10, at + 1)) lines++;
  expect(lines).toBe(200_000);
}, 600_000);
