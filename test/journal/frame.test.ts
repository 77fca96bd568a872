import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeFileHeader, encodeFileHeader } from '../../src/journal/file-header.js';
import { decodeFrame, encodeFrame, type FrameHeader, frameCrc } from '../../src/journal/frame.js';
import { CODEC_JSON, FILE_TAIL, KIND_COMMIT } from '../../src/journal/layout.js';

const header: FrameHeader = {
  kind: KIND_COMMIT,
  codec: CODEC_JSON,
  seq: 0x0102030405,
  timeMs: 1_700_000_000_000,
  prevCrc: 0xdeadbeef,
  durableSeq: 7,
  documents: [{ name: 'ü', from: 1, version: 2 }],
};

describe('a frame', () => {
  it('has the bytes that docs/format.md gives', () => {
    const bytes = encodeFrame(header, Buffer.from('[[]]'));
    expect(
      bytes
        .toString('hex')
        .match(/.{1,8}/g)
        ?.join(' '),
    ).toBe(
      'ff4846fe 54000000 14000000 01020100 05040302 01000000 0068e5cf 8b010000 efbeadde 07000000 00000000 01000000 ' +
        'ece9ac85 0200c3bc 01000000 00000000 02000000 00000000 fd69446d 5b5b5d5d da18e0eb',
    );
  });

  it('of form 0 is read like any other', () => {
    const bytes = Buffer.from(
      'ff4846fe54000000140000000102000005040302010000000068e5cf8b010000efbeadde070000000000000001000000' +
        'dab82ea10200c3bc01000000000000000200000000000000fd69446d5b5b5d5dcb980803',
      'hex',
    );
    expect(decodeFrame(bytes)).toMatchObject({ kind: 'frame', frame: { header, crc: 0x030898cb } });
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const copy = Buffer.from(bytes);
      copy[bit >> 3] = (copy[bit >> 3] as number) ^ (1 << (bit & 7));
      expect(decodeFrame(copy).kind).not.toBe('frame');
    }
  });

  it('comes back as it was, whatever it holds', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 20 });
    const document = fc.record({ name: text, from: fc.maxSafeNat(), version: fc.maxSafeNat() });
    const given = fc.record({
      kind: fc.nat(255),
      codec: fc.nat(255),
      seq: fc.maxSafeNat(),
      timeMs: fc.maxSafeNat(),
      prevCrc: fc.nat(0xffffffff),
      durableSeq: fc.maxSafeNat(),
      documents: fc.array(document, { maxLength: 5 }),
    });
    fc.assert(
      fc.property(
        given,
        fc.uint8Array({ maxLength: 200 }),
        fc.uint8Array({ maxLength: 20 }),
        (frame, payload, more) => {
          const bytes = encodeFrame(frame, payload);
          const decoded = decodeFrame(Buffer.concat([bytes, more]));
          if (decoded.kind !== 'frame') throw new Error(decoded.kind);
          expect(decoded.frame.header).toEqual(frame);
          expect(Buffer.from(decoded.frame.payload).equals(payload)).toBe(true);
          expect(decoded.frame.bytes.equals(bytes)).toBe(true);
        },
      ),
      { seed: 1 },
    );
  });

  it('ends with a checksum that nothing in it could change without', () => {
    const payload = Buffer.from('[[]]');
    const crc = frameCrc(encodeFrame(header, payload));
    const others: FrameHeader[] = [
      { ...header, seq: 8 },
      { ...header, prevCrc: 0 },
      { ...header, documents: [{ name: 'u', from: 1, version: 2 }] },
      { ...header, documents: [{ name: 'ü', from: 2, version: 3 }] },
    ];
    for (const other of others) expect(frameCrc(encodeFrame(other, payload))).not.toBe(crc);
    expect(frameCrc(encodeFrame(header, Buffer.from('[{}]')))).not.toBe(crc);
  });

  it('is not whole with any bit changed, nor when its parts come from two frames', () => {
    const bytes = encodeFrame(header, Buffer.from('[[]]'));
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const copy = Buffer.from(bytes);
      copy[bit >> 3] = (copy[bit >> 3] as number) ^ (1 << (bit & 7));
      expect(decodeFrame(copy).kind).not.toBe('frame');
    }
    const other = encodeFrame({ ...header, seq: 8 }, Buffer.from('[{}]'));
    for (const at of [52, 76, 80]) {
      const spliced = Buffer.concat([bytes.subarray(0, at), other.subarray(at)]);
      expect(decodeFrame(spliced)).toMatchObject({ kind: 'rotten', header: { seq: header.seq } });
    }
  });

  it('says how far it can be trusted', () => {
    const bytes = encodeFrame(header, Buffer.from('[[]]'));
    const flip = (at: number) => {
      const copy = Buffer.from(bytes);
      copy[at] = (copy[at] as number) ^ 1;
      return decodeFrame(copy);
    };
    expect(flip(20)).toEqual({ kind: 'none' });
    expect(flip(55)).toMatchObject({ kind: 'rotten', header: { seq: header.seq, documents: [] } });
    expect(flip(79)).toMatchObject({ kind: 'rotten', header: { documents: header.documents }, length: bytes.length });
    expect(decodeFrame(bytes.subarray(0, 70))).toMatchObject({ kind: 'longer', length: bytes.length });
    expect(decodeFrame(bytes.subarray(0, 40))).toEqual({ kind: 'none' });
  });
});

describe('a file header', () => {
  it('comes back as it was, and not at all with any bit changed', () => {
    const given = {
      kind: FILE_TAIL,
      storeId: Buffer.alloc(16, 3),
      owner: 1,
      number: 2 ** 40,
      firstSeq: 3,
      prevSeq: 4,
      prevCrc: 5,
      pinned: 6,
    };
    const bytes = encodeFileHeader(given);
    expect(decodeFileHeader(bytes, 'x')).toEqual(given);
    for (let bit = 0; bit < 640; bit++) {
      const copy = Buffer.from(bytes);
      copy[bit >> 3] = (copy[bit >> 3] as number) ^ (1 << (bit & 7));
      expect(decodeFileHeader(copy, 'x')).toBeNull();
    }
  });
});
