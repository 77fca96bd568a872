// Every call fails once, in every way that matters.

import { describe, expect, it } from 'vitest';
import { HoldfastError } from '../../src/errors.js';
import { patiently } from '../../src/file/disk.js';
import { intentPath, pointerFor, pointerPath, readPointer, writeRecord } from '../../src/file/intent.js';
import { emptyReport, settle } from '../../src/file/recover.js';
import { replaceFile } from '../../src/file/replace.js';
import { stageFile } from '../../src/file/stage.js';
import { replaceFiles } from '../../src/file/transaction.js';
import { type Call, diskError } from '../support/recording-calls.js';
import { faultOf, RecordingDisk } from '../support/recording-disk.js';
import {
  A,
  asFileDisk,
  B,
  contentOf,
  litterIn,
  newLiveness,
  oldFiles,
  recoverIn,
  runUntil,
  TARGETS,
  type TestDisk,
  toolsFor,
  versionIn,
  write,
  writeAll,
} from './life.js';

const FIRST = TARGETS[0] as string;

function newDisk(): TestDisk {
  return asFileDisk(RecordingDisk.fromFiles(oldFiles()));
}

function onceAt(step: number, code: string): (call: Call) => Error | undefined {
  let isDone = false;
  return (call) => {
    // Looks have the number of the step before them.
    if (isDone || call.step !== step) return undefined;
    isDone = true;
    return faultOf(code, call);
  };
}

function tempsIn(disk: TestDisk): string[] {
  return [...disk.files().keys()].filter((path) => path.includes('/.'));
}

async function steps(): Promise<Call[]> {
  return (await runUntil(writeAll, { steps: null })).disk.calls;
}

const DIRECTORIES: readonly string[] = [A, B];

const files = TARGETS.map((target) => ({ target, bytes: Buffer.from(contentOf(target, 'new') ?? ''), mode: 0o644 }));

describe('a call of writeFiles that fails', () => {
  for (const code of ['EIO', 'ENOSPC', 'EACCES']) {
    it(`with ${code} leaves all old and nothing else, or all new after recovery`, async () => {
      const calls = await steps();
      let undone = 0;
      for (const { step, name, path } of calls) {
        const disk = newDisk();
        disk.inject = onceAt(step, code);
        const error = await replaceFiles(toolsFor(disk), files, emptyReport()).catch((fault: unknown) => fault);
        disk.inject = undefined;
        // Removing what is no longer needed is all that may fail unheard, and syncing a folder of others further up.
        const isOfOthers = code === 'EACCES' && name === 'syncDirectory' && !DIRECTORIES.includes(path);
        if (error === undefined) expect(isOfOthers || name === 'unlink').toBe(true);
        else {
          expect(error).toBeInstanceOf(HoldfastError);
          expect((error as HoldfastError).code).toBe(code === 'ENOSPC' ? 'HF_DISK_FULL' : 'HF_IO');
          expect((error as HoldfastError).message).toContain('/work/');
        }
        if ((error as HoldfastError | undefined)?.message.includes('None of the files was changed')) {
          undone++;
          expect(versionIn(disk)).toBe('old');
          expect(tempsIn(disk)).toEqual([]);
        } else expect(error === undefined ? versionIn(disk) : 'new').toBe('new');
        const wasOld = versionIn(disk) === 'old' && disk.entry(intentOfLeft(disk)) === null;
        await recoverIn(disk, B);
        await recoverIn(disk, A);
        expect(versionIn(disk)).toBe(wasOld ? 'old' : 'new');
        expect(litterIn(disk)).toEqual([]);
      }
      expect(undone).toBeGreaterThan(25);
    });
  }

  it('once the decision cannot be synced, and every sync after it, is settled by the next call', async () => {
    const disk = newDisk();
    const decided = (await steps()).find(({ name, to }) => name === 'rename' && to?.endsWith('.intent'))?.step ?? 0;
    disk.inject = (call) => (call.step > decided && call.name === 'syncDirectory' ? faultOf('EIO', call) : undefined);
    await expect(replaceFiles(toolsFor(disk), files, emptyReport())).rejects.toMatchObject({
      code: 'HF_IO',
      message: /All of the files or none/,
    });
    disk.inject = undefined;
    expect(await recoverIn(disk, B)).toMatchObject({ undone: [`${B}/one`, `${B}/new`], completed: [] });
    await recoverIn(disk, A);
    expect(versionIn(disk)).toBe('old');
    expect(tempsIn(disk)).toEqual([]);
  });

  it('says so where there are no hard links', async () => {
    const disk = newDisk();
    disk.inject = (call) => (call.name === 'link' ? faultOf('EPERM', call) : undefined);
    await expect(replaceFiles(toolsFor(disk), files, emptyReport())).rejects.toThrow(/no hard links/);
    expect(tempsIn(disk)).toEqual([]);
  });

  it('is made up for when writes are short', async () => {
    const disk = newDisk();
    disk.inject = (call) => (call.name === 'write' ? 'short' : undefined);
    await replaceFiles(toolsFor(disk), files, emptyReport());
    expect(versionIn(disk)).toBe('new');
  });
});

function intentOfLeft(disk: TestDisk): string {
  const id = (readPointer(disk, A) ?? readPointer(disk, B))?.id;
  return id === undefined ? '/none' : intentPath(A, id);
}

describe('a call of writeFile that fails', () => {
  it('leaves the old file and no temp, and after the rename says that the new one is in place', () => {
    const whole = newDisk();
    write(whole, FIRST, 'new');
    for (const { step, name, path } of whole.calls) {
      const disk = newDisk();
      disk.inject = onceAt(step, 'EIO');
      const isPlaced = name === 'syncDirectory' && DIRECTORIES.includes(path);
      expect(() => write(disk, FIRST, 'new')).toThrow(isPlaced ? /in place/ : /as it was/);
      expect(Buffer.from(disk.files().get(FIRST) ?? '').toString()).toBe(isPlaced ? 'new' : contentOf(FIRST, 'old'));
      expect(tempsIn(disk)).toEqual([]);
    }
  });

  it('with short writes and a full disk keeps the old file', () => {
    const disk = newDisk();
    let writes = 0;
    disk.inject = (call) => (call.name !== 'write' ? undefined : ++writes < 3 ? 'short' : faultOf('ENOSPC', call));
    expect(() => write(disk, FIRST, 'new content')).toThrow(expect.objectContaining({ code: 'HF_DISK_FULL' }));
    expect(Buffer.from(disk.files().get(FIRST) ?? '').toString()).toBe(contentOf(FIRST, 'old'));
    disk.inject = (call) => (call.name === 'write' ? 'short' : undefined);
    write(disk, FIRST, 'new content');
    expect(Buffer.from(disk.files().get(FIRST) ?? '').toString()).toBe('new content');
  });

  it('does not fill the backups with one version, however often it fails', () => {
    for (const hasLinks of [true, false]) {
      const disk = newDisk();
      const save = (content: string) =>
        replaceFile(disk, {
          target: FIRST,
          bytes: Buffer.from(content),
          mode: 0o644,
          backups: 3,
          durable: true,
          isJson: false,
        });
      const noLinks = (call: Call) => (call.name === 'link' && !hasLinks ? faultOf('EPERM', call) : undefined);
      disk.inject = noLinks;
      save('second');
      disk.inject = (call) => (call.name === 'rename' && call.to === FIRST ? faultOf('EIO', call) : noLinks(call));
      for (let n = 0; n < 5; n++) expect(() => save('third')).toThrow('as it was');
      disk.inject = noLinks;
      save('third');
      const found = ['', '.bak1', '.bak2', '.bak3'].map((end) => disk.files().get(`${FIRST}${end}`));
      const texts = found.map((bytes) => (bytes === undefined ? null : Buffer.from(bytes).toString()));
      expect(texts).toEqual(['third', 'second', contentOf(FIRST, 'old'), null]);
      expect(tempsIn(disk)).toEqual([]);
    }
  });

  it('for want of the right to keep the owner says whose it is', () => {
    const disk = newDisk();
    const owners = new Map([[FIRST, { uid: 4242, gid: 4343 }]]);
    disk.ownerOf = (path) => owners.get(path) ?? { uid: 1, gid: 1 };
    disk.setOwner = () => {
      throw diskError('EPERM', 'fchown');
    };
    expect(() => write(disk, FIRST, 'new')).toThrow(/user 4242, group 4343/);
    expect(tempsIn(disk)).toEqual([]);
  });

  it('does not read back as written', () => {
    const disk = newDisk();
    const { read } = disk;
    disk.read = (handle, into, offset, length, position) => {
      const count = read.call(disk, handle, into, offset, length, position);
      if (count > 0) into[offset] = 0;
      return count;
    };
    const staging = { temp: `${A}/.t`, target: FIRST, bytes: Buffer.from('x'), existing: null, mode: 0o600 };
    expect(() => stageFile(disk, { ...staging, durable: true })).toThrow(/does not read back/);
  });
});

describe('somebody else', () => {
  /** A kill right after the decision. */
  async function decided(): Promise<TestDisk> {
    const rename = (await steps()).find(({ name, to }) => name === 'rename' && to?.endsWith('.intent'))?.step ?? 0;
    const { disk } = await runUntil(writeAll, { steps: rename });
    return asFileDisk(disk.afterKill());
  }

  it('who changed a file after a crash keeps it; the staged one is put beside it and told', async () => {
    const disk = await decided();
    write(disk, FIRST, 'by hand');
    const report = await recoverIn(disk, B);
    expect(report.conflicts).toEqual([{ path: FIRST, kept: expect.stringContaining('one.conflict-') }]);
    expect(report.completed.sort()).toEqual(TARGETS.slice(1).sort());
    const found = (path: string) => Buffer.from(disk.files().get(path) ?? '').toString();
    expect(found(FIRST)).toBe('by hand');
    expect(found(report.conflicts[0]?.kept ?? '')).toBe(contentOf(FIRST, 'new'));
    expect(tempsIn(disk)).toEqual([]);
  });

  it('who already did what was to be done is no conflict, and neither is a touched file', async () => {
    const disk = await decided();
    write(disk, FIRST, contentOf(FIRST, 'new') as string);
    write(disk, TARGETS[1] as string, contentOf(TARGETS[1] as string, 'old') as string);
    expect((await recoverIn(disk, A)).conflicts).toEqual([]);
    expect(versionIn(disk)).toBe('new');
  });

  it('who removed what was staged is told', async () => {
    const disk = await decided();
    const staged = readPointer(disk, A)?.files[0]?.staged as string;
    disk.unlink(`${A}/${staged}`);
    expect((await recoverIn(disk, A)).conflicts).toEqual([{ path: FIRST, kept: null }]);
  });

  it('who changes a file between staging and replacing it keeps it: HF_CONFLICT', async () => {
    const disk = newDisk();
    disk.inject = (call) => {
      if (call.name !== 'rename' || !call.to?.endsWith('.intent')) return undefined;
      disk.inject = undefined;
      write(disk, FIRST, 'by hand');
      return undefined;
    };
    const error = await replaceFiles(toolsFor(disk), files, emptyReport()).catch((fault: unknown) => fault);
    expect(error).toMatchObject({ code: 'HF_CONFLICT', details: [{ path: FIRST }] });
    expect(Buffer.from(disk.files().get(FIRST) ?? '').toString()).toBe('by hand');
    expect(tempsIn(disk)).toEqual([]);
  });

  it('who is at work there is waited for, and named when it takes too long', async () => {
    const disk = await decided();
    const liveness = { ...newLiveness(), judge: async () => ({ kind: 'alive' }) as const };
    const errand = { directory: A, report: emptyReport(), isUnrelated: () => false, takeover: false };
    await settle({ disk, liveness }, { ...errand, isCompatible: () => true });
    const busy = settle({ disk, liveness }, { ...errand, isCompatible: () => false });
    await expect(busy).rejects.toMatchObject({ code: 'HF_LOCKED', message: /Process 1 on host here/ });
    expect(versionIn(disk)).toBe('old');
  });

  it('who cannot be proven dead is taken over only when told to', async () => {
    const disk = await decided();
    const liveness = { ...newLiveness(), judge: async () => ({ kind: 'unprovable', why: 'far away' }) as const };
    const errand = { directory: A, report: emptyReport(), isCompatible: () => false, isUnrelated: () => false };
    const refused = settle({ disk, liveness }, { ...errand, takeover: false });
    await expect(refused).rejects.toMatchObject({ code: 'HF_LOCKED', message: /far away.*takeover: true/s });
    await settle({ disk, liveness }, { ...errand, takeover: true });
    expect(versionIn(disk)).toBe('new');
  });

  it('who ends it between our look at it and our look at its owner leaves nothing to do', async () => {
    for (const removesHome of [false, true]) {
      const disk = await decided();
      const liveness = newLiveness();
      const judge: typeof liveness.judge = async (home) => {
        await recoverIn(disk, A);
        const { entry } = disk;
        // Its parent directory went with it.
        if (removesHome) disk.entry = (path) => (path === home ? null : entry.call(disk, path));
        return { kind: 'dead' };
      };
      const report = emptyReport();
      await settle(
        { disk, liveness: { ...liveness, judge } },
        { directory: A, report, isCompatible: () => false, isUnrelated: () => false, takeover: false },
      );
      expect(report).toEqual(emptyReport());
      expect(versionIn(disk)).toBe('new');
      expect(tempsIn(disk)).toEqual([]);
    }
  });

  it('of another user has to recover it', async () => {
    const disk = await decided();
    disk.ownerOf = () => ({ uid: 4242, gid: 0 });
    await expect(recoverIn(disk, A)).rejects.toMatchObject({ code: 'HF_LOCKED', message: /user 4242/ });
    expect(versionIn(disk)).toBe('old');
  });

  it('who edits a new file in place before recovery has ended is no conflict', async () => {
    const rename = (await steps()).find(({ name, to }) => name === 'rename' && to === FIRST)?.step ?? 0;
    const disk = asFileDisk((await runUntil(writeAll, { steps: rename })).disk.afterKill());
    const handle = disk.open(FIRST, 'write');
    disk.write(handle, Buffer.from('edited'), 0, 6, 0);
    expect((await recoverIn(disk, A)).conflicts).toEqual([]);
    expect(Buffer.from(disk.files().get(FIRST) ?? '').toString()).toMatch(/^edited/);
  });

  /** The pointer of another one who is at work in this directory now. */
  async function otherAtWork(
    disk: TestDisk,
    liveness: ReturnType<typeof newLiveness>,
    directory: string,
  ): Promise<string> {
    const { record } = await liveness.announce(directory);
    const id = 'f'.repeat(16);
    if (disk.entry(pointerPath(directory)) !== null) disk.unlink(pointerPath(directory));
    disk.rename(
      writeRecord(disk, directory, pointerFor(directory, directory, id, record, [`${directory}/x`]), 0o644),
      pointerPath(directory),
    );
    return id;
  }

  it('who has come to one of the directories since is not disturbed', async () => {
    const disk = await decided();
    const liveness = newLiveness();
    const id = await otherAtWork(disk, liveness, B);
    await settle(
      { disk, liveness },
      { directory: A, report: emptyReport(), isCompatible: () => true, isUnrelated: () => false, takeover: false },
    );
    expect(versionIn(disk)).toBe('new');
    expect(readPointer(disk, B)?.id).toBe(id);
  });

  it('who has recovered it and begun something new, while we were on our way, is not disturbed', async () => {
    const disk = await decided();
    const liveness = newLiveness();
    const { announce } = liveness;
    let id = '';
    liveness.announce = async (directory) => {
      liveness.announce = announce;
      await recoverIn(disk, A);
      id = await otherAtWork(disk, liveness, A);
      return announce(directory);
    };
    const report = emptyReport();
    await settle(
      { disk, liveness },
      { directory: A, report, isCompatible: () => true, isUnrelated: () => false, takeover: false },
    );
    expect(readPointer(disk, A)?.id).toBe(id);
    expect(report).toEqual(emptyReport());
  });

  it('who recovers at the same time is left to it', async () => {
    const disk = await decided();
    const liveness = newLiveness();
    const one = settle(
      { disk, liveness },
      { directory: A, report: emptyReport(), isCompatible: () => false, isUnrelated: () => false, takeover: false },
    );
    const report = emptyReport();
    const two = settle(
      { disk, liveness },
      { directory: B, report, isCompatible: () => false, isUnrelated: () => false, takeover: false },
    );
    await Promise.all([one, two]);
    expect(versionIn(disk)).toBe('new');
    expect(tempsIn(disk)).toEqual([]);
  });
});

describe('what was left and cannot be understood', () => {
  async function left(edit: (files: Map<string, Uint8Array>) => void): Promise<TestDisk> {
    const { disk } = await runUntil(writeAll, { steps: 20 });
    const found = disk.files();
    edit(found);
    return asFileDisk(RecordingDisk.fromFiles(found));
  }

  it('is refused, and nothing is touched', async () => {
    const damaged = await left((found) => found.set(`${A}/.holdfast-files`, Buffer.from('{}\nx\n')));
    await expect(recoverIn(damaged, A)).rejects.toMatchObject({ code: 'HF_DAMAGED' });
    expect(versionIn(damaged)).toBe('old');
  });

  it('is refused when the directory of the decision is gone', async () => {
    const homeless = await left((found) => {
      for (const path of [...found.keys()]) if (path.startsWith(`${A}/`)) found.delete(path);
    });
    await expect(recoverIn(homeless, B)).rejects.toMatchObject({ code: 'HF_DAMAGED', message: /Put \/work\/a back/ });
  });
});

describe('a rename on Windows', () => {
  const busy = () => diskError('EPERM', 'rename');

  it('is tried again while a scanner has the file open, for a limited time', () => {
    let tries = 0;
    const waits: number[] = [];
    const failing = (times: number) => () => {
      if (++tries <= times) throw busy();
    };
    patiently(failing(3), 'win32', (ms) => waits.push(ms));
    expect([tries, waits]).toEqual([4, [1, 5, 10]]);
    tries = 0;
    expect(() => patiently(failing(100), 'win32', () => undefined)).toThrow('EPERM');
    expect(tries).toBe(10);
    tries = 0;
    expect(() => patiently(failing(1), 'linux', () => undefined)).toThrow('EPERM');
    expect(tries).toBe(1);
  });
});
