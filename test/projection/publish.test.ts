import { describe, expect, it } from 'vitest';
import { planShift } from '../../src/projection/backups.js';
import { isUpToDate } from '../../src/projection/press.js';
import { isPublished } from '../../src/projection/publish.js';
import { serialize, wholeOf } from '../../src/projection/serialize.js';
import { sweepBeside } from '../../src/projection/stage.js';
import { type Call, faultOf, type RecordingDisk } from '../support/recording-disk.js';
import {
  emptyStore,
  inspectAt,
  MAIN,
  newPress,
  publishVersion,
  put,
  STORE,
  version,
  versionAt,
  versionsOf,
} from './support.js';

const temps = (disk: RecordingDisk) => [...disk.files().keys()].filter((path) => /\/tmp\/|\.tmp$/.test(path));
const quarantined = (disk: RecordingDisk) =>
  [...disk.files()].filter(([path]) => path.includes('/quarantine/')).map(([, bytes]) => Buffer.from(bytes).toString());

function published(count: number, disk = emptyStore()) {
  const press = newPress(disk);
  for (let n = 1; n <= count; n++) publishVersion(press, 'loop', n);
  return { disk, press };
}

describe('what the record and the file say together', () => {
  const loop = { name: 'loop', version: 2, changedSeq: 2 };

  it('is enough when the record names this version, at a commit not before the one that changed it', () => {
    const { disk } = published(2);
    for (const [plan, expected] of [
      [loop, true],
      [{ ...loop, changedSeq: 1 }, true],
      [{ ...loop, changedSeq: 3 }, false],
      [{ ...loop, version: 1 }, false],
      [{ ...loop, version: 3 }, false],
      [{ ...loop, name: 'other' }, false],
    ] as const) {
      const press = newPress(disk);
      expect(isPublished(press, plan)).toBe(expected);
      expect(isUpToDate(press, plan.name, plan.changedSeq)).toBe(expected);
    }
  });

  it('is not enough when the file is gone, or another one of the same size, or may still be the one before', () => {
    const { disk } = published(2);
    const press = newPress(disk);
    disk.unlink(MAIN);
    expect(isPublished(press, loop)).toBe(false);
    put(disk, MAIN, Buffer.alloc(version(2).length, '7'));
    expect(isPublished(press, loop)).toBe(false);
    put(disk, MAIN, wholeOf(version(2)));
    expect(isPublished(press, loop)).toBe(true);

    const unsettled = published(1);
    failOnce(unsettled.disk, ({ name, path }) => name === 'syncDirectory' && path === STORE, 'EIO');
    expect(() => publishVersion(unsettled.press, 'loop', 2)).toThrow(/EIO|Publishing/);
    const next = newPress(unsettled.disk);
    expect(next.record.get('loop')).toMatchObject({ sha256: version(2).sha256, over: version(1).sha256 });
    expect(isPublished(next, loop)).toBe(false);
    expect(publishVersion(next, 'loop', 2)).toMatchObject({ kind: 'unchanged' });
    expect(isPublished(newPress(unsettled.disk), loop)).toBe(true);
  });
});

function failOnce(disk: RecordingDisk, matches: (call: Call) => boolean, code: string): void {
  let left = 1;
  disk.inject = (call) => (left > 0 && matches(call) && left-- > 0 ? faultOf(code, call) : undefined);
}

describe('publishing', () => {
  it('writes the file, and keeps the three versions before it', () => {
    const { disk, press } = published(1);
    expect(versionsOf(disk)).toEqual([1, null, null, null]);
    for (let n = 2; n <= 6; n++) {
      const outcome = publishVersion(press, 'loop', n);
      expect(outcome).toEqual({
        kind: 'published',
        bytes: version(n).length,
        sha256: version(n).sha256,
        kept: null,
      });
    }
    expect(versionsOf(disk)).toEqual([6, 5, 4, 3]);
    expect(temps(disk)).toEqual([]);
    expect(inspectAt(disk, 'loop', version(6))).toEqual({ kind: 'sound' });
  });

  it('keeps as many backups as asked for, also one and none', () => {
    for (const [backups, expected] of [
      [0, [4, null, null, null]],
      [1, [4, 3, null, null]],
      [2, [4, 3, 2, null]],
    ] as const) {
      const disk = emptyStore();
      const press = newPress(disk);
      for (let n = 1; n <= 4; n++) publishVersion(press, 'loop', n, { backups });
      expect(versionsOf(disk)).toEqual(expected);
    }
  });

  it('makes the folders of a name with slashes, and knows them the next time', () => {
    const disk = emptyStore();
    const press = newPress(disk);
    publishVersion(press, 'a/b/c', 1);
    const before = disk.steps;
    publishVersion(press, 'a/b/c', 2);
    const folders = disk.calls.slice(before).filter(({ name }) => name === 'syncDirectory');
    expect(folders.map(({ path }) => path)).toEqual([`${STORE}/a/b`]);
    expect(versionsOf(disk, `${STORE}/a/b/c.json`)).toEqual([2, 1, null, null]);
  });

  it('does not write the same content again, whoever asks', () => {
    const { disk, press } = published(2);
    const { steps } = disk;
    const unchanged = { kind: 'unchanged', sha256: version(2).sha256 };
    expect(publishVersion(press, 'loop', 2)).toEqual(unchanged);
    expect(disk.steps).toBe(steps);
    // A thread that knows nothing yet reads the file and the record.
    expect(publishVersion(newPress(disk), 'loop', 2)).toEqual(unchanged);
    expect(disk.steps).toBe(steps);
  });

  it('knows without reading that nothing changed, until somebody touches the file', () => {
    const { disk, press } = published(2);
    expect(isUpToDate(press, 'loop', 2)).toBe(true);
    expect(isUpToDate(press, 'loop', 3)).toBe(false);
    expect(isUpToDate(press, 'side', 2)).toBe(false);
    put(disk, MAIN, wholeOf(version(2)));
    expect(isUpToDate(press, 'loop', 2)).toBe(false);
    disk.unlink(MAIN);
    expect(isUpToDate(press, 'loop', 2)).toBe(false);
  });

  it('gives way to a newer version', () => {
    const { disk, press } = published(1);
    expect(publishVersion(press, 'loop', 2, { isNewest: () => false })).toEqual({ kind: 'superseded' });
    expect(versionsOf(disk)).toEqual([1, null, null, null]);
    expect(temps(disk)).toEqual([]);
    expect(inspectAt(disk, 'loop', version(2)).kind).toBe('stale');
  });

  it('does only short calls while it holds the lock', () => {
    const { disk, press } = published(3);
    const inside: string[] = [];
    press.critical = (fn) => {
      const { steps } = disk;
      const result = fn();
      inside.push(...disk.calls.slice(steps).map(({ name }) => name));
      return result;
    };
    publishVersion(press, 'loop', 4);
    expect(inside).toEqual(['rename', 'rename', 'link', 'rename', 'rename']);
  });
});

describe('a file that is not ours', () => {
  it('is not overwritten, found before or in the last moment', () => {
    for (const isLate of [false, true]) {
      const { disk, press } = published(2);
      const edit = () => put(disk, MAIN, '{"mine": true}');
      if (!isLate) edit();
      let isFirst = true;
      press.critical = (fn) => {
        if (isLate && isFirst) edit();
        isFirst = false;
        return fn();
      };
      const outcome = publishVersion(press, 'loop', 3);
      expect(outcome).toMatchObject({ kind: 'drift', path: MAIN });
      expect(Buffer.from(disk.files().get(MAIN) ?? '').toString()).toBe('{"mine": true}');
      expect(versionAt(disk, `${MAIN}.bak1`)).toBe(1);
      expect(inspectAt(disk, 'loop', version(3)).kind).toBe('drifted');
      expect(temps(disk)).toEqual([]);
    }
  });

  it('is a backup put back by hand, too', () => {
    const { disk, press } = published(3);
    put(disk, MAIN, wholeOf(version(2)));
    expect(publishVersion(press, 'loop', 4).kind).toBe('drift');
    expect(inspectAt(disk, 'loop', version(3)).kind).toBe('drifted');
  });

  it('is replaced by explicit choice, and kept', () => {
    const { disk, press } = published(2);
    put(disk, MAIN, '{"mine": true}');
    const outcome = publishVersion(press, 'loop', 3, { onDrift: 'replace' });
    expect(outcome).toMatchObject({ kind: 'published', kept: expect.stringContaining('quarantine') });
    expect(quarantined(disk)).toEqual(['{"mine": true}']);
    expect(versionsOf(disk)).toEqual([3, 1, null, null]);
  });

  it('is replaced when truth was taken from it, and becomes the first backup', () => {
    const { disk, press } = published(2);
    const theirs = serialize({ mine: true });
    put(disk, MAIN, wholeOf(theirs));
    expect(publishVersion(press, 'loop', 3, { adopts: theirs.sha256 }).kind).toBe('published');
    expect(Buffer.from(disk.files().get(`${MAIN}.bak1`) ?? '').equals(wholeOf(theirs))).toBe(true);
    expect(versionsOf(disk).slice(2)).toEqual([1, null]);
  });

  it('holds the same data in another form: it is written in ours, and kept as a backup', () => {
    const { disk, press } = published(2);
    const compact = JSON.stringify(JSON.parse(wholeOf(version(3)).toString()));
    put(disk, MAIN, compact);
    expect(publishVersion(press, 'loop', 3).kind).toBe('published');
    expect(Buffer.from(disk.files().get(`${MAIN}.bak1`) ?? '').toString()).toBe(compact);
  });

  it('happens to hold exactly what is to be written: it is left, and ours from now on', () => {
    for (const first of [0, 2]) {
      const { disk, press } = published(first);
      put(disk, MAIN, wholeOf(version(3)));
      expect(publishVersion(press, 'loop', 3).kind).toBe('unchanged');
      expect(inspectAt(disk, 'loop', version(4)).kind).toBe('stale');
      expect(publishVersion(press, 'loop', 4).kind).toBe('published');
      expect(versionsOf(disk).slice(0, 2)).toEqual([4, 3]);
    }
  });

  it('changes all the time: nothing is overwritten', () => {
    const { disk, press } = published(1);
    let turn = 0;
    press.critical = (fn) => {
      put(disk, MAIN, wholeOf(version(1)));
      turn++;
      return fn();
    };
    expect(publishVersion(press, 'loop', 2)).toEqual({ kind: 'drift', path: MAIN, sha256: null });
    expect(turn).toBe(5);
    expect(temps(disk)).toEqual([]);
  });
});

describe('a damaged or missing file', () => {
  it('is written again; what was there is kept, and no backup', () => {
    for (const content of ['', '{"version": 2, "outp', '\0\0\0\0']) {
      const { disk, press } = published(2);
      put(disk, MAIN, content);
      expect(publishVersion(press, 'loop', 3).kind).toBe('published');
      expect(versionsOf(disk)).toEqual([3, 1, null, null]);
      expect(quarantined(disk)).toEqual([content]);
    }
  });

  it('is written again with the same version', () => {
    const { disk, press } = published(2);
    disk.unlink(MAIN);
    expect(publishVersion(press, 'loop', 2).kind).toBe('published');
    expect(versionsOf(disk)).toEqual([2, 1, null, null]);
  });

  it('that is a folder is said to be one', () => {
    const disk = emptyStore();
    disk.makeDirectory(MAIN);
    expect(() => publishVersion(newPress(disk), 'loop', 1)).toThrow(/EISDIR.*loop\.json/);
  });
});

describe('backups', () => {
  it('move up only as far as the first gap', () => {
    expect(planShift([true, true, true])).toEqual([2, 1]);
    expect(planShift([true, true, false])).toEqual([2, 1]);
    expect(planShift([true, false, true])).toEqual([1]);
    expect(planShift([false, true, true])).toEqual([]);
    expect(planShift([true])).toEqual([]);
  });

  it('are not filled with one version by attempts that fail again and again', () => {
    const { disk, press } = published(3);
    for (let attempt = 0; attempt < 5; attempt++) {
      failOnce(disk, ({ name, to }) => name === 'rename' && to === MAIN, 'EIO');
      expect(() => publishVersion(press, 'loop', 4)).toThrow(expect.objectContaining({ code: 'HF_IO' }));
    }
    expect(versionsOf(disk)).toEqual([3, 3, 2, 1]);
    expect(temps(disk)).toEqual([]);
    disk.inject = undefined;
    expect(publishVersion(press, 'loop', 4).kind).toBe('published');
    expect(versionsOf(disk)).toEqual([4, 3, 2, 1]);
  });

  it('are not touched by a write that fails', () => {
    for (const name of ['write', 'sync', 'open'] as const) {
      const { disk, press } = published(3);
      failOnce(disk, (call) => call.name === name && call.path.includes('/tmp/'), 'ENOSPC');
      expect(() => publishVersion(press, 'loop', 4)).toThrow(expect.objectContaining({ code: 'HF_DISK_FULL' }));
      expect(versionsOf(disk)).toEqual([3, 2, 1, null]);
      expect(temps(disk)).toEqual([]);
    }
  });

  it('are copies where a file cannot have two names', () => {
    const disk = emptyStore();
    disk.inject = (call) => (call.name === 'link' ? faultOf('EPERM', call) : undefined);
    const { press } = published(6, disk);
    expect(versionsOf(disk)).toEqual([6, 5, 4, 3]);
    expect(disk.calls.filter(({ name }) => name === 'link')).toHaveLength(1);
    expect(temps(disk)).toEqual([]);
    failOnce(disk, ({ name, to }) => name === 'rename' && to === MAIN, 'EIO');
    expect(() => publishVersion(press, 'loop', 7)).toThrow();
    disk.inject = undefined;
    expect(publishVersion(press, 'loop', 7).kind).toBe('published');
    expect(versionsOf(disk)).toEqual([7, 6, 5, 4]);
  });

  it('are never made of a file that rotted where nobody looked', () => {
    const disk = emptyStore();
    disk.inject = (call) => (call.name === 'link' ? faultOf('EPERM', call) : undefined);
    const { press } = published(2, disk);
    // Same inode, size and time as we left it.
    put(disk, MAIN, Buffer.alloc(version(2).length));
    const entry = disk.entry(MAIN);
    const known = press.known.get('loop');
    if (known === undefined || entry === null) throw new Error('Nothing published');
    known.identity = entry;
    expect(publishVersion(press, 'loop', 3)).toMatchObject({ kind: 'published', kept: expect.any(String) });
    expect(versionsOf(disk)).toEqual([3, 1, null, null]);
  });

  it('fail with what the disk says when a name cannot be added for another reason', () => {
    const { disk, press } = published(2);
    disk.inject = (call) => (call.name === 'link' ? faultOf('EIO', call) : undefined);
    expect(() => publishVersion(press, 'loop', 3)).toThrow(/EIO/);
    expect(versionAt(disk, MAIN)).toBe(2);
  });
});

describe('what is written', () => {
  it('goes into the folder of the file when that is on another file system', () => {
    const { disk, press } = published(1);
    disk.inject = (call) =>
      call.name === 'rename' && call.path.includes('.holdfast/tmp/file') ? faultOf('EXDEV', call) : undefined;
    expect(publishVersion(press, 'loop', 2).kind).toBe('published');
    expect(versionsOf(disk)).toEqual([2, 1, null, null]);
    expect(temps(disk)).toEqual([]);
  });

  it('is read back before it is used', () => {
    const { disk, press } = published(1);
    const { read, size } = disk;
    disk.read = (handle, into, offset, length, position) => {
      const count = read.call(disk, handle, into, offset, length, position);
      into[offset + 20] = 0x7a;
      return count;
    };
    expect(() => publishVersion(press, 'loop', 2)).toThrow(/does not read back/);
    disk.read = read;
    disk.size = (handle) => size.call(disk, handle) - 1;
    expect(() => publishVersion(press, 'loop', 2)).toThrow(/bytes instead of/);
    disk.size = size;
    expect(versionsOf(disk)).toEqual([1, null, null, null]);
    expect(temps(disk)).toEqual([]);
  });

  it('survives short writes', () => {
    const disk = emptyStore();
    disk.inject = ({ name }) => (name === 'write' ? 'short' : undefined);
    published(2, disk);
    expect(versionsOf(disk)).toEqual([2, 1, null, null]);
  });

  it('keeps the mode of the file; where there are no modes that does not matter', () => {
    const { disk, press } = published(1);
    disk.setMode(disk.open(MAIN, 'write'), 0o640);
    publishVersion(press, 'loop', 2);
    expect(disk.entry(MAIN)?.mode).toBe(0o640);
    failOnce(disk, ({ name }) => name === 'setMode', 'EPERM');
    expect(publishVersion(press, 'loop', 3).kind).toBe('published');
    failOnce(disk, ({ name }) => name === 'setMode', 'EIO');
    expect(() => publishVersion(press, 'loop', 4)).toThrow(/EIO/);
  });

  it('leaves a temp only where the disk refuses even to remove it, and that goes at the next open', () => {
    const { disk, press } = published(1);
    disk.inject = (call) =>
      (call.name === 'rename' && call.path.includes('/tmp/file')) || call.name === 'unlink'
        ? faultOf('EIO', call)
        : undefined;
    expect(() => publishVersion(press, 'loop', 2)).toThrow(/EIO/);
    expect(temps(disk)).toHaveLength(1);
    disk.inject = (call) => (call.name === 'unlink' ? faultOf('EBUSY', call) : undefined);
    expect(() => publishVersion(press, 'loop', 2, { isNewest: () => false })).toThrow(/EBUSY/);
  });

  it('beside a file is swept by its name, where one may look', () => {
    const disk = emptyStore();
    put(disk, `${STORE}/.holdfast-0123456789abcdef.tmp`, 'x');
    put(disk, `${STORE}/.holdfast-mine.tmp`, 'x');
    sweepBeside(disk, [MAIN, `${STORE}/no/such.json`, `${STORE}/.holdfast-mine.tmp/x.json`]);
    expect(disk.list(STORE).sort()).toEqual(['.holdfast', '.holdfast-mine.tmp']);
    disk.inject = (call) => (call.name === 'list' ? faultOf('EIO', call) : undefined);
    expect(() => sweepBeside(disk, [MAIN])).toThrow(/EIO/);
  });

  it('meets a folder that somebody made in the same moment', () => {
    const disk = emptyStore();
    const entry = disk.entry.bind(disk);
    disk.entry = (path) => {
      if (path === `${STORE}/a` && entry(path) === null) {
        disk.makeDirectory(path);
        return null;
      }
      return entry(path);
    };
    expect(publishVersion(newPress(disk), 'a/b', 1).kind).toBe('published');
    disk.entry = entry;
    disk.inject = (call) => (call.name === 'makeDirectory' ? faultOf('EACCES', call) : undefined);
    expect(() => publishVersion(newPress(disk), 'c/d', 1)).toThrow(/EACCES/);
  });
});
