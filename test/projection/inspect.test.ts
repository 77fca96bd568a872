import { describe, expect, it } from 'vitest';
import { Places } from '../../src/journal/places.js';
import { importCandidate } from '../../src/projection/inspect.js';
import { readRecord, recordPath } from '../../src/projection/record.js';
import { serialize, sha256Of, wholeOf } from '../../src/projection/serialize.js';
import { judgeLive } from '../../src/projection/target.js';
import { faultOf, type RecordingDisk } from '../support/recording-disk.js';
import { emptyStore, ID, inspectAt, isObject, MAIN, newPress, publishVersion, put, STORE, version } from './support.js';

function store(count = 3): RecordingDisk {
  const disk = emptyStore();
  const press = newPress(disk);
  for (let n = 1; n <= count; n++) publishVersion(press, 'loop', n);
  return disk;
}

const kindOf = (disk: RecordingDisk, n: number, check = isObject) => inspectAt(disk, 'loop', version(n), check).kind;

describe('a file whose document truth knows', () => {
  it('is sound when it is what truth says, whoever wrote it', () => {
    expect(kindOf(store(), 3)).toBe('sound');
    const disk = emptyStore();
    put(disk, MAIN, wholeOf(version(3)));
    expect(kindOf(disk, 3)).toBe('sound');
  });

  it('is missing', () => {
    expect(kindOf(emptyStore(), 1)).toBe('missing');
    expect(inspectAt(emptyStore(), 'no/such/folder', version(1)).kind).toBe('missing');
  });

  it('is stale when it is ours and behind', () => {
    expect(inspectAt(store(), 'loop', version(4))).toEqual({ kind: 'stale', path: MAIN, sha256: version(3).sha256 });
  });

  it('is stale when it is the same data in another form: with other spaces, or a byte order mark', () => {
    for (const form of [JSON.stringify(JSON.parse(wholeOf(version(4)).toString())), `\ufeff${wholeOf(version(4))}`]) {
      const disk = store();
      put(disk, MAIN, form);
      expect(kindOf(disk, 4)).toBe('stale');
    }
  });

  it('is empty, or cannot be parsed', () => {
    for (const [content, kind] of [
      ['', 'empty'],
      ['{"version": 3, "out', 'unparseable'],
      ['\0\0\0', 'unparseable'],
      [' \n', 'unparseable'],
      [Buffer.from([0x7b, 0xff, 0x7d]), 'unparseable'],
    ] as const) {
      const disk = store();
      put(disk, MAIN, content);
      expect(kindOf(disk, 3)).toBe(kind);
    }
  });

  it('is refused when the schema refuses it', () => {
    const disk = store();
    put(disk, MAIN, '{"other": 1}');
    expect(kindOf(disk, 3, () => false)).toBe('refused');
    put(disk, MAIN, 'null');
    expect(kindOf(disk, 3)).toBe('refused');
  });

  it('has drifted when it parses, passes, and is not ours', () => {
    const disk = store();
    put(disk, MAIN, '{"mine": 1}');
    const bytes = Buffer.from('{"mine": 1}');
    expect(inspectAt(disk, 'loop', version(3))).toEqual({
      kind: 'drifted',
      path: MAIN,
      sha256: sha256Of(bytes),
      value: { mine: 1 },
    });
    // The version before, put back by hand: somebody wants it.
    put(disk, MAIN, wholeOf(version(2)));
    expect(kindOf(disk, 3)).toBe('drifted');
  });

  it('without a record, drift is seen where there is none, and never overlooked', () => {
    const disk = store();
    disk.unlink(recordPath(new Places(STORE)));
    expect(kindOf(disk, 3)).toBe('sound');
    expect(kindOf(disk, 4)).toBe('drifted');
  });

  it('is never taken for empty when it cannot be read', () => {
    const disk = store();
    disk.inject = (call) => (call.name === 'open' && call.path === MAIN ? faultOf('EACCES', call) : undefined);
    expect(() => kindOf(disk, 3)).toThrow(expect.objectContaining({ code: 'EACCES', path: MAIN }));
    disk.inject = undefined;
    disk.unlink(MAIN);
    disk.makeDirectory(MAIN);
    expect(() => kindOf(disk, 3)).toThrow(expect.objectContaining({ code: 'EISDIR', path: MAIN }));
    const { entry } = disk;
    disk.entry = (path) => ({ ...(entry.call(disk, path) ?? { size: 0, ino: 0, mtimeMs: 0, mode: 0 }), kind: 'other' });
    expect(() => kindOf(disk, 3)).toThrow(expect.objectContaining({ code: 'EINVAL', path: MAIN }));
  });
});

describe('a file whose document truth does not know', () => {
  const places = new Places(STORE);
  const candidate = (disk: RecordingDisk, check = isObject) => {
    const edition = readRecord(disk, places, ID).editions.get('loop');
    return importCandidate(disk, places, { name: 'loop', edition, check });
  };

  it('is absent', () => {
    expect(candidate(emptyStore())).toEqual({ kind: 'absent' });
  });

  it('is imported with its value, whatever the check says: that is for the caller to tell', () => {
    const disk = emptyStore();
    const text = serialize({ mine: 1 });
    put(disk, MAIN, wholeOf(text));
    const expected = { kind: 'value', path: MAIN, sha256: text.sha256, value: { mine: 1 } };
    expect(candidate(disk)).toEqual(expected);
    expect(candidate(disk, () => false)).toEqual(expected);
  });

  it('is left over from a removal when we published it', () => {
    expect(candidate(store())).toEqual({ kind: 'leftover', path: MAIN });
  });

  it('is empty or cut: the newest backup that parses and passes is offered', () => {
    for (const [content, kind] of [
      ['', 'empty'],
      ['{"a":', 'unparseable'],
    ]) {
      const disk = emptyStore();
      put(disk, MAIN, content as string);
      expect(candidate(disk)).toEqual({ kind, path: MAIN, backup: null });
      put(disk, `${MAIN}.bak1`, '{"cut');
      disk.makeDirectory(`${MAIN}.bak2`);
      put(disk, `${MAIN}.bak3`, '5');
      put(disk, `${MAIN}.bak4`, '{"n":4}');
      put(disk, `${MAIN}.bak5`, '{"n":5}');
      const backup = { path: `${MAIN}.bak4`, sha256: sha256Of(Buffer.from('{"n":4}')), value: { n: 4 } };
      expect(candidate(disk)).toEqual({ kind, path: MAIN, backup });
    }
  });
});

describe('a file that is judged while it is being published', () => {
  const newest = () => version(30);
  const editionOf = (disk: RecordingDisk) => readRecord(disk, new Places(STORE), ID).editions.get('loop');

  it('is ours when it came between the looks at the record and at the file', () => {
    const disk = store(2);
    const before = editionOf(disk);
    const press = newPress(disk);
    publishVersion(press, 'loop', 3);
    const edition = (isAgain: boolean) => (isAgain ? editionOf(disk) : before);
    expect(judgeLive(disk, MAIN, edition, newest)).toMatchObject({ kind: 'ours', sha256: version(3).sha256 });
    // Each look one behind.
    let n = 3;
    const lagging = () => {
      const found = editionOf(disk);
      publishVersion(press, 'loop', ++n);
      return found;
    };
    expect(judgeLive(disk, MAIN, lagging, newest).kind).toBe('ours');
    expect(n).toBeLessThan(12);
  });

  it("is somebody else's when the record says the same again", () => {
    const disk = store(2);
    put(disk, MAIN, '{"theirs": 1}');
    expect(judgeLive(disk, MAIN, () => editionOf(disk), newest)).toMatchObject({ value: { theirs: 1 } });
  });
});
