import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Container } from '../../src/change/plain.js';
import { PORTION_BYTES } from '../../src/projection/portions.js';
import { isWrittenAs, parse, serialize, sha256Of, type Text, wholeOf } from '../../src/projection/serialize.js';

const read = (text: Text) => wholeOf(text).toString();

describe('serialize', () => {
  it('writes what JSON.stringify writes, with a line end', () => {
    expect(read(serialize({ a: [1, { b: null }], c: 'd' }))).toBe(
      '{\n  "a": [\n    1,\n    {\n      "b": null\n    }\n  ],\n  "c": "d"\n}\n',
    );
    expect(read(serialize([]))).toBe('[]\n');
  });

  it('takes __proto__, constructor and toJSON for keys like any other', () => {
    const text = '{"__proto__":{"x":1},"constructor":"c","toJSON":"t","prototype":{}}';
    const state = JSON.parse(text);
    expect(JSON.stringify(JSON.parse(read(serialize(state))))).toBe(text);
  });

  it('is read back as the same value, byte for byte, whatever is in it', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        const text = serialize([value] as Container);
        expect(read(text)).toBe(`${JSON.stringify([value], null, 2)}\n`);
        expect(text.sha256).toBe(sha256Of(wholeOf(text)));
        const parsed = parse(wholeOf(text));
        if (parsed.kind !== 'value') throw new Error(parsed.reason);
        expect(isWrittenAs(parsed.value, text)).toBe(true);
      }),
    );
  });

  it('keeps lone surrogates', () => {
    const text = serialize({ half: '\ud83d' });
    expect(read(text)).toContain('\\ud83d');
    expect(parse(wholeOf(text))).toEqual({ kind: 'value', value: { half: '\ud83d' } });
  });

  it('writes a large document in portions, and not a byte differs', () => {
    const text = (length: number) => 'é'.repeat(length);
    const heavy = PORTION_BYTES + 1;
    const many = Array.from({ length: 40_000 }, (_, n) => ({ n, text: `of ${n}`, list: [n, [], {}] }));
    const states: Container[] = [
      many,
      Object.fromEntries(many.map((one) => [`key ${one.n}`, one])),
      { before: 1, list: many, between: [], record: { ...many, text: text(heavy) }, after: null },
      [text(heavy), text(heavy), many, [[[many]]], text(heavy)],
      { [text(heavy)]: text(heavy), [text(heavy - 1)]: {}, [text(heavy - 2)]: [] },
      JSON.parse(`{"__proto__":${JSON.stringify(many)},"constructor":{"toJSON":${JSON.stringify(many)}}}`),
    ];
    for (const state of states) {
      const found = serialize(state);
      const expected = `${JSON.stringify(state, null, 2)}\n`;
      expect(read(found) === expected).toBe(true);
      expect(found.length).toBe(Buffer.byteLength(expected));
      expect(found.sha256).toBe(sha256Of(Buffer.from(expected)));
      expect(found.portions.length).toBeGreaterThan(1);
    }
  });

  it('has room for a document that one string has not', () => {
    const text = '\u0001'.repeat(2 ** 25);
    // Six bytes for each character: more than 512 MB.
    const found = serialize([text, text, text]);
    expect(found.length).toBe(3 * (6 * text.length + 2) + 15);
  });

  it('says so when a text is too large for a file', () => {
    expect(() => serialize({ text: '\u0001'.repeat(2 ** 27) })).toThrow(expect.objectContaining({ code: 'HF_VALUE' }));
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
