import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import type { Tracked } from '../src/change/tracked.js';
import { Truth } from '../src/truth.js';
import { show } from './support/model-world.js';
import { RecordingDisk } from './support/recording-disk.js';
import { refusal } from './support/refusal.js';

type Bag = Record<string, unknown>;

const PROTO = '__proto__';

function open(disk = new RecordingDisk()): { disk: RecordingDisk; store: Truth } {
  return { disk, store: new Truth('/store', { disk, now: () => 1 }) };
}

describe('refused values', () => {
  class Thing {
    x = 1;
  }
  const cyclic: unknown[] = [];
  cyclic.push({ again: cyclic });
  const bad: [string, unknown][] = [
    ['NaN', Number.NaN],
    ['-Infinity', Number.NEGATIVE_INFINITY],
    ['a bigint', 1n],
    ['a function', () => 1],
    ['a symbol', Symbol('x')],
    ['a class instance', new Thing()],
    ['a boxed string', Object('text')],
    ['an error', new Error('x')],
    ['a promise', Promise.resolve()],
    ['a Date', new Date(0)],
    ['a Map', new Map([[1, 2]])],
    ['a Set', new Set([1])],
    ['a WeakMap', new WeakMap()],
    ['bytes', Buffer.from('x')],
    ['an ArrayBuffer', new ArrayBuffer(1)],
    ['a Map of another realm', runInNewContext('new Map()')],
    ['an instance of a class of another realm', runInNewContext('new (class Other {})()')],
    ['a list of a class', new (class Items extends Array {})()],
    ['a list without a prototype', Object.setPrototypeOf([], null)],
  ];
  /** Where the value is put, and the path at which it must be found. */
  const places: [string, (state: { list: unknown[]; map: Bag }, value: unknown) => unknown, (string | number)[]][] = [
    ['push', (s, value) => s.list.push(7, { in: [value] }), ['list', 3, 'in', 0]],
    ['unshift', (s, value) => s.list.unshift(7, value), ['list', 1]],
    ['splice', (s, value) => s.list.splice(1, 1, 'fine', { x: value }), ['list', 2, 'x']],
    ['fill', (s, value) => s.list.fill({ x: value }, 1).length, ['list', 1, 'x']],
    ['an index', (s, value) => void (s.list[1] = value), ['list', 1]],
    ['the index behind the last', (s, value) => void (s.list[2] = [value]), ['list', 2, 0]],
    ['a key', (s, value) => void (s.map['a key'] = { '': value }), ['map', 'a key', '']],
    ['Object.assign', (s, value) => void Object.assign(s.map, { k: value }), ['map', 'k']],
    ['a new __proto__', (s, value) => void (s.map[PROTO] = { x: value }), ['map', '__proto__', 'x']],
  ];

  for (const [name, value] of bad) {
    it(`${name} is refused with its path wherever it is put, and nothing changes`, () => {
      const { store } = open();
      const doc = store.doc('doc', { initial: { list: [1, 2] as unknown[], map: { a: 1 } as Bag } });
      const before = show(doc.state);
      const { lastSeq } = store;
      const expectRefusal = (fn: () => unknown, path: (string | number)[]) => {
        const error = refusal(fn);
        expect(error.code).toBe('HF_VALUE');
        expect(error.path).toEqual(path);
        expect(error.message).toMatch(/Nothing was changed/);
        for (const key of path) expect(error.message).toContain(String(key));
        expect([show(doc.state), doc.version, doc.pending.isEmpty, store.lastSeq]).toEqual([before, 1, true, lastSeq]);
      };
      for (const [, put, path] of places) expectRefusal(() => doc.update((s) => void put(s, value)), path);
      expectRefusal(() => doc.replace({ list: [1, value], map: {} }), ['list', 1]);
      expectRefusal(() => doc.replace([[value]] as never), [0, 0]);
      expectRefusal(() => store.doc('other', { initial: { deep: [{ x: value }] } }), ['deep', 0, 'x']);
      if (typeof value === 'object') expectRefusal(() => doc.replace(value as never), []);
      expect(store.names).toEqual(['doc']);
    });
  }

  it('a cycle, a hole, undefined in a list and 501 levels are refused in every method', () => {
    const { store } = open();
    const doc = store.doc('doc', { initial: { list: [1, 2, 3] as unknown[] } });
    let deep: unknown = 1;
    for (let level = 0; level < 499; level++) deep = [deep];
    const holes = Object.assign(new Array(3), { 0: 1, 2: 3 });
    const values: [unknown, RegExp][] = [
      [cyclic, /contains itself/],
      [[undefined], /undefined/],
      [holes, /hole/],
      [deep, /deeper than 500/],
    ];
    for (const [value, message] of values) {
      for (const [, put] of places.slice(0, 6)) {
        const error = refusal(() => doc.update((s) => void put({ list: s.list, map: {} }, value)));
        expect([error.code, error.path?.[0]]).toEqual(['HF_VALUE', 'list']);
        expect(error.message).toMatch(message);
      }
    }
    for (const put of [(l: unknown[]) => l.push(undefined), (l: unknown[]) => l.fill(undefined).length]) {
      expect(refusal(() => doc.update((s) => put(s.list))).message).toMatch(/list\[[03]\]: undefined/);
    }
    expect(doc.state).toEqual({ list: [1, 2, 3] });
    doc.update((s) => void s.list.push((deep as unknown[])[0]));
    expect(doc.version).toBe(2);
  });

  it('only an object or an array can be a document', () => {
    const { store } = open();
    const doc = store.doc('doc', { initial: {} });
    for (const value of [5, 'text', null, undefined, true, () => 1]) {
      for (const put of [() => doc.replace(value as never), () => store.doc('other', { initial: value })]) {
        expect(refusal(put)).toMatchObject({ code: 'HF_VALUE', path: [] });
      }
    }
    expect(store.names).toEqual(['doc']);
  });

  it('the path is where the item is now, not where it was when its draft was taken', () => {
    const { store } = open();
    const doc = store.doc('doc', { initial: { list: [{ n: 1 }, { n: 2 }, { n: 3 }] } });
    const error = refusal(() =>
      doc.update((s) => {
        const last = s.list[2] as { n: number };
        s.list.shift();
        last.n = Number.NaN;
      }),
    );
    expect(error.path).toEqual(['list', 1, 'n']);
  });

  it('a draft whose update is over is refused, also in the place it came from', () => {
    const { store } = open();
    const doc = store.doc('doc', { initial: { a: { n: 1 }, list: [{ n: 2 }] } });
    doc.update((s) => {
      let inner = { a: s.a, item: s.list[0] as { n: number } };
      doc.update((t) => {
        inner = { a: t.a, item: t.list[0] as { n: number } };
        t.a = inner.a;
        s.list[0] = inner.item;
      });
      expect(refusal(() => void (s.a = inner.a)).code).toBe('HF_DRAFT');
      expect(refusal(() => void (s.list[0] = inner.item)).code).toBe('HF_DRAFT');
      expect(refusal(() => s.list.push(inner.item)).code).toBe('HF_DRAFT');
    });
    expect(doc.version).toBe(1);
  });

  it('a recipe may catch a refusal and go on; what it did before stays', () => {
    const { disk, store } = open();
    const doc = store.doc('doc', { initial: { list: [1] as unknown[] } as Bag });
    doc.update((s) => {
      s.before = true;
      expect(refusal(() => Object.assign(s, { first: 1, second: Number.NaN })).path).toEqual(['second']);
      expect(refusal(() => (s.list as unknown[]).push(2, 3n)).path).toEqual(['list', 2]);
    });
    expect(show(doc.state)).toBe('{"list":[1],"before":true,"first":1}');
    expect(show(reopened(disk).state)).toBe(show(doc.state));
  });
});

describe('what is taken in', () => {
  it('getters are read once, and what they throw passes through', () => {
    const { store } = open();
    const doc = store.doc('doc', { initial: {} as Bag });
    let reads = 0;
    const input = {
      get a() {
        reads++;
        return { n: reads };
      },
    };
    doc.update((s) => void (s.x = input));
    expect([reads, show(doc.state)]).toEqual([1, '{"x":{"a":{"n":1}}}']);
    doc.replace({ y: input });
    expect([reads, show(doc.state)]).toEqual([2, '{"y":{"a":{"n":2}}}']);
    const failing = {
      get b() {
        throw new Error('not now');
      },
    };
    expect(() => doc.update((s) => void (s.z = { failing }))).toThrow('not now');
    expect(show(doc.state)).toBe('{"y":{"a":{"n":2}}}');
  });

  it('a getter that edits the same document while it is copied loses nothing', () => {
    const { disk, store } = open();
    const doc = store.doc('doc', { initial: { list: [{ a: 1 }, { a: 2 }] as unknown[] } });
    doc.update((s) => {
      const second = s.list[1] as Bag;
      second.b = {
        get x() {
          s.list.shift();
          return 3;
        },
      };
    });
    expect(show(doc.state)).toBe('{"list":[{"a":2,"b":{"x":3}}]}');
    expect(show(reopened(disk).state)).toBe(show(doc.state));
  });

  it('properties that JSON does not see are left out, as JSON does', () => {
    const { store } = open();
    const match = /b/.exec('abc') as unknown as unknown[];
    const hidden = Object.defineProperty({ a: 1 }, 'b', { value: () => 1, enumerable: false });
    const doc = store.doc('doc', { initial: { match, hidden, inherits: Object.create(Object.create(null)) } });
    expect(show(doc.state)).toBe('{"match":["b"],"hidden":{"a":1},"inherits":{}}');
  });

  it('frozen values are copied into something that can be changed', () => {
    const { store } = open();
    const frozen = Object.freeze({ list: Object.freeze([Object.freeze({ n: 1 })]) });
    const doc = store.doc<unknown>('doc', { initial: frozen }) as Tracked<{ list: { n: number }[] }>;
    doc.update((s) => {
      (s.list[0] as { n: number }).n = 2;
      s.list.push(...frozen.list);
    });
    expect(doc.state).toEqual({ list: [{ n: 2 }, { n: 1 }] });
    expect(frozen.list).toEqual([{ n: 1 }]);
  });

  it('objects of other realms and without prototypes come back as ordinary ones', () => {
    const { disk, store } = open();
    const initial = runInNewContext('({ a: [1, { b: Object.assign(Object.create(null), { c: [] }) }] })');
    const doc = store.doc<unknown>('doc', { initial });
    for (const state of [doc.state, reopened(disk).state] as Bag[]) {
      expect(show(state)).toBe('{"a":[1,{"b":{"c":[]}}]}');
      expect(Object.getPrototypeOf(state)).toBe(Object.prototype);
      expect(Object.getPrototypeOf(state.a)).toBe(Array.prototype);
    }
  });

  it('a value that claims to be a draft is not one', () => {
    const { store } = open();
    const doc = store.doc('doc', { initial: { secret: { a: 1 }, x: 1 as unknown } });
    let handle: unknown;
    // Answers to every key, also to the one by which drafts are recognised.
    const liar = new Proxy({}, { get: () => handle });
    doc.update((s) => {
      handle = { raw: s.secret, proxy: s.secret, isLive: true };
      s.x = liar;
    });
    expect(doc.state.x).toEqual({});
  });
});

function reopened(disk: RecordingDisk, name = 'doc'): Tracked {
  return open(disk.afterKill()).store.doc<unknown>(name, { initial: ['never'] });
}

describe('round trips', () => {
  const text = (length: number) => 'Text that is a little longer each time. '.repeat(length / 40 + 1).slice(0, length);
  const numbers = [
    0,
    1,
    -1,
    127,
    128,
    -32,
    -33,
    255,
    256,
    -128,
    -129,
    65535,
    65536,
    -32768,
    -32769,
    2 ** 31,
    -(2 ** 31),
    2 ** 32,
    2 ** 32 - 1,
    -(2 ** 31) - 1,
    2 ** 53 - 1,
    -(2 ** 53) + 1,
    2 ** 53,
    2 ** 63,
    -(2 ** 63),
    2 ** 64,
    0.1,
    -0.1,
    1 / 3,
    1.5,
    16777217.5,
    3.4028234663852886e38,
    1e308,
    Number.MAX_VALUE,
    5e-324,
    -5e-324,
    2.2250738585072014e-308,
    1e21,
  ];
  const names = [
    '__proto__',
    'constructor',
    'toJSON',
    'prototype',
    'hasOwnProperty',
    'valueOf',
    'toString',
    'then',
    '',
  ];
  const keyed = (keys: readonly string[], value: unknown) => {
    const object: Bag = {};
    for (const key of keys) Object.defineProperty(object, key, { value, enumerable: true });
    return object;
  };
  const cases: [string, () => unknown][] = [
    ['every kind of number', () => ({ numbers, each: Object.fromEntries(numbers.map((n) => [String(n), n])) })],
    ['keys that mean something to JavaScript', () => ({ a: keyed(names, 1), b: [keyed(names, keyed(names, 'x'))] })],
    [
      '__proto__ as the only key, at every level',
      () => keyed(['__proto__'], keyed(['__proto__'], [keyed(['__proto__'], null)])),
    ],
    [
      'keys that are whole numbers',
      () => keyed(['17', 'b', '0', 'a', '4294967295', '4294967294', '-1', '1.5', '01'], 1),
    ],
    [
      'lone surrogates',
      () => ({ text: 'a\ud83d', list: ['\ude00', '\ude00\ud83d'], keys: keyed(['\ud83d', '\ud83e', '\ufffd'], 1) }),
    ],
    [
      'text of every length class',
      () => [0, 1, 31, 32, 63, 64, 255, 256, 65535, 65536].flatMap((n) => [text(n), 'é'.repeat(n), '😀'.repeat(n)]),
    ],
    [
      'text with every kind of character',
      () => ({
        low: Array.from({ length: 256 }, (_, n) => String.fromCharCode(n)).join(''),
        nul: '\0',
        bom: '\ufeff',
        magic: 'ÿHFþ',
      }),
    ],
    ['keys of every length class', () => keyed([31, 32, 63, 64, 255, 256, 65535, 65536].map(text), {})],
    [
      'objects shaped like what codecs use inside',
      () => [
        { type: 'Buffer', data: [1, 2] },
        { type: 1, data: 'x' },
        { $type: 'Date', value: 0 },
        { __type: 'Map' },
        { '\u0000': 1, ÿ: 2 },
        { write: 1, read: 2, pack: 3 },
        { get: 1, set: 2, value: 3 },
        ['__proto__', 'constructor', 'toJSON'],
        { length: 3, 0: 'a' },
        {},
        [[], [[]]],
      ],
    ],
    [
      '70,000 keys',
      () => Object.fromEntries(Array.from({ length: 70_000 }, (_, n) => [`key ${n}`, n % 7 ? n : { n }])),
    ],
    [
      '70,000 keys, one of them odd',
      () => ({ ...Object.fromEntries(Array.from({ length: 70_000 }, (_, n) => [`key ${n}`, n])), toJSON: 1 }),
    ],
    ['a text of 10 MB', () => ({ text: text(10_000_000), after: 1 })],
    [
      'a list of 1,000,000',
      () => ({ list: Array.from({ length: 1_000_000 }, (_, n) => (n % 3 ? n : `n${n}`)), after: [] }),
    ],
    ['a large list as the root', () => Array.from({ length: 30_000 }, (_, n) => ({ n, text: text(60) }))],
    [
      'surrogate pairs across every limit, from an even unit',
      () => ({ text: '😀'.repeat(1_200_000), list: ['😀'.repeat(1_100_000)] }),
    ],
    [
      'surrogate pairs across every limit, from an odd unit',
      () => ({ text: `x${'😀'.repeat(1_200_000)}`, ké: `x${'😀'.repeat(1_100_000)}` }),
    ],
    ['a large text with a lone surrogate far behind', () => ({ text: `${text(2_500_000)}\ud83d` })],
    [
      '500 levels',
      () => {
        let value: unknown = 'bottom';
        for (let level = 0; level < 500; level++) value = level % 2 ? [value] : { in: value };
        return value;
      },
    ],
  ];

  for (const [name, make] of cases) {
    it(`${name}: commit, close, reopen, compact, reopen`, () => {
      const { disk, store } = open();
      const expected = show(make());
      const doc = store.doc<unknown>('doc', { initial: make() });
      expect(show(doc.state) === expected).toBe(true);
      store.close();
      const again = open(disk.afterKill());
      again.store.compact();
      expect(again.store.notes).toEqual([]);
      again.store.close();
      // From the base that was written without the document being opened, then from one written while it was.
      const third = open(again.disk.afterKill());
      expect(show(third.store.doc<unknown>('doc', { initial: ['never'] }).state) === expected).toBe(true);
      third.store.compact();
      third.store.close();
      expect(show(reopened(third.disk).state) === expected).toBe(true);
    });
  }

  it('an odd key that was put alone survives being written again as part of something larger', () => {
    for (const key of [...names, '\ud83d']) {
      const { disk, store } = open();
      store.doc('doc', { initial: { list: [{}] as Bag[] } }).update((s) => void ((s.list[0] as Bag)[key] = 'odd'));
      const { store: later, disk: laterDisk } = open(disk.afterKill());
      const doc = later.doc<unknown>('doc', { initial: [] }) as Tracked<{ list: unknown[] }>;
      doc.update((s) => void s.list.unshift('first'));
      expect(show(doc.state)).toBe(`{"list":["first",{${JSON.stringify(key)}:"odd"}]}`);
      expect(show(reopened(laterDisk).state)).toBe(show(doc.state));
      later.compact();
      expect(show(reopened(laterDisk).state)).toBe(show(doc.state));
    }
  });

  it('text that grew through the middle of a surrogate pair', () => {
    const { disk, store } = open();
    const doc = store.doc('doc', { initial: { text: '' } });
    for (const part of ['a', '\ud83d', '\ude00', '\ud83d']) doc.update((s) => void (s.text += part));
    expect(show(reopened(disk).state)).toBe(show({ text: 'a😀\ud83d' }));
  });
});
