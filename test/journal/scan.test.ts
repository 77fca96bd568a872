import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeFrame } from '../../src/journal/frame.js';
import { FrameStream } from '../../src/journal/frame-stream.js';
import { CODEC_NONE, FILE_HEADER_BYTES, FRAME_MAGIC, KIND_COMMIT } from '../../src/journal/layout.js';
import { scan, scanInPlace } from '../../src/journal/scan.js';
import { scanBack } from '../../src/journal/scan-back.js';
import { MapDisk } from '../support/map-disk.js';

const frame = (seq: number, payloadBytes: number) =>
  encodeFrame(
    { kind: KIND_COMMIT, codec: CODEC_NONE, seq, timeMs: 0, prevCrc: 0, durableSeq: 0, documents: [] },
    Buffer.alloc(payloadBytes, 1),
  );

describe.each([
  ['kept', scan],
  ['in place', scanInPlace],
])('reading frames that are %s', (_, find) => {
  function read(bytes: Buffer): string[] {
    const disk = new MapDisk(new Map([['/f', bytes]]));
    const found: string[] = [];
    for (const one of find(disk, disk.open('/f'), 0)) {
      if (one.kind === 'bad') found.push(`bad ${one.offset}+${one.length}`);
      else {
        found.push(`${one.frame.header.seq}`);
        // Also where its bytes moved to the beginning of the window, or the window grew for it.
        expect(one.frame.bytes.equals(bytes.subarray(one.offset, one.offset + one.frame.bytes.length))).toBe(true);
      }
    }
    return found;
  }

  it('finds its feet again after something unreadable', () => {
    const first = frame(1, 10);
    expect(read(Buffer.concat([first, Buffer.from('garbage'), frame(2, 10)]))).toEqual([
      '1',
      `bad ${first.length}+7`,
      '2',
    ]);
  });

  it('skips a rotten frame by its own length, so that nothing inside it passes for a frame', () => {
    const inner = frame(9, 10);
    const outer = encodeFrame(
      { kind: KIND_COMMIT, codec: CODEC_NONE, seq: 1, timeMs: 0, prevCrc: 0, durableSeq: 0, documents: [] },
      inner,
    );
    outer[outer.length - 1] = (outer.at(-1) as number) ^ 1;
    expect(read(Buffer.concat([outer, frame(2, 10)]))).toEqual([`bad 0+${outer.length}`, '2']);
  });

  it('says nothing about zeros', () => {
    expect(read(Buffer.concat([frame(1, 10), Buffer.alloc(300_000)]))).toEqual(['1']);
    expect(read(Buffer.alloc(70_000))).toEqual([]);
  });

  it('goes through windows: frames and gaps of any size, wherever they fall', () => {
    const big = 9 * 1024 * 1024;
    const parts = [
      frame(1, 100),
      frame(2, big),
      Buffer.alloc(big, 7),
      frame(3, 70_000),
      frame(4, 10),
      Buffer.alloc(5, 7),
    ];
    expect(read(Buffer.concat(parts))).toEqual([
      '1',
      '2',
      expect.stringMatching(/^bad \d+\+9437184$/),
      '3',
      '4',
      expect.stringMatching(/^bad \d+\+5$/),
    ]);
  });

  it('finds a frame that begins on either side of the end of a view', () => {
    for (let gap = 65_530; gap <= 65_540; gap++)
      expect(read(Buffer.concat([Buffer.alloc(gap, 7), frame(1, 1)]))).toEqual([`bad 0+${gap}`, '1']);
  });

  it('takes what only begins like a frame for no place to go on, whatever length it gives', () => {
    const first = frame(1, 10);
    const false60K = Buffer.from([...FRAME_MAGIC, 0x00, 0xf0, 0x00, 0x00]);
    const spot = Buffer.alloc(200_000, false60K);
    expect(read(Buffer.concat([first, spot, frame(2, 10)]))).toEqual(['1', `bad ${first.length}+200000`, '2']);
  });

  it('does not ask for memory that a length beyond the file would need', () => {
    const bytes = frame(1, 100);
    expect(read(bytes.subarray(0, 100))).toEqual(['bad 0+100']);
  });
});

describe('a frame that was found', () => {
  const bytes = Buffer.concat(Array.from({ length: 20 }, (_, n) => frame(n, 1024 * 1024)));
  const found = (find: typeof scan) => {
    const disk = new MapDisk(new Map([['/f', bytes]]));
    return [...find(disk, disk.open('/f'), 0)].map((one) => (one.kind === 'frame' ? one.frame : undefined));
  };

  it('stays as it is', () => {
    found(scan).forEach((one, n) => {
      expect(one?.bytes.equals(frame(n, 1024 * 1024))).toBe(true);
    });
  });

  it('gives its room to the next ones when it was read in place', () => {
    const buffers = new Set(found(scanInPlace).map((one) => one?.bytes.buffer));
    expect(buffers.size).toBe(1);
  });
});

describe('one file read in three ways', () => {
  const size = fc.integer({ min: 0, max: 300 });
  const part = fc.oneof(
    { weight: 4, arbitrary: size.map((bytes) => frame(1, bytes)) },
    fc.tuple(size, fc.nat(300)).map(([bytes, at]) => {
      const rotten = frame(2, bytes);
      rotten[60 + (at % (rotten.length - 60))] = 0xa5;
      return rotten;
    }),
    size.map((bytes) => frame(3, bytes).subarray(0, 30)),
    size.map((bytes) => Buffer.alloc(bytes)),
    size.map((bytes) => Buffer.alloc(bytes, FRAME_MAGIC)),
    size.map((bytes) => Buffer.alloc(bytes, Buffer.from([...FRAME_MAGIC, 0x48, 0, 0, 0]))),
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  );

  it('has the same frames, whatever lies between them', () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 30 }), fc.integer({ min: 1, max: 900 }), (parts, windowBytes) => {
        const bytes = Buffer.concat([Buffer.alloc(FILE_HEADER_BYTES), ...parts]);
        const disk = new MapDisk(new Map([['/f', bytes]]));
        const handle = disk.open('/f');
        const whole = parts.filter((one) => one.length >= 60 && one.equals(frame(1, one.length - 60)));
        const forwards = [...scan(disk, handle, FILE_HEADER_BYTES, windowBytes)].filter(({ kind }) => kind === 'frame');
        const offsets = forwards.map(({ offset }) => offset);
        expect(offsets.length).toBeGreaterThanOrEqual(whole.length);
        const backwards = [...scanBack(disk, handle, windowBytes)].filter(({ kind }) => kind === 'frame');
        expect(backwards.map(({ offset }) => offset).reverse()).toEqual(offsets);
        const stream = new FrameStream(disk, handle, FILE_HEADER_BYTES);
        const streamed: number[] = [];
        for (let found = stream.step(); found !== 'end'; found = stream.step())
          if (found === 'frame') streamed.push(stream.offset);
        expect(streamed).toEqual(offsets);
      }),
      { seed: 1, numRuns: 300 },
    );
  });
});
