import type { EventEmitter } from 'node:events';
import { mkdirSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { describe, expect, it, vi } from 'vitest';
import { HoldfastError } from '../../src/errors.js';
import { Events } from '../../src/events.js';
import { ExitHooks } from '../../src/exit/hooks.js';
import { DEFAULTS, settle } from '../../src/options.js';
import { Projector, type ProjectorHost } from '../../src/projection/projector.js';
import type { CompactReport, ProjectReport, ProjectRequest } from '../../src/projection/requests.js';
import { PublishLock } from '../../src/threads/publish-lock.js';
import { runSnapshotTask } from '../../src/threads/snapshot-task.js';
import type { SnapshotThread } from '../../src/threads/snapshot-thread.js';
import { folder, json, openStore, workersUrl } from './support.js';

describe('options', () => {
  it('are the defaults where nothing is said', () => {
    expect(settle()).toEqual(DEFAULTS);
    expect(settle({ syncDelayMs: undefined as never, exit: { timeoutMs: 7 } })).toMatchObject({
      syncDelayMs: 100,
      exit: { timeoutMs: 7, signals: ['SIGINT', 'SIGTERM', 'SIGHUP'] },
    });
    expect(settle({ workersUrl: 'file:///x/workers' }).workersUrl.href).toBe('file:///x/workers/');
  });

  it.each([
    [{ syncDelayMs: -1 }, /syncDelayMs/],
    [{ backups: 10 }, /backups/],
    [{ exit: { timeoutMs: 'soon' } }, /exit\.timeoutMs/],
    [{ onDrift: 'ignore' }, /onDrift/],
    [{ typo: 1 }, /typo/],
  ])('%j is a TypeError that names it', (options, message) => {
    expect(() => settle(options as never)).toThrow(TypeError);
    expect(() => settle(options as never)).toThrow(message);
  });
});

describe('events', () => {
  it('reach their listeners until these stop', () => {
    const events = new Events();
    const seen: number[] = [];
    const stop = events.on('commit', ({ seq }) => seen.push(seq));
    events.emit('commit', { seq: 1, bytes: 0 });
    stop();
    events.emit('commit', { seq: 2, bytes: 0 });
    expect(seen).toEqual([1]);
    const listener = () => void seen.push(0);
    const [stopOne] = [events.on('commit', listener), events.on('commit', listener)];
    stopOne();
    events.emit('commit', { seq: 3, bytes: 0 });
    expect(seen).toEqual([1, 0]);
    expect(() => events.on('commit', 7 as never)).toThrow(TypeError);
  });

  it('that nobody hears warn once per code when they are faults', () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const events = new Events();
    for (let n = 0; n < 3; n++) events.emit('fault', new HoldfastError('HF_IO', 'no'));
    events.emit('fault', new HoldfastError('HF_DISK_FULL', 'full'));
    expect(warn).toHaveBeenCalledTimes(2);
    events.on('fault', () => undefined);
    events.emit('fault', new HoldfastError('HF_NAME', 'no'));
    expect(warn).toHaveBeenCalledTimes(2);
    warn.mockRestore();
  });

  it('a listener that throws does not keep the others from hearing; its error is not lost', async () => {
    const events = new Events();
    const thrown: unknown[] = [];
    const before = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    process.once('uncaughtException', (error) => thrown.push(error));
    const heard: number[] = [];
    events.on('commit', () => {
      throw new Error('mine');
    });
    events.on('commit', ({ seq }) => heard.push(seq));
    events.emit('commit', { seq: 1, bytes: 0 });
    await new Promise((resolve) => setImmediate(resolve));
    for (const listener of before) process.on('uncaughtException', listener);
    expect(heard).toEqual([1]);
    expect(thrown).toMatchObject([{ message: 'mine' }]);
  });
});

describe('exit hooks', () => {
  it('save on a signal and let it take its default action, unless the program listens itself', async () => {
    const kill = vi.spyOn(process, 'kill').mockImplementation(() => true);
    const hooks = new ExitHooks();
    const saved: boolean[] = [];
    const goOn = vi.fn();
    const saver = { signals: ['SIGUSR2'] as const, saveNow: (isLast: boolean) => void saved.push(isLast), goOn };
    const savers = [saver, { ...saver }];
    for (const one of savers) hooks.add(one);
    expect(process.listenerCount('SIGUSR2')).toBe(1);
    const own = () => undefined;
    process.on('SIGUSR2', own);
    (process as EventEmitter).emit('SIGUSR2', 'SIGUSR2');
    expect([saved, kill.mock.calls.length]).toEqual([[false, false], 0]);
    process.off('SIGUSR2', own);
    (process as EventEmitter).emit('SIGUSR2', 'SIGUSR2');
    expect(saved).toEqual([false, false, true, true]);
    expect(kill.mock.calls).toEqual([[process.pid, 'SIGUSR2']]);
    expect(process.listenerCount('SIGUSR2')).toBe(0);
    kill.mockRestore();
    // Nobody was killed: everything is as before.
    expect(goOn).not.toHaveBeenCalled();
    await vi.waitFor(() => expect(goOn).toHaveBeenCalledTimes(2), 10_000);
    expect(process.listenerCount('SIGUSR2')).toBe(1);
    for (const one of savers) hooks.remove(one);
    expect(process.listenerCount('SIGUSR2')).toBe(0);
  });

  it('are gone with the last store', () => {
    const hooks = new ExitHooks();
    const before = process.listenerCount('exit');
    const one = { signals: ['SIGUSR2'] as const, saveNow: () => undefined, goOn: () => undefined };
    const two = { ...one };
    hooks.add(one);
    hooks.add(two);
    hooks.remove(one);
    expect(process.listenerCount('SIGUSR2')).toBe(1);
    hooks.remove(two);
    expect([process.listenerCount('SIGUSR2'), process.listenerCount('exit')]).toEqual([0, before]);
    expect(ExitHooks.shared).toBe(ExitHooks.shared);
  });
});

describe('the publish lock', () => {
  it('is for one at a time, and at exit for good', () => {
    const lock = new PublishLock();
    expect(lock.run(() => 7)).toBe(7);
    expect(() =>
      lock.run(() => {
        throw new Error('no');
      }),
    ).toThrow('no');
    expect(lock.takeForGood(0)).toBe(true);
    expect(lock.takeForGood(0)).toBe(true);
    expect(new PublishLock(lock.memory).takeForGood(1)).toBe(false);
    lock.free();
    expect(new PublishLock(lock.memory).takeForGood(1)).toBe(true);
  });

  it('is waited for by another thread', async () => {
    const lock = new PublishLock();
    lock.takeForGood(0);
    const code = `
      const { workerData, parentPort } = require('node:worker_threads');
      const word = new Int32Array(workerData);
      while (Atomics.compareExchange(word, 0, 0, 1) !== 0) Atomics.wait(word, 0, 1);
      parentPort.postMessage('mine');`;
    const worker = new Worker(code, { eval: true, workerData: lock.memory });
    const got = new Promise((resolve) => worker.once('message', resolve));
    setTimeout(() => lock.free(), 20);
    expect(await got).toBe('mine');
  });
});

class FakeThread {
  readonly requests: ProjectRequest[] = [];
  compactions = 0;
  answer: (request: ProjectRequest) => Partial<ProjectReport> = () => ({});
  compactAnswer: () => CompactReport = () => ({ kind: 'compacted', seq: 1, baseBytes: 8 * 1024 * 1024, deleted: [] });

  async project(request: ProjectRequest): Promise<ProjectReport> {
    this.requests.push(request);
    return { seq: request.toSeq, problem: null, fault: null, documents: [], digests: [], ...this.answer(request) };
  }

  async compact(): Promise<CompactReport> {
    this.compactions++;
    return this.compactAnswer();
  }
}

function projecting(settings = {}) {
  const thread = new FakeThread();
  const told: string[] = [];
  const versions = new Map<string, number>();
  const host: ProjectorHost = {
    directory: '/x',
    storeId: new Uint8Array(16),
    owner: 1,
    durableSeq: () => 5,
    lastSeq: () => 5,
    takeNumber: () => 9,
    versionOf: (name) => versions.get(name) ?? 1,
    backupsOf: () => 2,
    onOutcome: ({ name, outcome }) => told.push(`${name} ${outcome.kind}`),
    onDigests: () => told.push('digests'),
    onFault: ({ code }) => told.push(code),
  };
  const all = { projectDelayMs: 0, projectBytesPerSecMax: 1e9, audit: false, ...settings };
  const projector = new Projector(host, thread as unknown as SnapshotThread, new PublishLock(), all);
  return { projector, thread, told, versions };
}

const published = (name: string, version = 1, bytes = 10) => ({
  name,
  version,
  seq: 5,
  outcome: { kind: 'published', bytes, sha256: '', kept: null } as const,
});

describe('the projector', () => {
  it('asks for what lags, once for many changes', async () => {
    const { projector, thread, told } = projecting();
    thread.answer = ({ documents }) => ({ documents: documents.map(({ name }) => published(name)) });
    projector.note(['a', 'b']);
    projector.note(['a']);
    await vi.waitFor(() => expect(told).toEqual(['a published', 'b published']));
    expect(thread.requests).toMatchObject([{ toSeq: 5, documents: [{ name: 'a', backups: 2 }, { name: 'b' }] }]);
    expect(projector.names).toEqual([]);
    await projector.stop();
  });

  it('asks again for a document whose newest version was not durable yet', async () => {
    const { projector, thread, versions, told } = projecting();
    versions.set('a', 2);
    thread.answer = () => ({ documents: [published('a', thread.requests.length)] });
    projector.note(['a']);
    await vi.waitFor(() => expect(told).toHaveLength(2));
    expect(thread.requests).toHaveLength(2);
  });

  it('lets a large document rest, and no other', async () => {
    const { projector, thread, told } = projecting({ projectBytesPerSecMax: 1 });
    thread.answer = ({ documents }) => ({
      documents: documents.map(({ name }) => published(name, 1, name === 'big' ? 1e6 : 0)),
    });
    projector.note(['big', 'small']);
    await vi.waitFor(() => expect(told).toHaveLength(2));
    projector.note(['big', 'small']);
    await vi.waitFor(() => expect(told).toHaveLength(3));
    expect(projector.names).toEqual(['big']);
    await projector.projectNow();
    expect(told.at(-1)).toBe('big published');
  });

  it('keeps on the list what failed: one document, all of them, or the thread', async () => {
    const { projector, thread, told } = projecting();
    const fault = { kind: 'fault', code: 'HF_DISK_FULL', message: 'full', errno: 'ENOSPC' } as const;
    thread.answer = () => ({ documents: [{ name: 'a', version: 1, seq: 5, outcome: fault }] });
    projector.note(['a']);
    await vi.waitFor(() => expect(told).toEqual(['HF_DISK_FULL', 'a fault']));
    expect(projector.names).toEqual(['a']);
    thread.answer = () => ({ fault });
    await expect(projector.projectNow()).rejects.toMatchObject({ code: 'HF_DISK_FULL' });
    thread.answer = () => {
      throw new HoldfastError('HF_THREAD', 'died');
    };
    await expect(projector.projectNow()).rejects.toMatchObject({ code: 'HF_THREAD' });
    expect(projector.names).toEqual(['a']);
    thread.answer = () => ({ documents: [published('a')] });
    await projector.projectNow();
    expect(projector.names).toEqual([]);
  });

  it('sweeps once after an open, also when there is no document', async () => {
    const { projector, thread } = projecting({ audit: true });
    projector.noteAll([], true);
    await vi.waitFor(() => expect(thread.requests).toHaveLength(1));
    expect(thread.requests[0]).toMatchObject({ sweep: true, documents: [], audit: true });
  });

  it('backs off when the thread does not come up, also while there is something to sweep', async () => {
    const { projector, thread } = projecting();
    thread.answer = () => {
      throw new HoldfastError('HF_THREAD', 'died');
    };
    projector.noteAll(['a'], true);
    await new Promise((resolve) => setTimeout(resolve, 400));
    // At once, and after 250 ms. Again and again without a pause would be dozens.
    expect(thread.requests.length).toBeGreaterThan(0);
    expect(thread.requests.length).toBeLessThan(4);
    await projector.stop();
  });

  it('compacts when enough has been written since the last base', async () => {
    const { projector, thread, told } = projecting();
    projector.noteRotated(1024);
    expect(thread.compactions).toBe(0);
    projector.noteRotated(8 * 1024 * 1024);
    await vi.waitFor(() => expect(thread.compactions).toBe(1));
    await new Promise((resolve) => setImmediate(resolve));
    // The base was as large as what it covers: the next one waits for as much again.
    projector.noteRotated(5 * 1024 * 1024);
    expect(thread.compactions).toBe(1);
    thread.compactAnswer = () => ({ kind: 'fault', code: 'HF_DISK_FULL', message: 'full', errno: 'ENOSPC' });
    projector.noteRotated(8 * 1024 * 1024);
    await vi.waitFor(() => expect(told).toEqual(['HF_DISK_FULL']));
    thread.compactAnswer = () => ({ kind: 'behind', seq: 1, problem: 'not there yet' });
    await projector.compact();
  });
});

it('a task of the snapshot thread does the same on any thread', async () => {
  const directory = folder();
  const store = await openStore(directory);
  const doc = await store.doc('a', { initial: { n: 1 } });
  await store.flush({ projected: true });
  doc.update((s) => void (s.n = 2));
  await store.flush();
  const lock = new PublishLock().memory;
  const owner = 1;
  const storeId = new Uint8Array(16);
  const request = { directory, storeId, owner, toSeq: store.health().durableSeq };
  const { report, heldBytes } = runSnapshotTask({ kind: 'project', request: { ...request, documents: [] }, lock });
  expect(report).toHaveProperty('fault');
  expect(heldBytes).toBeGreaterThan(0);
  expect(runSnapshotTask({ kind: 'forget', storeId }).report).toBeNull();
  const compacted = runSnapshotTask({ kind: 'compact', request: { ...request, number: 99, timeMs: 0 }, lock });
  expect(compacted.report).toHaveProperty('kind');
});

it('at exit, when the journal thread is dead, the main thread writes what is left', async () => {
  const directory = folder();
  const { spawnSync } = await import('node:child_process');
  const code = `
    import { open } from 'holdfast';
    const { JournalThread } = await import(${JSON.stringify(new URL('../src/threads/journal-thread.js', workersUrl).href)});
    const workers = new URL(${JSON.stringify(workersUrl.href)});
    const store = await open(${JSON.stringify(directory)}, { exit: { timeoutMs: 1000 }, workersUrl: workers });
    const doc = await store.doc('a', { initial: { n: 1, text: '' } });
    await store.flush({ projected: true });
    JournalThread.of(workers).terminate();
    const end = performance.now() + 200;
    while (performance.now() < end);
    doc.update((s) => { s.n = 2; });
    doc.update((s) => { s.text = 'x'.repeat(400_000); });
    process.exit(0);`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    cwd: join(import.meta.dirname, '../..'),
    encoding: 'utf8',
    timeout: 20_000,
  });
  expect([status, stderr]).toEqual([0, '']);
  expect(json(directory, 'a')).toMatchObject({ n: 2 });
  const store = await openStore(directory);
  expect((await store.doc('a', { initial: { n: 0, text: '' } })).state.text).toHaveLength(400_000);
});

it('a program that is started often does not collect tails', async () => {
  const directory = folder();
  const counts: number[] = [];
  for (let run = 0; run < 24; run++) {
    const store = await openStore(directory);
    const doc = await store.doc('a', { initial: { n: 0 } });
    expect(doc.state.n).toBe(run);
    doc.update((s) => void s.n++);
    await store.close();
    counts.push(readdirSync(join(directory, '.holdfast')).filter((name) => name.endsWith('.tail')).length);
  }
  expect(Math.max(...counts)).toBeLessThanOrEqual(19);
}, 240_000);

it('a flush that waits for the files says which one could not be written; the store closes all the same', async () => {
  const directory = folder();
  const store = await openStore(directory);
  const [a, b] = [await store.doc('a', { initial: { n: 0 } }), await store.doc('b', { initial: { n: 0 } })];
  await store.flush({ projected: true });
  const inTheWay = join(directory, 'a.json');
  const block = () => {
    rmSync(inTheWay, { recursive: true });
    mkdirSync(inTheWay);
    for (const doc of [a, b]) doc.update((s) => void s.n++);
  };
  block();
  await expect(store.flush({ projected: true })).rejects.toMatchObject({
    code: 'HF_IO',
    message: expect.stringContaining(inTheWay),
  });
  expect(json(directory, 'b')).toEqual({ n: 1 });
  await store.flush();
  rmdirSync(inTheWay);
  await store.flush({ projected: true });
  expect(json(directory, 'a')).toEqual({ n: 1 });
  block();
  await store.close();
  rmdirSync(inTheWay);
  expect((await (await openStore(directory)).doc('a', { initial: { n: -1 } })).state.n).toBe(2);
});
