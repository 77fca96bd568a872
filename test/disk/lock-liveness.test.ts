// What may be concluded about an owner from what was found, also on systems that these tests do not run on.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { judgeProcess, judgeRefusal, seek } from '../../src/disk/lock-liveness.js';
import { type Identity, type LockRecord, ownIdentity, startTimeIn, startTimeOf } from '../../src/disk/lock-record.js';
import { addressOf, answerIn } from '../../src/disk/lock-socket.js';
import { nodeDisk } from '../../src/disk/node-disk.js';

afterEach(() => {
  vi.restoreAllMocks();
});

const here: Identity = {
  pid: 7,
  pidNamespace: 'pid:[1]',
  startTime: '100',
  bootId: 'boot-1',
  machineId: 'machine-1',
  host: 'host-1',
};

function owner(facts: Partial<LockRecord> = {}): LockRecord {
  return { ...here, pid: 9, state: 'held', socket: null, since: '', ...facts };
}

const unprovable = expect.objectContaining({ kind: 'unprovable' });
const otherMachine = { bootId: 'boot-2', machineId: 'machine-2', host: 'host-2' };

describe('a socket that refuses', () => {
  it('proves death on a local disk, whatever the lock file says of the machine', () => {
    expect(judgeRefusal(owner(otherMachine), here, true, 'linux')).toEqual({ kind: 'dead' });
  });

  it('proves death on a shared disk only for a process of this kernel, or of this machine before it was restarted', () => {
    const judged = (facts: Partial<LockRecord>) => judgeRefusal(owner(facts), here, false, 'linux');
    expect(judged({})).toEqual({ kind: 'dead' });
    expect(judged({ host: 'container' })).toEqual({ kind: 'dead' });
    expect(judged({ bootId: 'boot-2' })).toEqual({ kind: 'dead' });
    expect(judged(otherMachine)).toEqual(unprovable);
    expect(judged({ bootId: 'boot-2', host: 'host-2' })).toEqual(unprovable);
    expect(judged({ bootId: 'boot-2', machineId: 'machine-2' })).toEqual(unprovable);
    expect(judged({ bootId: '' })).toEqual(unprovable);
  });

  it('facts that nobody knows are not the same facts', () => {
    const nowhere = { ...here, bootId: '', machineId: '' };
    expect(judgeRefusal(owner({ bootId: '', machineId: '' }), nowhere, false, 'linux')).toEqual(unprovable);
    expect(judgeRefusal(owner({ bootId: 'boot-2', machineId: '' }), nowhere, false, 'linux')).toEqual(unprovable);
  });

  it('where boots have no names, the host has to do', () => {
    expect(judgeRefusal(owner({ bootId: '' }), here, false, 'win32')).toEqual({ kind: 'dead' });
    expect(judgeRefusal(owner({ bootId: '', host: 'host-2' }), here, false, 'win32')).toEqual(unprovable);
  });
});

describe('without a socket', () => {
  const judged = (facts: Partial<LockRecord>, sighting: Parameters<typeof judgeProcess>[2]) =>
    judgeProcess(owner(facts), here, sighting, 'linux');

  it('a process of the same pid namespace is what it is seen to be', () => {
    expect(judged({}, 'gone')).toEqual({ kind: 'dead' });
    expect(judged({}, 'running')).toEqual({ kind: 'alive' });
    expect(judged({}, 'unclear')).toEqual(unprovable);
  });

  it('a pid of elsewhere proves nothing', () => {
    expect(judged({ pidNamespace: 'pid:[2]' }, 'gone')).toEqual(unprovable);
    expect(judged({ pidNamespace: '' }, 'gone')).toEqual(unprovable);
    expect(judged(otherMachine, 'gone')).toEqual(unprovable);
  });

  it('nothing outlives a restart of its machine', () => {
    expect(judged({ bootId: 'boot-2' }, 'running')).toEqual({ kind: 'dead' });
  });

  it('where there are no pid namespaces the host has to do', () => {
    const elsewhere = owner({ bootId: '', pidNamespace: '', startTime: '' });
    expect(judgeProcess(elsewhere, here, 'gone', 'darwin')).toEqual({ kind: 'dead' });
    expect(judgeProcess({ ...elsewhere, host: 'host-2' }, here, 'gone', 'darwin')).toEqual(unprovable);
  });
});

describe('a process', () => {
  it('is the owner only if it started when the owner did', () => {
    const { pid, startTime } = ownIdentity();
    expect(startTime).toMatch(/^\d+$/);
    expect(seek({ pid, startTime })).toBe('running');
    expect(seek({ pid, startTime: '1' })).toBe('gone');
    expect(seek({ pid, startTime: '' })).toBe('unclear');
    expect(seek({ pid: 2 ** 22 + 1, startTime: '1' })).toBe('gone');
  });

  it('that may not be touched is there all the same', () => {
    const startTime = startTimeOf(1);
    const refuse = (code: string) =>
      vi.spyOn(process, 'kill').mockImplementation(() => {
        throw Object.assign(new Error(code), { code });
      });
    refuse('EPERM');
    expect(seek({ pid: 1, startTime })).toBe('running');
    refuse('EINVAL');
    expect(() => seek({ pid: 1, startTime })).toThrow('EINVAL');
  });

  it('that is not there, or in a /proc that numbers processes differently, has no start time', () => {
    expect(startTimeOf(2 ** 22 + 1)).toBe('');
    const { pid } = process;
    vi.spyOn(process, 'pid', 'get').mockReturnValue(pid + 1);
    expect(startTimeOf(pid)).toBe('');
  });

  it('may be named anything', () => {
    const stat = readFileSync('/proc/self/stat', 'latin1');
    const renamed = stat.replace(/\(.*\)/, '(a) b 1 2 3 (c) d)');
    expect(startTimeIn(renamed)).toBe(ownIdentity().startTime);
    expect(startTimeIn('')).toBe('');
  });
});

describe('an answer', () => {
  const answer = (code: string, platform: NodeJS.Platform) => answerIn(Object.assign(new Error(), { code }), platform);

  it('means what the kernel means by it', () => {
    expect(answer('ECONNREFUSED', 'linux')).toBe('refuses');
    expect(answer('ECONNREFUSED', 'darwin')).toBe('unknown');
    expect(answer('EAGAIN', 'linux')).toBe('answers');
    expect(answer('ECONNRESET', 'linux')).toBe('ended');
    expect(answer('ENOENT', 'linux')).toBe('missing');
    expect(answer('ENOENT', 'win32')).toBe('refuses');
    for (const code of ['EACCES', 'EPERM', 'EINVAL', 'ENOTSUP', 'EOPNOTSUPP']) {
      expect(answer(code, 'linux')).toBe('unknown');
    }
  });

  it('that says nothing about the owner is an error', () => {
    expect(() => answer('EMFILE', 'linux')).toThrow(expect.objectContaining({ code: 'EMFILE' }));
  });
});

describe('an address', () => {
  it('is a pipe on Windows, and nothing where a long path has no short form', () => {
    expect(addressOf('C:\\x', 'owner-1.sock', 'win32')?.path).toBe('\\\\.\\pipe\\holdfast-owner-1.sock');
    expect(addressOf(join('/', 'd'.repeat(120)), 'owner-1.sock', 'darwin')).toBeNull();
  });

  it('is nothing where /proc does not show our descriptors, and none stays open', () => {
    vi.spyOn(nodeDisk, 'open').mockReturnValue(999_999);
    const close = vi.spyOn(nodeDisk, 'close').mockReturnValue();
    expect(addressOf(join('/', 'd'.repeat(120)), 'owner-1.sock', 'linux')).toBeNull();
    expect(close).toHaveBeenCalledWith(999_999);
  });
});
