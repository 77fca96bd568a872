// One writer, seen through `open`: who is refused, who gets the store, and who may no longer say that something is saved.

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { JournalThread } from '../../src/threads/journal-thread.js';
import { type Running, SAY, start } from '../support/process-child.js';
import { faults, folder, openStore, workersUrl } from './support.js';

/** Opens, then does what it is told, a line at a time: `set <n>`, `flush`, `close`. */
const HOLDER = `
import { createInterface } from 'node:readline';
import { writeSync } from 'node:fs';
import { open } from 'holdfast';
${SAY}
const told = (error) => say('refused ' + error.code + ' ' + error.message);
try {
  const store = await open(process.env.HOLDFAST_DIR, { projectDelayMs: 10 });
  store.on('fault', () => undefined);
  const doc = await store.doc('a', { initial: { n: 0 } });
  say('holds ' + process.pid + ' ' + doc.state.n);
  let count = 0;
  for await (const line of createInterface({ input: process.stdin })) {
    const [word, n] = line.split(' ');
    try {
      if (word === 'set') doc.update((s) => { s.n = Number(n); });
      if (word === 'flush') await store.flush();
      if (word === 'project') await store.flush({ projected: true });
      if (word === 'close') await store.close();
      say('done ' + ++count);
    } catch (error) {
      told(error);
      say('done ' + ++count);
    }
  }
} catch (error) {
  told(error);
}`;

const running: Running[] = [];

interface Holder extends Running {
  /** Resolves with what it was refused, or null. */
  tell(line: string): Promise<string | null>;
}

function hold(directory: string, wrapper: string[] = []): Holder {
  const child = start(HOLDER, { wrapper, env: { HOLDFAST_DIR: directory } });
  running.push(child);
  let told = 0;
  return {
    ...child,
    tell: async (line: string) => {
      const from = child.lines.length;
      child.write(`${line}\n`);
      await child.line(`done ${++told}`);
      return child.lines.slice(from).find((said) => said.startsWith('refused')) ?? null;
    },
  };
}

/** The lock file as a process of another machine would have written it: from here nobody can tell whether it lives. */
function pretendElsewhere(directory: string): void {
  const hidden = join(directory, '.holdfast');
  const [name] = readdirSync(hidden).filter((entry) => entry.startsWith('lock.'));
  const path = join(hidden, name as string);
  const record = { ...JSON.parse(readFileSync(path, 'utf8')), bootId: 'x', machineId: 'x', host: 'x', socket: null };
  writeFileSync(path, JSON.stringify(record));
}

/** As after another process had the store for a while. */
function takenOverAndLeft(directory: string): void {
  const hidden = join(directory, '.holdfast');
  const [name] = readdirSync(hidden).filter((entry) => entry.startsWith('lock.'));
  const record = { ...JSON.parse(readFileSync(join(hidden, name as string), 'utf8')), state: 'released' };
  writeFileSync(join(hidden, `lock.${Number(name?.slice('lock.'.length)) + 1}`), JSON.stringify(record));
}

/** The paths of this process's open files. */
function openFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      // Closed meanwhile.
      return [];
    }
  });
}

afterEach(async () => {
  for (const child of running.splice(0)) {
    child.kill('SIGKILL');
    await child.ended;
  }
});

const initial = { n: -1 };

describe('a second process', () => {
  it('is refused while the first one lives, and told who that is; it gets the store after a close', async () => {
    const directory = folder();
    const owner = hold(directory);
    await owner.line('holds');
    await expect(openStore(directory)).rejects.toMatchObject({
      code: 'HF_LOCKED',
      message: expect.stringContaining(`process ${owner.pid} `),
      details: { pid: owner.pid, canTakeOver: false },
    });
    await owner.tell('set 3');
    expect(await owner.tell('close')).toBeNull();
    const store = await openStore(directory);
    expect((await store.doc('a', { initial })).state.n).toBe(3);
  });

  it('gets the store of a killed one at once, with everything that it had flushed', async () => {
    const directory = folder();
    const owner = hold(directory);
    await owner.line('holds');
    await owner.tell('set 5');
    expect(await owner.tell('flush')).toBeNull();
    owner.kill('SIGKILL');
    await owner.ended;
    const before = performance.now();
    const store = await openStore(directory);
    const tookMs = performance.now() - before;
    expect((await store.doc('a', { initial })).state.n).toBe(5);
    console.info(`opened ${tookMs.toFixed(0)} ms after the owner was killed`);
    expect(tookMs).toBeLessThan(1000);
  });

  const unshare = ['unshare', '-p', '-f', '--mount-proc', '--kill-child'];
  const hasNamespaces = spawnSync('unshare', [...unshare.slice(1), 'true']).status === 0;
  const where = `in another pid namespace${hasNamespaces ? '' : ' (skipped: no namespaces here)'}`;

  it.skipIf(!hasNamespaces)(`${where} is refused, and keeps others out`, async () => {
    const directory = folder();
    const store = await openStore(directory);
    const apart = hold(directory, unshare);
    const refused = await apart.line('refused');
    expect(refused).toContain('HF_LOCKED');
    expect(refused).toContain(`process ${process.pid} `);
    await store.close();
    const owner = hold(directory, unshare);
    const holds = await owner.line('holds');
    // Every container has one of these.
    expect(holds).toMatch(/^holds 1 /);
    await expect(openStore(directory)).rejects.toMatchObject({ code: 'HF_LOCKED', details: { pid: 1 } });
  });
});

describe('an owner that was stopped and lost its store', () => {
  /** As a successor does it: from now on this owner is no longer the highest. */
  function fence(directory: string): void {
    const hidden = join(directory, '.holdfast');
    writeFileSync(join(hidden, 'lock.2'), readFileSync(join(hidden, 'lock.1')));
  }

  it('is told at each flush and at close, lets go then, and can open the store again', async () => {
    const directory = folder();
    const store = await openStore(directory);
    const doc = await store.doc('a', { initial: { n: 0 } });
    await store.flush();
    fence(directory);
    doc.update((s) => void (s.n = 1));
    await expect(store.flush()).rejects.toMatchObject({ code: 'HF_FENCED' });
    // Its successor is refused, and nobody is there any more who could answer.
    await JournalThread.of(workersUrl).terminate();
    await vi.waitFor(() => expect(faults.filter((fault) => fault.startsWith('HF_FENCED')).length).toBeGreaterThan(1));
    await expect(store.flush()).rejects.toMatchObject({ code: 'HF_FENCED' });
    expect(() => store.flushSync()).toThrow(expect.objectContaining({ code: 'HF_FENCED' }));
    await expect(store.close()).rejects.toMatchObject({ code: 'HF_FENCED' });
    expect(store.health().phase).toBe('closed');
    await store.close();
    const again = await openStore(directory);
    expect(again).not.toBe(store);
    const reread = await again.doc('a', { initial });
    reread.update((s) => void (s.n = 5));
    await again.close();
  });

  it('leaves nothing on a thread that other stores go on with', async () => {
    const other = await openStore(folder());
    const directory = folder();
    const store = await openStore(directory);
    const doc = await store.doc('a', { initial: { n: 0 } });
    await store.flush({ projected: true });
    const held = () => openFiles().filter((path) => path.startsWith(directory));
    expect(held()).not.toEqual([]);
    fence(directory);
    doc.update((s) => void (s.n = 1));
    await expect(store.close()).rejects.toMatchObject({ code: 'HF_FENCED' });
    await other.flush();
    await vi.waitFor(() => expect(held()).toEqual([]));
  });

  // One that answers is never taken over: `takeover` is for when nobody can tell, as with another machine.
  it('cannot acknowledge anything afterwards, and the new owner sees nothing of it', async () => {
    const directory = folder();
    const owner = hold(directory);
    await owner.line('holds');
    await owner.tell('set 1');
    expect(await owner.tell('project')).toBeNull();
    owner.kill('SIGSTOP');
    await expect(openStore(directory, { takeover: true })).rejects.toMatchObject({ code: 'HF_LOCKED' });
    pretendElsewhere(directory);
    const store = await openStore(directory, { takeover: true });
    const doc = await store.doc('a', { initial });
    expect(doc.state.n).toBe(1);
    doc.update((s) => {
      s.n = 10;
    });
    await store.flush({ projected: true });
    owner.kill('SIGCONT');
    await owner.tell('set 2');
    expect(await owner.tell('flush')).toContain('HF_FENCED');
    expect(await owner.tell('set 3')).toContain('HF_FENCED');
    expect(await owner.tell('project')).toContain('HF_FENCED');
    doc.update((s) => {
      s.n = 11;
    });
    await store.flush({ projected: true });
    await store.close();
    owner.kill('SIGKILL');
    await owner.ended;
    const again = await openStore(directory);
    expect((await again.doc('a', { initial })).state.n).toBe(11);
  });

  it('lets go of it with a close, however much is unsaved, and the same program can open it again', async () => {
    const directory = folder();
    const [store, other] = [await openStore(directory), await openStore(folder())];
    const doc = await store.doc('a', { initial });
    await store.flush();
    takenOverAndLeft(directory);
    doc.update((s) => {
      s.n = 1;
    });
    await expect(store.flush()).rejects.toMatchObject({ code: 'HF_FENCED' });
    expect(store.health()).toMatchObject({ phase: 'fenced', lastFault: { code: 'HF_FENCED' } });
    await expect(store.close()).rejects.toMatchObject({ code: 'HF_FENCED' });
    expect(store.health().phase).toBe('closed');
    await store.close();
    const again = await openStore(directory);
    expect((await again.doc('a', { initial })).state).toBeDefined();
    // One that nobody closed is in nobody's way either, whoever holds it.
    expect(await openStore(directory)).toBe(again);
    takenOverAndLeft(directory);
    again.transaction(() => void again.doc('b', { initial }));
    await expect(again.flush()).rejects.toMatchObject({ code: 'HF_FENCED' });
    const third = await openStore(directory);
    expect(third).not.toBe(again);
    const mine = await third.doc('a', { initial });
    mine.update((s) => {
      s.n = 7;
    });
    await third.close();
    await other.close();
  });
});
