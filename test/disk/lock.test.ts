// One writer, with real processes: stopped, blocked, killed, racing, in other pid namespaces.

import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect, Server, type Socket } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import ts from 'typescript';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { isCode } from '../../src/disk/faults.js';
import { acquireLock, highestLock, type Lock } from '../../src/disk/lock.js';
import { nodeDisk } from '../../src/disk/node-disk.js';

interface Answer {
  owner?: number;
  code?: string;
  message?: string;
  details?: { pid: number; canTakeOver: boolean };
  turns?: number;
  clashes?: number;
}

/** The sources as plain JavaScript, for processes of their own. */
let built: string;
let moduleUrl: string;
let folder: string;
let hidden: string;
let children: ChildProcess[] = [];
let locks: Lock[] = [];

beforeAll(() => {
  built = mkdtempSync(join(tmpdir(), 'holdfast-lock-'));
  chmodSync(built, 0o755);
  mkdirSync(join(built, 'disk'));
  const sources = join(import.meta.dirname, '../../src');
  const names = readdirSync(join(sources, 'disk')).filter((name) => name.endsWith('.ts'));
  const disk = names.map((name) => join('disk', name));
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
  for (const path of ['errors.ts', ...disk]) {
    const { outputText } = ts.transpileModule(readFileSync(join(sources, path), 'utf8'), { compilerOptions });
    writeFileSync(join(built, path.replace(/\.ts$/, '.js')), outputText);
  }
  writeFileSync(join(built, 'package.json'), '{ "type": "module" }');
  for (const name of ['lock-holder.mjs', 'lock-cluster.mjs']) {
    copyFileSync(join(import.meta.dirname, name), join(built, name));
  }
  moduleUrl = pathToFileURL(join(built, 'disk', 'lock.js')).href;
});
afterAll(() => rmSync(built, { recursive: true }));

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
  hidden = join(folder, '.holdfast');
  mkdirSync(hidden);
});
afterEach(async () => {
  vi.restoreAllMocks();
  for (const lock of locks) await lock.release();
  await Promise.all(children.map(kill));
  locks = [];
  children = [];
  rmSync(folder, { recursive: true });
});

async function acquire(directory = hidden, takeover = false): Promise<Lock> {
  const lock = await acquireLock(directory, { takeover });
  locks.push(lock);
  return lock;
}

async function start(settings: { uid?: number } = {}): Promise<ChildProcess> {
  const child = fork(join(built, 'lock-holder.mjs'), [moduleUrl], { execArgv: [], cwd: '/', ...settings });
  children.push(child);
  await once(child, 'message');
  return child;
}

async function tell(child: ChildProcess, command: string, settings: object = {}): Promise<Answer> {
  const answer = once(child, 'message');
  child.send({ command, ...settings });
  return (await answer)[0];
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

function stop(child: ChildProcess): void {
  child.kill('SIGSTOP');
  awaitState(child.pid, 'T');
}

/** Without a turn of our own event loop. */
function awaitState(pid: number | undefined, state: 'T' | 'Z'): void {
  const deadlineMs = Date.now() + 10_000;
  while (!isInState(`/proc/${pid}`, state)) {
    if (Date.now() > deadlineMs) throw new Error(`Process ${pid} does not get to state ${state}.`);
  }
}

function isInState(path: string, state: 'T' | 'Z'): boolean {
  try {
    if (!readFileSync(join(path, 'stat'), 'latin1').includes(`) ${state} `)) return false;
    // The first thread is a zombie before the others are gone, and they keep the sockets.
    return state === 'T' || readdirSync(join(path, 'task')).length === 1;
  } catch (error) {
    // Gone altogether is as good as a zombie.
    if (state === 'Z' && isCode(error, 'ENOENT', 'ESRCH')) return true;
    throw error;
  }
}

async function startOwner(directory = hidden): Promise<ChildProcess> {
  const owner = await start();
  expect(await tell(owner, 'acquire', { hidden: directory })).toEqual({ owner: highestLock(directory) });
  return owner;
}

const isLocked = expect.objectContaining({ code: 'HF_LOCKED' });

function names(pattern: RegExp): string[] {
  return readdirSync(hidden).filter((name) => pattern.test(name));
}

/** Every process and thread now finds a file system that has no sockets. */
function withoutSockets(code = 'ENOTSUP'): void {
  vi.spyOn(Server.prototype, 'listen').mockImplementation(function (this: Server) {
    process.nextTick(() => this.emit('error', Object.assign(new Error(`listen ${code}`), { code })));
    return this;
  });
}

describe('an owner that runs', () => {
  it('keeps a second process out, and is named with the way out', async () => {
    const owner = await startOwner();
    const refusal = await acquire().catch((error) => error);
    expect(refusal).toMatchObject({ code: 'HF_LOCKED', details: { pid: owner.pid, canTakeOver: false } });
    expect(refusal.message).toContain(`${folder} is open in process ${owner.pid} on host ${hostname()}, since 20`);
    expect(refusal.message).toContain('openReadOnly');
    expect(names(/sock|tmp/)).toHaveLength(1);
  });

  it('keeps out a second attempt of the same process, and of its threads', async () => {
    const lock = await acquire();
    await expect(acquire()).rejects.toThrow(`process ${process.pid} (the pid of this process, too)`);
    const source = `
      const { parentPort } = require('node:worker_threads');
      const send = (answer) => parentPort.postMessage(answer);
      parentPort.on('message', () => import(${JSON.stringify(moduleUrl)})
        .then(({ acquireLock }) => acquireLock(${JSON.stringify(hidden)}))
        .then(({ owner }) => send(owner), ({ code }) => send(code)));
    `;
    const thread = new Worker(source, { eval: true });
    const ask = async () => {
      const answer = once(thread, 'message');
      thread.postMessage('acquire');
      return (await answer)[0];
    };
    expect(await ask()).toBe('HF_LOCKED');
    await lock.release();
    expect(await ask()).toBe(2);
    await expect(acquire()).rejects.toEqual(isLocked);
    await thread.terminate();
    expect((await acquire()).owner).toBe(3);
  });

  it('is alive while it is stopped, and cannot be taken over', async () => {
    const owner = await startOwner();
    stop(owner);
    await expect(acquire()).rejects.toEqual(isLocked);
    await expect(acquire(hidden, true)).rejects.toEqual(isLocked);
  });

  it('is alive while its event loop is blocked', async () => {
    const owner = await startOwner();
    await tell(owner, 'block');
    for (let i = 0; i < 5; i++) await expect(acquire()).rejects.toEqual(isLocked);
  });

  it('is alive when its queue of connections is full', async () => {
    const owner = await startOwner();
    stop(owner);
    const path = join(hidden, names(/sock$/)[0] ?? '');
    const sockets: Socket[] = [];
    let code = '';
    while (code === '' && sockets.length < 6000) {
      const socket = connect({ path });
      sockets.push(socket);
      code = await once(socket, 'connect').then(
        () => '',
        (error) => error.code,
      );
    }
    expect(code).toBe('EAGAIN');
    await expect(acquire()).rejects.toEqual(isLocked);
    for (const socket of sockets) socket.destroy();
  });

  it('is alive as a worker of a cluster when the primary is dead', async () => {
    const primary = fork(join(built, 'lock-cluster.mjs'), [moduleUrl, hidden], { execArgv: [] });
    const [[answer]] = await Promise.all([once(primary, 'message'), once(primary, 'exit')]);
    try {
      expect(answer.owner).toBe(1);
      await expect(acquire()).rejects.toMatchObject({ code: 'HF_LOCKED', details: { pid: answer.pid } });
    } finally {
      process.kill(answer.pid, 'SIGKILL');
    }
    awaitState(answer.pid, 'Z');
    expect((await acquire()).owner).toBe(2);
  });

  it('is alive for another user, and dead for it once its process is gone', async ({ skip }) => {
    skip(process.getuid?.() !== 0, 'only root can start a process of another user');
    chmodSync(folder, 0o755);
    chmodSync(hidden, 0o777);
    const owner = await startOwner();
    const stranger = await start({ uid: 65534 });
    const refusal = await tell(stranger, 'acquire', { hidden });
    expect(refusal).toMatchObject({ code: 'HF_LOCKED', details: { pid: owner.pid } });
    await kill(owner);
    expect(await tell(stranger, 'acquire', { hidden })).toEqual({ owner: 2 });
  });
});

describe('an owner that is gone', () => {
  it('killed: the next one gets the store at once, without waiting for anything', async () => {
    await kill(await startOwner());
    const timers = [vi.spyOn(globalThis, 'setTimeout'), vi.spyOn(globalThis, 'setInterval'), vi.spyOn(Atomics, 'wait')];
    const lock = await acquire();
    expect(lock.owner).toBe(2);
    for (const timer of timers) expect(timer).not.toHaveBeenCalled();
  });

  it('killed while it is being asked: it is dead', async () => {
    const owner = await startOwner();
    stop(owner);
    // Connects, and goes on only when this function waits: by then the queue with that connection is gone.
    const attempt = acquire();
    owner.kill('SIGKILL');
    awaitState(owner.pid, 'Z');
    expect((await attempt).owner).toBe(2);
  });

  it('released: the next one gets the store while that process lives on', async () => {
    const owner = await startOwner();
    await tell(owner, 'release');
    expect(names(/lock|sock/)).toEqual(['lock.1']);
    const lock = await acquire();
    expect(lock.owner).toBe(2);
    expect(await tell(owner, 'assertHighest')).toMatchObject({ code: 'HF_CLOSED' });
    await Promise.all([lock.release(), lock.release()]);
    expect(await tell(owner, 'acquire', { hidden })).toEqual({ owner: 3 });
  });

  it('what it and others left is swept, and nothing else', async () => {
    const keep = ['0000000001.tail', 'lock.x', 'lock.0', 'owner-notes.sock', 'lock-1.tmp'];
    for (const name of keep) writeFileSync(join(hidden, name), '');
    for (let i = 0; i < 3; i++) {
      await kill(await startOwner());
      const [left = ''] = names(/^owner-\w{16}/);
      // As if it had died before it could take a number.
      renameSync(join(hidden, left), join(hidden, `owner-00000000000000a${i}.sock`));
    }
    writeFileSync(join(hidden, 'lock.1'), '');
    writeFileSync(join(hidden, 'lock-0123456789abcdef.tmp'), '');
    await acquire();
    const [own = ''] = names(/^owner-\w{16}/);
    expect(readdirSync(hidden).sort()).toEqual([...keep, 'lock.4', own].sort());
  });

  it('a socket that answers is not swept', async () => {
    const server = new Server().listen(join(hidden, 'owner-00000000000000aa.sock'));
    await once(server, 'listening');
    writeFileSync(join(hidden, 'lock.1'), heldBy({ socket: 'owner-00000000000000bb.sock' }));
    await acquire();
    expect(names(/^owner-00000000000000aa/)).toHaveLength(1);
    server.close();
  });
});

describe('a program', () => {
  const run = (afterwards: string) =>
    spawnSync(process.execPath, [join(built, 'lock-holder.mjs'), moduleUrl, hidden, afterwards], {
      encoding: 'utf8',
      timeout: 30_000,
    });

  it('that only holds a lock ends by itself', () => {
    expect(run('idle')).toMatchObject({ stderr: '', stdout: 'idle\n', status: 0 });
  });

  it('that only waits for a release gets to its end', () => {
    expect(run('release')).toMatchObject({ stderr: '', stdout: 'release\n', status: 0 });
  });
});

describe('many at once', () => {
  it('of 20 processes that race for the lock of a dead owner exactly one gets it, round after round', async () => {
    const racers = await Promise.all(Array.from({ length: 20 }, () => start()));
    await kill(await startOwner());
    for (let round = 0; round < 20; round++) {
      const before = highestLock(hidden);
      const atMs = Date.now() + 30;
      const answers = await Promise.all(racers.map((racer) => tell(racer, 'acquire', { hidden, atMs })));
      const winners = answers.filter(({ owner }) => owner !== undefined);
      expect(winners).toEqual([{ owner: before + 1 }]);
      expect(answers.filter(({ code }) => code === 'HF_LOCKED')).toHaveLength(19);
      const winner = answers.findIndex(({ owner }) => owner !== undefined);
      const champion = racers[winner] as ChildProcess;
      // A torn lock file must not let two in either, nor shut all out.
      if (round % 4 === 3) writeFileSync(join(hidden, `lock.${before + 1}`), '');
      await kill(champion);
      racers[winner] = await start();
    }
    expect(names(/^lock/)).toEqual(['lock.21']);
  });

  it('of 20 processes that race for a new store exactly one gets it', async () => {
    const racers = await Promise.all(Array.from({ length: 20 }, () => start()));
    for (let round = 0; round < 10; round++) {
      const fresh = join(folder, `fresh-${round}`);
      mkdirSync(fresh);
      const atMs = Date.now() + 30;
      const answers = await Promise.all(racers.map((racer) => tell(racer, 'acquire', { hidden: fresh, atMs })));
      expect(answers.filter(({ owner }) => owner !== undefined)).toEqual([{ owner: 1 }]);
      expect(answers.filter(({ code }) => code === 'HF_LOCKED')).toHaveLength(19);
    }
  });

  it('processes that take turns as fast as they can are never two inside', async () => {
    const racers = await Promise.all(Array.from({ length: 6 }, () => start()));
    const untilMs = Date.now() + 2000;
    const answers = await Promise.all(racers.map((racer) => tell(racer, 'churn', { hidden, untilMs })));
    expect(answers.map(({ clashes }) => clashes)).toEqual(racers.map(() => 0));
    const turns = answers.reduce((sum, answer) => sum + (answer.turns ?? 0), 0);
    expect(turns).toBeGreaterThan(0);
    expect(highestLock(hidden)).toBeGreaterThanOrEqual(turns);
  });
});

describe('another pid namespace', () => {
  const unshare = ['--pid', '--fork', '--mount-proc'];
  const isPermitted = spawnSync('unshare', [...unshare, 'true']).status === 0;

  async function startInside(): Promise<ChildProcess> {
    const command = [...unshare, '--kill-child', process.execPath, join(built, 'lock-holder.mjs'), moduleUrl];
    const child = spawn('unshare', command, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    children.push(child);
    await once(child, 'message');
    return child;
  }

  it('its processes are refused and refuse others, and are taken over when killed', async ({ skip }) => {
    skip(!isPermitted, '`unshare --pid` is not permitted here');
    const outside = await startOwner();
    const inside = await startInside();
    expect(await tell(inside, 'acquire', { hidden })).toMatchObject({
      code: 'HF_LOCKED',
      details: { pid: outside.pid },
    });
    await kill(outside);
    expect(await tell(inside, 'acquire', { hidden })).toEqual({ owner: 2 });
    await expect(acquire()).rejects.toMatchObject({ code: 'HF_LOCKED', details: { pid: 1 } });

    const pid = readFileSync(`/proc/${inside.pid}/task/${inside.pid}/children`, 'latin1').trim();
    const gone = once(inside, 'exit');
    process.kill(Number(pid), 'SIGKILL');
    await gone;
    expect((await acquire()).owner).toBe(3);
  });

  it('without sockets it is unprovable, until someone takes over', async ({ skip }) => {
    skip(!isPermitted, '`unshare --pid` is not permitted here');
    const inside = await startInside();
    await tell(inside, 'withoutSockets');
    await tell(inside, 'acquire', { hidden });
    await expect(acquire()).rejects.toMatchObject({ code: 'HF_LOCKED', details: { pid: 1, canTakeOver: true } });
    expect((await acquire(hidden, true)).owner).toBe(2);
    expect(await tell(inside, 'assertHighest')).toMatchObject({ code: 'HF_FENCED' });
  });
});

describe('a long path', () => {
  it('works as a short one does, between processes, and leaves no descriptor open', async () => {
    const long = join(folder, 'l'.repeat(120), 'ö'.repeat(60), '.holdfast');
    mkdirSync(long, { recursive: true });
    const owner = await startOwner(long);
    await expect(acquire(long)).rejects.toMatchObject({ details: { pid: owner.pid } });
    await kill(owner);
    const lock = await acquire(long);
    expect(lock.owner).toBe(2);
    expect(openIn(long)).toBe(1);
    expect(await tell(await start(), 'acquire', { hidden: long })).toMatchObject({ code: 'HF_LOCKED' });
    await lock.release();
    expect(openIn(long)).toBe(0);
    expect(readdirSync(long)).toEqual(['lock.2']);
  });

  function openIn(directory: string): number {
    const open = readdirSync('/proc/self/fd').filter((fd) => {
      const path = `/proc/self/fd/${fd}`;
      return existsSync(path) && readlinkSync(path) === directory;
    });
    return open.length;
  }
});

const TORN = {
  empty: '',
  zeros: '\0'.repeat(200),
  half: '{"state":"held","socket":"owner-',
  'not an object': '7',
  null: 'null',
  'another shape': '{"pid":1}',
  'a pid that is a group': heldBy({ pid: -1 }),
  'a socket somewhere else': heldBy({ socket: '../../elsewhere.sock' }),
};

function heldBy(record: object): string {
  const texts = { pidNamespace: '', startTime: '', bootId: '', machineId: '', host: 'elsewhere', since: 'then' };
  return JSON.stringify({ state: 'held', socket: null, pid: 1, ...texts, ...record });
}

describe('a lock file that cannot be read', () => {
  it.each(Object.entries(TORN))('%s: refused while its owner answers, taken when it does not', async (_, content) => {
    const owner = await startOwner();
    writeFileSync(join(hidden, 'lock.1'), content);
    await expect(acquire()).rejects.toMatchObject({ code: 'HF_LOCKED', details: { pid: null, canTakeOver: false } });
    await expect(acquire(hidden, true)).rejects.toEqual(isLocked);
    await kill(owner);
    expect((await acquire()).owner).toBe(2);
  });

  it('missing altogether: an owner that answers still keeps others out', async () => {
    const owner = await startOwner();
    rmSync(join(hidden, 'lock.1'));
    await expect(acquire()).rejects.toThrow('no lock file there tells which one');
    expect(await tell(owner, 'assertHighest')).toMatchObject({ code: 'HF_FENCED' });
    await kill(owner);
    expect((await acquire()).owner).toBe(1);
  });

  it('with a socket that another user keeps to itself it is unprovable', async ({ skip }) => {
    skip(process.getuid?.() !== 0, 'only root can start a process of another user');
    chmodSync(folder, 0o755);
    chmodSync(hidden, 0o777);
    await kill(await startOwner());
    writeFileSync(join(hidden, 'lock.1'), '');
    const stranger = await start({ uid: 65534 });
    const refusal = await tell(stranger, 'acquire', { hidden });
    expect(refusal).toMatchObject({ code: 'HF_LOCKED', details: { pid: null, canTakeOver: true } });
    rmSync(join(hidden, 'lock.1'));
    expect(await tell(stranger, 'acquire', { hidden })).toEqual({ owner: 1 });
  });

  it('a directory in its place is that error', async () => {
    mkdirSync(join(hidden, 'lock.3'));
    await expect(acquire()).rejects.toMatchObject({ code: 'EISDIR' });
  });

  it('no directory at all is that error', async () => {
    await expect(acquire(join(folder, 'nowhere'))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('a disk without sockets', () => {
  it.each(['ENOTSUP', 'EOPNOTSUPP', 'EPERM', 'EINVAL'])('%s: an owner is known by its process', async (code) => {
    const owner = await start();
    await tell(owner, 'withoutSockets');
    expect(await tell(owner, 'acquire', { hidden })).toEqual({ owner: 1 });
    withoutSockets(code);
    await expect(acquire()).rejects.toMatchObject({ code: 'HF_LOCKED', details: { pid: owner.pid } });
    await expect(acquire(hidden, true)).rejects.toEqual(isLocked);
    await kill(owner);
    expect((await acquire()).owner).toBe(2);
    await expect(acquire()).rejects.toMatchObject({ code: 'HF_LOCKED', details: { pid: process.pid } });
    expect(names(/sock/)).toEqual([]);
  });

  it('a release is seen while that process lives on', async () => {
    withoutSockets();
    const lock = await acquire();
    await lock.release();
    expect(readdirSync(hidden)).toEqual(['lock.2']);
    expect((await acquire()).owner).toBe(3);
  });

  it('a process with the same pid that started at another time is not the owner', async () => {
    withoutSockets();
    await acquire();
    const record = JSON.parse(readFileSync(join(hidden, 'lock.1'), 'utf8'));
    writeFileSync(join(hidden, 'lock.1'), JSON.stringify({ ...record, startTime: '1' }));
    expect((await acquire()).owner).toBe(2);
  });

  it('an owner that was taken over is fenced, and its release changes nothing', async () => {
    withoutSockets();
    const old = await acquire();
    writeFileSync(join(hidden, 'lock.1'), heldBy({ pid: process.pid }));
    await expect(acquire()).rejects.toThrow('If you are certain that it no longer runs, open with `takeover: true`');
    const lock = await acquire(hidden, true);
    expect(() => old.assertHighest()).toThrow(expect.objectContaining({ code: 'HF_FENCED' }));
    await old.release();
    lock.assertHighest();
  });

  it('any other reason why nobody can listen is that error', async () => {
    withoutSockets('EMFILE');
    await expect(acquire()).rejects.toMatchObject({ code: 'EMFILE' });
    expect(readdirSync(hidden)).toEqual([]);
  });
});

describe('fencing', () => {
  it('a higher lock ends what a lower one may do', async () => {
    const lock = await acquire();
    lock.assertHighest();
    writeFileSync(join(hidden, 'lock.12'), '');
    expect(highestLock(hidden)).toBe(12);
    expect(() => lock.assertHighest()).toThrow(expect.objectContaining({ code: 'HF_FENCED' }));
    expect(() => lock.assertHighest()).toThrow('lock.12 stands above our lock.1');
    expect(() => lock.raise(20)).toThrow(expect.objectContaining({ code: 'HF_FENCED' }));
  });

  it('a lock can be raised above numbers that lock files no longer tell of', async () => {
    const lock = await acquire();
    lock.raise(0);
    expect(lock.owner).toBe(1);
    lock.raise(41);
    expect(lock.owner).toBe(42);
    expect(names(/^lock/)).toEqual(['lock.42']);
    lock.assertHighest();
    await expect(acquire()).rejects.toEqual(isLocked);
    await lock.release();
    expect((await acquire()).owner).toBe(43);
  });

  it('raising to a number that was taken in the same moment is being fenced', async () => {
    const lock = await acquire();
    atLink(() => writeFileSync(join(hidden, 'lock.6'), ''));
    expect(() => lock.raise(5)).toThrow(expect.objectContaining({ code: 'HF_FENCED' }));
    expect(lock.owner).toBe(1);
  });
});

/** Something happens just before the next lock file is linked. */
function atLink(happen: (temp: string) => void): void {
  const link = nodeDisk.link;
  vi.spyOn(nodeDisk, 'link').mockImplementationOnce((existing, path) => {
    happen(existing);
    link(existing, path);
  });
}

describe('a claim', () => {
  it('of a number that was taken and swept long ago loses to the higher one', async () => {
    atLink(() => writeFileSync(join(hidden, 'lock.2'), heldBy({ state: 'released' })));
    expect((await acquire()).owner).toBe(3);
    expect(names(/^lock|sock/)).toHaveLength(2);
  });

  it('whose temp a new owner swept is made again', async () => {
    atLink((temp) => rmSync(temp));
    expect((await acquire()).owner).toBe(1);
  });

  it('that finds the lock file swept looks again', async () => {
    writeFileSync(join(hidden, 'lock.1'), '');
    const open = nodeDisk.open;
    vi.spyOn(nodeDisk, 'open').mockImplementationOnce((path, access, mode) => {
      renameSync(path, join(hidden, 'lock.2'));
      return open(path, access, mode);
    });
    expect((await acquire()).owner).toBe(3);
  });

  it('that always comes second gives up after a while, and leaves nothing', async () => {
    const link = vi.spyOn(nodeDisk, 'link').mockImplementation(() => {
      throw Object.assign(new Error('taken'), { code: 'EEXIST' });
    });
    await expect(acquire()).rejects.toThrow('keeps changing hands');
    expect(link.mock.calls.length).toBeLessThan(100);
    expect(readdirSync(hidden)).toEqual([]);
  });

  it('that a disk refuses is that error, and leaves nothing', async () => {
    vi.spyOn(nodeDisk, 'link').mockImplementation(() => {
      throw Object.assign(new Error('full'), { code: 'ENOSPC' });
    });
    await expect(acquire()).rejects.toMatchObject({ code: 'ENOSPC' });
    expect(readdirSync(hidden)).toEqual([]);
  });

  it('that cannot sweep is given up', async () => {
    writeFileSync(join(hidden, 'lock.1'), '');
    vi.spyOn(nodeDisk, 'unlink').mockImplementation(() => {
      throw Object.assign(new Error('no'), { code: 'EPERM' });
    });
    await expect(acquire()).rejects.toMatchObject({ code: 'EPERM' });
    expect(names(/sock/)).toEqual([]);
  });
});
