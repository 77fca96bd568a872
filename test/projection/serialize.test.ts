import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Container } from '../../src/change/plain.js';
import { isWrittenAs, parse, serialize, sha256Of } from '../../src/projection/serialize.js';

describe('serialize', () => {
  it('writes what JSON.stringify writes, with a line end', () => {
    expect(serialize({ a: [1, { b: null }], c: 'd' }).bytes.toString()).toBe(
      '{\n  "a": [\n    1,\n    {\n      "b": null\n    }\n  ],\n  "c": "d"\n}\n',
    );
    expect(serialize([]).bytes.toString()).toBe('[]\n');
  });

  it('takes __proto__, constructor and toJSON for keys like any other', () => {
    const text = '{"__proto__":{"x":1},"constructor":"c","toJSON":"t","prototype":{}}';
    const state = JSON.parse(text);
    expect(JSON.stringify(JSON.parse(serialize(state).bytes.toString()))).toBe(text);
  });

  it('is read back as the same value, byte for byte, whatever is in it', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        const text = serialize([value] as Container);
        expect(text.bytes.toString()).toBe(`${JSON.stringify([value], null, 2)}\n`);
        expect(text.sha256).toBe(sha256Of(text.bytes));
        const parsed = parse(text.bytes);
        if (parsed.kind !== 'value') throw new Error(parsed.reason);
        expect(isWrittenAs(parsed.value, text)).toBe(true);
      }),
    );
  });

  it('keeps lone surrogates', () => {
    const text = serialize({ half: '\ud83d' });
    expect(text.bytes.toString()).toContain('\\ud83d');
    expect(parse(text.bytes)).toEqual({ kind: 'value', value: { half: '\ud83d' } });
  });

  it('says so when a document is too large for one file', () => {
    const big = 'x'.repeat(2 ** 28);
    expect(() => serialize([big, big, big])).toThrow(expect.objectContaining({ code: 'HF_VALUE' }));
  });

  it('does not hide mistakes', () => {
    expect(() => serialize([1n] as unknown as Container)).toThrow(TypeError);
    expect(() => isWrittenAs(1n, serialize({}))).toThrow(TypeError);
  });
});

describe('parse', () => {
  it('drops a byte order mark, as editors add it', () => {
    expect(parse(Buffer.from('\ufeff{"a":1}'))).toEqual({ kind: 'value', value: { a: 1 } });
  });

  it('refuses bytes that are no UTF-8 instead of replacing them', () => {
    expect(parse(Buffer.from([0x22, 0xe9, 0x22])).kind).toBe('unparseable');
    expect(parse(Buffer.from('{"a":')).kind).toBe('unparseable');
    expect(parse(Buffer.alloc(10)).kind).toBe('unparseable');
  });

  it('does not take what is nested beyond all writing for ours', () => {
    const parsed = parse(Buffer.from('['.repeat(100_000) + ']'.repeat(100_000)));
    if (parsed.kind !== 'value') throw new Error(parsed.reason);
    expect(isWrittenAs(parsed.value, serialize([]))).toBe(false);
  });
});
