import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { assertDocumentName, documentPaths, foldedName } from '../../src/projection/names.js';

function refusal(name: unknown): string | null {
  try {
    assertDocumentName(name);
    return null;
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return `${code} ${message}`;
  }
}

describe('a document name', () => {
  const sound = [
    'loop',
    'features/upload/feature',
    'a.b',
    '.hidden',
    '..a',
    'a/.holdfast',
    'console',
    'com10',
    'comx',
    'über/ß',
    '日本語',
    '😀',
    'loop.json',
    'a b',
    ' a',
    'bak1',
    'a.bak1',
    'x'.repeat(245),
    `${'y'.repeat(255)}/x`,
    `${'é'.repeat(122)}`,
  ];
  for (const name of sound) it(`may be ${name.slice(0, 30)}`, () => expect(refusal(name)).toBeNull());

  const bad: [unknown, RegExp][] = [
    ['', /it is empty/],
    ['/', /is empty/],
    ['a//b', /is empty/],
    ['/a', /is empty/],
    ['a/', /is empty/],
    ['.', /'\.' is a way/],
    ['a/../b', /'\.\.' is a way/],
    ['a\0b', /control character/],
    ['a\nb', /control character/],
    ['a\u0085b', /control character/],
    ['a\\b', /Windows refuses '\\'/],
    ['c:', /Windows refuses ':'/],
    ['a?', /Windows refuses '\?'/],
    ['a*b', /Windows refuses/],
    ['"a"', /Windows refuses/],
    ['a<b', /Windows refuses/],
    ['a|b', /Windows refuses/],
    ['a.', /drops the '\.'/],
    ['a /b', /drops the ' '/],
    ['con', /device/],
    ['a/AUX', /device/],
    ['nul.txt', /device/],
    ['PRN .x', /device/],
    ['com1', /device/],
    ['lpt9.a.b', /device/],
    ['COM²', /device/],
    ['.holdfast', /own files/],
    ['.HoldFast/x', /own files/],
    ['loop.json.bak1', /looks like a backup/],
    ['a/loop.JSON.bak/x', /looks like a backup/],
    ['loop.json/x', /would look like the file/],
    ['x'.repeat(246), /too long for a file name/],
    [`${'y'.repeat(256)}/x`, /too long for a file name/],
    [Array.from({ length: 9 }, () => 'z'.repeat(120)).join('/'), /longer than 1024 bytes/],
    ['\ud800', /half a surrogate pair/],
    [7, /not text but number/],
    [undefined, /not text but undefined/],
  ];
  for (const [name, reason] of bad) {
    it(`may not be ${JSON.stringify(name)?.slice(0, 40)}`, () => {
      expect(refusal(name)).toMatch(/^HF_NAME Not a document name/);
      expect(refusal(name)).toMatch(reason);
    });
  }

  it('never leads outside of the store, and different names have different files', () => {
    const segment = fc.string({ unit: 'grapheme', maxLength: 4 }).filter((text) => !text.includes('/'));
    const name = fc.array(fc.oneof(segment, fc.constantFrom('..', '.', '.json', 'a.json.bak1')), { maxLength: 4 });
    fc.assert(
      fc.property(name, name, (a, b) => {
        const names = [a.join('/'), b.join('/')].filter((one) => refusal(one) === null);
        const files = names.map((one) => documentPaths('/store', one));
        for (const { main, backup, directory } of files) {
          expect(main).toMatch(/^\/store\/(?!\.holdfast\/).*\.json$/s);
          expect(backup(2)).toBe(`${main}.bak2`);
          expect(main.startsWith(`${directory}/`)).toBe(true);
        }
        if (names.length === 2 && names[0] !== names[1]) expect(files[0]?.main).not.toBe(files[1]?.main);
      }),
    );
  });
});

describe('folding', () => {
  const same = [
    ['Loop', 'lOOP'],
    ['\u00e9', 'e\u0301'],
    ['\u00c9', 'e\u0301'],
    ['straße', 'STRASSE'],
    ['\u212a', 'k'],
    ['σας', 'ΣΑΣ'],
    ['Å', '\u212b'],
  ];
  for (const [a, b] of same) {
    it(`takes ${a} and ${b} for one`, () => expect(foldedName(a as string)).toBe(foldedName(b as string)));
  }

  it('keeps other names apart', () => {
    expect(foldedName('a')).not.toBe(foldedName('b'));
    expect(foldedName('a/b')).not.toBe(foldedName('ab'));
  });

  it('gives one form for every way to write the case of a name', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (name) => {
        expect(foldedName(foldedName(name))).toBe(foldedName(name));
        expect(foldedName(name.toUpperCase())).toBe(foldedName(name));
        expect(foldedName(name.normalize('NFD'))).toBe(foldedName(name.normalize('NFC')));
      }),
    );
  });
});
