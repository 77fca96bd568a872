import { describe, expect, it } from 'vitest';
import { encodeFrame } from '../../src/journal/frame.js';
import { CODEC_NONE, KIND_COMMIT } from '../../src/journal/layout.js';
import { scan } from '../../src/journal/scan.js';
import { MapDisk } from '../support/map-disk.js';

const frame = (seq: number, payloadBytes: number) =>
  encodeFrame(
    { kind: KIND_COMMIT, codec: CODEC_NONE, seq, timeMs: 0, prevCrc: 0, durableSeq: 0, documents: [] },
    Buffer.alloc(payloadBytes, 1),
  );

function read(bytes: Buffer): string[] {
  const disk = new MapDisk(new Map([['/f', bytes]]));
  return [...scan(disk, disk.open('/f'), 0)].map((found) =>
    found.kind === 'frame' ? `${found.frame.header.seq}` : `bad ${found.offset}+${found.length}`,
  );
}

describe('reading frames', () => {
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

  it('does not ask for memory that a length beyond the file would need', () => {
    const bytes = frame(1, 100);
    expect(read(bytes.subarray(0, 100))).toEqual(['bad 0+100']);
  });
});
