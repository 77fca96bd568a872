import { describe, expect, it } from 'vitest';
import { encodeFrame } from '../../src/journal/frame.js';
import { Places } from '../../src/journal/places.js';
import {
  durableWitness,
  type Edition,
  encodeEdition,
  encodeRemoval,
  isOurs,
  readRecord,
  recordPath,
} from '../../src/projection/record.js';
import { type Critical, RecordWriter } from '../../src/projection/record-writer.js';
import { edited, worstCase } from '../crash/surgery.js';
import { type Call, faultOf, type RecordingDisk } from '../support/recording-disk.js';
import { emptyStore, ID, put, STORE } from './support.js';

const places = new Places(STORE);
const PATH = recordPath(places);
const alone: Critical = (fn) => fn();

function edition(name: string, n: number, over: string | null = null): Edition {
  const sha256 = String(n).padStart(64, '0');
  return { name, version: n, seq: n * 10, durableSeq: n * 10 + 5, sha256, size: n, over, older: [] };
}

const read = (disk: RecordingDisk) => readRecord(disk, places, ID);

describe('the record', () => {
  it('gives the newest edition of each document after a power cut', () => {
    const disk = emptyStore();
    const writer = new RecordWriter(disk, places, ID);
    for (const n of [1, 2, 3]) {
      writer.append(edition('loop', n), alone);
      writer.append(edition('a/b', n), alone);
    }
    const { editions, durableSeq } = read(worstCase(disk));
    expect([...editions.values()]).toEqual([edition('loop', 3), edition('a/b', 3)]);
    expect(durableSeq).toBe(35);
    expect(durableWitness(worstCase(disk), places)).toBe(35);
    writer.close();
    writer.close();
  });

  it('is empty where there is none', () => {
    const disk = emptyStore();
    expect(read(disk)).toEqual({ editions: new Map(), durableSeq: 0 });
    expect(durableWitness(disk, places)).toBe(0);
  });

  it('takes the pending edition and the one it replaces for ours, and after settling only the first', () => {
    const disk = emptyStore();
    const writer = new RecordWriter(disk, places, ID);
    writer.append(edition('loop', 2, edition('loop', 1).sha256), alone);
    const ours = (n: number) => isOurs(read(disk).editions.get('loop'), edition('loop', n).sha256);
    expect([1, 2, 3].map(ours)).toEqual([true, true, false]);
    writer.settle('loop', 3, alone);
    expect([1, 2, 3].map(ours)).toEqual([false, true, false]);
    expect(writer.get('loop')?.older).toEqual([edition('loop', 1).sha256]);
    const { steps } = disk;
    writer.settle('loop', 3, alone);
    writer.settle('unknown', 3, alone);
    writer.forget('unknown', alone);
    expect(disk.steps).toBe(steps);
    expect(isOurs(undefined, 'x')).toBe(false);
  });

  it('forgets a removed document', () => {
    const disk = emptyStore();
    const writer = new RecordWriter(disk, places, ID);
    writer.append(edition('loop', 1), alone);
    writer.append(edition('side', 1), alone);
    writer.forget('loop', alone);
    expect([...read(disk).editions.keys()]).toEqual(['side']);
    expect([...writer.editions.keys()]).toEqual(['side']);
  });

  it('reads every whole entry of a file with a torn end, and cuts the end with the next one', () => {
    const whole = Buffer.concat([1, 2].map((n) => encodeEdition(ID, edition('loop', n))));
    const first = encodeEdition(ID, edition('loop', 1)).length;
    for (let size = first; size < whole.length; size += 7) {
      const disk = emptyStore();
      put(disk, PATH, whole.subarray(0, size));
      expect(read(disk).editions.get('loop')?.version).toBe(1);
      new RecordWriter(disk, places, ID).append(edition('side', 1), alone);
      expect([...read(disk).editions.values()]).toEqual([edition('loop', 1), edition('side', 1)]);
      expect(disk.files().get(PATH)?.length).toBeLessThan(whole.length * 2);
    }
  });

  it('passes over a rotten spot and reads what follows', () => {
    const parts = ['loop', 'side', 'last'].map((name) => encodeEdition(ID, edition(name, 4)));
    const middle = parts[0]?.length ?? 0;
    for (let at = middle; at < middle + (parts[1]?.length ?? 0); at++) {
      const disk = emptyStore();
      const bytes = Buffer.concat(parts);
      bytes[at] = (bytes[at] as number) ^ 0x10;
      put(disk, PATH, bytes);
      expect([...read(disk).editions.keys()]).toEqual(['loop', 'last']);
    }
  });

  it('says nothing for another store', () => {
    const disk = emptyStore();
    put(disk, PATH, encodeEdition(Buffer.alloc(16, 9), edition('loop', 1)));
    expect(read(disk)).toEqual({ editions: new Map(), durableSeq: 0 });
    expect(durableWitness(disk, places, ID)).toBe(0);
    expect(durableWitness(disk, places, Buffer.alloc(16, 9))).toBe(15);
  });

  it('refuses what only a later version can have written', () => {
    const header = { kind: 5, codec: 2, seq: 1, timeMs: 0, prevCrc: 0, durableSeq: 1, documents: [] };
    const later = [
      encodeFrame({ ...header, kind: 6 }, Buffer.from('[]')),
      encodeFrame({ ...header, codec: 1 }, Buffer.from('[]')),
      encodeFrame(header, Buffer.from('[1,2]')),
      encodeFrame(header, Buffer.from('no JSON')),
    ];
    for (const bytes of later) {
      const disk = emptyStore();
      put(disk, PATH, bytes);
      expect(() => read(disk)).toThrow(expect.objectContaining({ code: 'HF_VERSION' }));
    }
  });

  it('does not grow beyond what its live entries need, and keeps its witness', () => {
    const disk = emptyStore();
    const writer = new RecordWriter(disk, places, ID);
    let largest = 0;
    for (let n = 1; n <= 1000; n++) {
      writer.append(edition('loop', n), alone);
      largest = Math.max(largest, disk.files().get(PATH)?.length ?? 0);
    }
    expect(largest).toBeLessThan(70_000);
    expect(read(worstCase(disk)).editions.get('loop')).toEqual(edition('loop', 1000));
    writer.forget('loop', alone);
    writer.close();
    const next = new RecordWriter(disk, places, ID);
    next.append(edition('side', 1), alone);
    expect(durableWitness(disk, places)).toBe(10_005);
    expect([...read(disk).editions.keys()]).toEqual(['side']);
  });

  it('rewrites itself only with nobody else publishing', () => {
    const disk = emptyStore();
    const inside: string[] = [];
    const critical: Critical = (fn) => {
      const { steps } = disk;
      const result = fn();
      inside.push(...disk.calls.slice(steps).map(({ name }) => name));
      return result;
    };
    const writer = new RecordWriter(disk, places, ID);
    writer.append(edition('loop', 1), critical);
    expect(inside).toContain('rename');
    inside.length = 0;
    writer.append(edition('loop', 2), critical);
    expect(inside).toEqual([]);
  });

  it('of a thread that was given up on cannot spoil the one of its successor', () => {
    const disk = emptyStore();
    const zombie = new RecordWriter(disk, places, ID);
    zombie.append(edition('loop', 1), alone);
    const successor = new RecordWriter(disk, places, ID);
    successor.append(edition('loop', 2), alone);
    zombie.append(edition('loop', 3), alone);
    expect(read(disk).editions.get('loop')).toEqual(edition('loop', 2));
  });

  it('encodes a removal as an entry without content', () => {
    const disk = emptyStore();
    put(disk, PATH, Buffer.concat([encodeEdition(ID, edition('loop', 1)), encodeRemoval(ID, 'loop', 15)]));
    expect(read(disk).editions.size).toBe(0);
  });
});

describe('when the disk says no', () => {
  const isRecordCall = (name: string) => (call: Call) => call.name === name && call.path.includes('projections');

  function failOnce(disk: RecordingDisk, matches: (call: Call) => boolean, code: string): void {
    let left = 1;
    disk.inject = (call) => (matches(call) && left-- > 0 ? faultOf(code, call) : undefined);
  }

  for (const name of ['write', 'syncData']) {
    it(`${name}: the entry is not counted, and the next one goes to a new file`, () => {
      const disk = emptyStore();
      const writer = new RecordWriter(disk, places, ID);
      writer.append(edition('loop', 1), alone);
      failOnce(disk, isRecordCall(name), 'EIO');
      expect(() => writer.append(edition('loop', 2), alone)).toThrow(expect.objectContaining({ code: 'HF_IO' }));
      expect(writer.get('loop')).toEqual(edition('loop', 1));
      disk.inject = undefined;
      const before = disk.steps;
      writer.append(edition('side', 1), alone);
      expect(disk.calls.slice(before).map((call) => call.name)).toContain('rename');
      expect([...read(worstCase(disk)).editions.values()]).toEqual([edition('loop', 1), edition('side', 1)]);
    });
  }

  it('at the first entry: nothing is known of the document', () => {
    const disk = emptyStore();
    const writer = new RecordWriter(disk, places, ID);
    failOnce(disk, isRecordCall('rename'), 'ENOSPC');
    expect(() => writer.append(edition('loop', 1), alone)).toThrow(expect.objectContaining({ code: 'HF_DISK_FULL' }));
    expect(writer.get('loop')).toBeUndefined();
  });

  it('to what need not be said at once: it is said with the next entry', () => {
    const disk = emptyStore();
    const writer = new RecordWriter(disk, places, ID);
    writer.append(edition('loop', 2, edition('loop', 1).sha256), alone);
    failOnce(disk, isRecordCall('write'), 'ENOSPC');
    writer.settle('loop', 0, alone);
    expect(read(disk).editions.get('loop')?.over).toBe(edition('loop', 1).sha256);
    writer.append(edition('side', 1), alone);
    expect(read(disk).editions.get('loop')?.over).toBeNull();
  });

  it('a file that does not read back is not used', () => {
    const disk = emptyStore();
    const writer = new RecordWriter(disk, places, ID);
    let reads = 0;
    const { read: realRead } = disk;
    disk.read = (handle, into, offset, length, position) => {
      const count = realRead.call(disk, handle, into, offset, length, position);
      if (reads++ === 0) into[offset] = 0;
      return count;
    };
    expect(() => writer.append(edition('loop', 1), alone)).toThrow(/does not read back/);
    writer.append(edition('loop', 1), alone);
    expect(read(disk).editions.size).toBe(1);
  });

  it('a mistake of ours passes through', () => {
    const disk = emptyStore();
    const writer = new RecordWriter(disk, places, ID);
    writer.append(edition('loop', 2, 'x'), alone);
    disk.inject = (call) => (call.name === 'write' ? new TypeError('a mistake') : undefined);
    expect(() => writer.settle('loop', 1, alone)).toThrow(TypeError);
  });
});

it('a damaged record makes drift detection stricter: edited copies show the loss', () => {
  const disk = emptyStore();
  new RecordWriter(disk, places, ID).append(edition('loop', 1), alone);
  const rotten = edited(disk, { [PATH]: (bytes) => bytes.fill(0x55) });
  expect(read(rotten).editions.size).toBe(0);
});
