import { describe, expect, it, vi } from 'vitest';
import { Changes } from '../../src/change/changes.js';
import { append, Tracked } from '../../src/change/tracked.js';
import { refusal } from '../support/refusal.js';
import { replicate } from '../support/replicate.js';

function track<T extends object>(state: T) {
  const doc = new Tracked<T>('doc', new Changes(), structuredClone(state) as never, 1);
  const replica = replicate(doc);
  return { doc, replica };
}

/** Runs an update; checks the state, and that the ops rebuild it elsewhere, key order included. */
function expectUpdate<T extends object>(state: T, recipe: (draft: T) => unknown, expected: unknown) {
  const { doc, replica } = track(state);
  const result = doc.update((draft) => recipe(draft) as never);
  expect(JSON.stringify(doc.state)).toBe(JSON.stringify(expected));
  expect(JSON.stringify(replica())).toBe(JSON.stringify(expected));
  return result;
}

describe('objects', () => {
  it('sets, deletes and adds keys', () => {
    expectUpdate(
      { a: 1, b: 2 } as Record<string, number>,
      (s) => {
        s.c = 3;
        delete s.a;
        s.b = 5;
      },
      { b: 5, c: 3 },
    );
  });

  it('moves a key that is deleted and added again to the end', () => {
    expectUpdate(
      { a: 1, b: 2, c: 3 } as Record<string, number>,
      (s) => {
        delete s.a;
        s.a = 4;
      },
      { b: 2, c: 3, a: 4 },
    );
  });

  it('takes Object.assign, spread, in and keys', () => {
    const seen = expectUpdate(
      { a: 1, n: { x: 1 } } as Record<string, unknown>,
      (s) => {
        Object.assign(s, { b: 2 });
        const copy = { ...s };
        delete s.a;
        return ['a' in s, 'b' in s, 'toString' in s, Object.keys(s), copy];
      },
      { n: { x: 1 }, b: 2 },
    );
    expect(seen).toEqual([false, true, false, ['n', 'b'], { a: 1, n: { x: 1 }, b: 2 }]);
  });

  it('treats an undefined property as absent', () => {
    expectUpdate(
      { a: 1, b: { c: 1 } } as Record<string, unknown>,
      (s) => {
        s.a = undefined;
        s.b = { c: undefined, d: 2 };
      },
      { b: { d: 2 } },
    );
  });

  it('keeps __proto__, constructor and prototype as data', () => {
    const { doc, replica } = track<Record<string, Record<string, unknown>>>({ done: {} });
    doc.update((s) => {
      const done = s.done as Record<string, unknown>;
      for (const key of ['__proto__', 'constructor', 'prototype']) {
        expect(done[key]).toBeUndefined();
        done[key] = { ok: true };
        expect(done[key]).toEqual({ ok: true });
      }
    });
    const expected = '{"done":{"__proto__":{"ok":true},"constructor":{"ok":true},"prototype":{"ok":true}}}';
    expect(JSON.stringify(doc.state)).toBe(expected);
    expect(JSON.stringify(replica())).toBe(expected);
    expect(({} as { ok?: boolean }).ok).toBeUndefined();
  });

  it('moves a subtree inside the draft', () => {
    expectUpdate(
      { a: { deep: [1] }, b: null } as Record<string, unknown>,
      (s) => {
        const a = s.a;
        delete s.a;
        s.b = a;
      },
      { b: { deep: [1] } },
    );
  });

  it('never shares an object between two paths', () => {
    const { doc } = track({ left: { n: 1 }, right: { n: 2 } });
    doc.update((s) => {
      s.left = s.right;
    });
    doc.update((s) => {
      s.left.n = 3;
    });
    expect(doc.state).toEqual({ left: { n: 3 }, right: { n: 2 } });
    doc.replace({ left: doc.state.right, right: doc.state.left } as never);
    expect(doc.state).toEqual({ left: { n: 2 }, right: { n: 3 } });
  });

  it('writes nothing when nothing changed', () => {
    const { doc } = track({ a: 1, list: [{ x: 1 }] });
    doc.update((s) => {
      s.a = 1;
    });
    doc.replace({ a: 1, list: [{ x: 1 }] });
    expect(doc.version).toBe(1);
    expect(doc.pending.isEmpty).toBe(true);
  });
});

describe('arrays', () => {
  const cases: [string, (list: number[]) => unknown][] = [
    ['push', (l) => l.push(7, 8)],
    ['pop', (l) => l.pop()],
    ['shift', (l) => l.shift()],
    ['shift then push', (l) => [l.shift(), l.push(9)]],
    ['unshift', (l) => l.unshift(0, -1)],
    ['splice in the middle', (l) => l.splice(1, 2, 10, 11, 12)],
    ['splice of equal length', (l) => l.splice(1, 2, 10, 11)],
    ['splice from the front', (l) => l.splice(0, 2)],
    ['splice everything', (l) => l.splice(0)],
    ['splice with a negative start', (l) => l.splice(-2, 1)],
    ['sort', (l) => l.sort().length],
    ['sort with an order', (l) => l.sort((a, b) => b - a).length],
    ['reverse', (l) => l.reverse().length],
    ['fill', (l) => l.fill(5, 1, 3).length],
    ['copyWithin', (l) => l.copyWithin(0, 2).length],
    ['an index write', (l) => void (l[1] = 42)],
    ['a write at the end', (l) => void (l[l.length] = 42)],
    ['a shorter length', (l) => void (l.length = 2)],
    ['all shifted, then refilled', (l) => [l.shift(), l.shift(), l.shift(), l.shift(), l.push(1, 2)]],
  ];
  for (const [name, change] of cases) {
    it(`${name} does what it does to a plain array`, () => {
      const plain = [3, 1, 4, 2];
      const expected = change(plain);
      const result = expectUpdate({ list: [3, 1, 4, 2] }, (s) => change(s.list), { list: plain });
      expect(result).toEqual(expected);
    });
  }

  it('reads like a plain array', () => {
    const { doc } = track({ list: [{ id: 1 }, { id: 2 }, { id: 3 }], numbers: [1, 2, 3] });
    doc.update((s) => {
      const [first, ...rest] = s.list;
      expect(first?.id).toBe(1);
      expect(rest.length).toBe(2);
      expect(s.list.find((x) => x.id === 2)?.id).toBe(2);
      expect(s.list.findLast((x) => x.id < 3)?.id).toBe(2);
      expect(s.list.filter((x) => x.id > 1).map((x) => x.id)).toEqual([2, 3]);
      expect(s.list.indexOf(s.list[1] as never)).toBe(1);
      expect(s.list.includes(s.list[2] as never)).toBe(true);
      expect(s.list.slice(-1)[0]?.id).toBe(3);
      expect(s.list.at(-1)?.id).toBe(3);
      expect(s.numbers.reduce((a, b) => a + b)).toBe(6);
      expect(s.numbers.reduceRight((a, b) => `${a}${b}`, '')).toBe('321');
      expect(s.numbers.join('-')).toBe('1-2-3');
      expect([...s.numbers.entries()]).toEqual([
        [0, 1],
        [1, 2],
        [2, 3],
      ]);
      expect([...s.numbers.values()]).toEqual([1, 2, 3]);
      expect(s.numbers.some((x) => x > 2) && s.numbers.every((x) => x > 0)).toBe(true);
      expect(Array.isArray(s.list)).toBe(true);
      expect(s.list.concat([]).length).toBe(3);
      expect(() => s.list.map(3 as never)).toThrow(TypeError);
    });
    expect(doc.version).toBe(1);
  });

  it('marks an item changed through a handle taken before the array moved', () => {
    expectUpdate(
      { list: [{ n: 1 }, { n: 2 }, { n: 3 }] },
      (s) => {
        const last = s.list[2] as { n: number };
        s.list.shift();
        last.n = 9;
      },
      { list: [{ n: 2 }, { n: 9 }] },
    );
  });

  it('refuses to write through a handle that left the tree', () => {
    const { doc } = track({ list: [{ n: 1 }] });
    const error = refusal(() =>
      doc.update((s) => {
        const gone = s.list.pop() as { n: number };
        gone.n = 2;
      }),
    );
    expect(error.code).toBe('HF_DRAFT');
    expect(doc.state).toEqual({ list: [{ n: 1 }] });
  });

  it('does not let the sorting function change the array', () => {
    const { doc } = track({ list: [2, 1] });
    expect(refusal(() => doc.update((s) => s.list.sort(() => s.list.push(3)).length)).code).toBe('HF_DRAFT');
    expect(doc.state).toEqual({ list: [2, 1] });
  });
});

describe('refusals', () => {
  class Thing {
    x = 1;
  }
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  let deep: unknown = 1;
  for (let i = 0; i < 501; i++) deep = [deep];
  const bad: [string, unknown, RegExp][] = [
    ['a function', () => 1, /function/],
    ['a symbol', Symbol('x'), /symbol/],
    ['a class instance', new Thing(), /a Thing/],
    ['a cycle', cyclic, /contains itself/],
    ['NaN', Number.NaN, /NaN/],
    ['Infinity', Number.POSITIVE_INFINITY, /Infinity/],
    ['a bigint', 1n, /bigint/],
    ['a Date', new Date(0), /toISOString/],
    ['a Map', new Map(), /fromEntries/],
    ['a Set', new Set(), /\[\.\.\.set\]/],
    ['bytes', new Uint8Array(1), /base64/],
    ['a hole', new Array(3), /hole/],
    ['undefined in an array', [undefined], /undefined/],
    ['nesting deeper than 500', deep, /deeper than 500/],
    ['a symbol key', { [Symbol('k')]: 1 }, /symbol key/],
    ['an array of a class', new (class Items extends Array {})(), /plain array/],
  ];
  for (const [name, value, message] of bad) {
    it(`refuses ${name} with its path, and nothing changes`, () => {
      const { doc } = track<Record<string, unknown>>({ a: { list: [1] }, z: 1 });
      const before = JSON.stringify(doc.state);
      const error = refusal(() =>
        doc.update((s) => {
          s.z = 2;
          (s.a as Record<string, unknown>)['the key'] = { x: value };
        }),
      );
      expect(error.code).toBe('HF_VALUE');
      expect(error.message).toContain('a["the key"].x');
      expect(error.message).toMatch(message);
      expect(JSON.stringify(doc.state)).toBe(before);
      expect(doc.pending.isEmpty).toBe(true);
      expect(refusal(() => doc.replace({ x: value } as never)).code).toBe('HF_VALUE');
    });
  }

  it('refuses what would make a hole or a named property on an array', () => {
    const { doc } = track({ list: [1, 2] });
    const writes: ((list: number[]) => unknown)[] = [
      (l) => void (l[5] = 1),
      (l) => void (l.length = 9),
      (l) => delete l[0],
      (l) => Object.assign(l, { name: 1 }),
      (l) => Object.assign(l, { [Symbol('s')]: 1 }),
    ];
    for (const write of writes) expect(refusal(() => doc.update((s) => write(s.list) as never)).code).toBe('HF_VALUE');
    expect(() => doc.update((s) => void ((s.list.length as unknown) = 'x'))).toThrow(RangeError);
    expect(doc.state).toEqual({ list: [1, 2] });
  });

  it.each([
    ['an index', (list: unknown[], item: object) => void (list[4] = item)],
    ['splice', (list: unknown[], item: object) => void list.splice(3, 2, item)],
    ['fill', (list: unknown[], item: object) => void list.fill(item, 3)],
  ])('is exact where a getter of what %s stores shortens the array', (_, write) => {
    const { doc, replica } = track<{ list: unknown[] }>({ list: [1, 2, 3, 4, 5] });
    const cutting = (s: { list: unknown[] }) => ({
      get x() {
        s.list.length = 2;
        return 1;
      },
    });
    const error = new Error('undone');
    const undone = () =>
      doc.update((s) => {
        write(s.list, cutting(s));
        throw error;
      });
    expect(undone).toThrow();
    expect(JSON.stringify(doc.state)).toBe('{"list":[1,2,3,4,5]}');
    doc.update((s) => {
      try {
        write(s.list, cutting(s));
      } catch (error) {
        expect(error).toMatchObject({ code: 'HF_VALUE' });
      }
    });
    // With a hole it would be a null.
    expect(['{"list":[1,2]}', '{"list":[1,2,{"x":1}]}']).toContain(JSON.stringify(doc.state));
    expect(JSON.stringify(replica())).toBe(JSON.stringify(doc.state));
  });

  it('refuses to freeze, inherit from or redefine a draft', () => {
    const { doc } = track<Record<string, unknown>>({ a: 1 });
    expect(() => doc.update((s) => void Object.freeze(s))).toThrow(TypeError);
    expect(() => doc.update((s) => void Object.setPrototypeOf(s, null))).toThrow(TypeError);
    expect(() => doc.update((s) => void (Object.create(s).a = 2))).toThrow(TypeError);
    expect(() => doc.update((s) => void Object.defineProperty(s, 'b', { get: () => 1 }))).toThrow(TypeError);
    // Refused before it is stored: a recipe that catches the refusal has not stored it.
    doc.update((s) => {
      const fixed = { value: 2, enumerable: true, writable: true, configurable: false };
      expect(() => Object.defineProperty(s, 'fixed', fixed)).toThrow('only plain, writable values can be stored');
    });
    doc.update((s) => void Object.defineProperty(s, 'b', { value: 2, enumerable: true, writable: true }));
    expect(doc.state).toEqual({ a: 1, b: 2 });
  });

  it('takes plain objects of other realms, null prototypes, and -0 as 0', async () => {
    const { runInNewContext } = await import('node:vm');
    const { doc } = track<Record<string, unknown>>({});
    doc.update((s) => {
      s.other = runInNewContext('({ a: [1, { b: 2 }] })');
      s.bare = Object.assign(Object.create(null), { x: 1 });
      s.zero = -0;
    });
    expect(JSON.stringify(doc.state)).toBe('{"other":{"a":[1,{"b":2}]},"bare":{"x":1},"zero":0}');
    expect(Object.is(doc.state.zero, 0)).toBe(true);
  });
});

describe('updates', () => {
  it('undoes everything when the recipe throws, key order included', () => {
    const { doc } = track<Record<string, unknown>>({ a: 1, b: { x: [1, 2, 3] }, c: 3 });
    const before = JSON.stringify(doc.state);
    expect(() =>
      doc.update((s) => {
        delete s.a;
        s.a = 2;
        delete s.c;
        const { x } = s.b as { x: number[] };
        x.splice(0, 1, 9, 9);
        x.sort();
        x.reverse();
        x.shift();
        x.push(4);
        x.length = 1;
        s.text = 'x';
        append(s as { text: string }, 'text', 'y');
        throw new Error('stop');
      }),
    ).toThrow('stop');
    expect(JSON.stringify(doc.state)).toBe(before);
    expect(doc.pending.isEmpty).toBe(true);
    expect(doc.version).toBe(1);
  });

  it('treats nested updates as savepoints', () => {
    const { doc, replica } = track<Record<string, unknown>>({ a: 1 });
    doc.update((s) => {
      s.b = 2;
      expect(() =>
        doc.update((t) => {
          t.a = 9;
          delete t.b;
          s.outer = true;
          throw new Error('inner');
        }),
      ).toThrow('inner');
      doc.update((t) => void (t.c = 3));
    });
    expect(JSON.stringify(doc.state)).toBe('{"a":1,"b":2,"c":3}');
    expect(JSON.stringify(replica())).toBe('{"a":1,"b":2,"c":3}');
  });

  it('deletes keys in a transaction without listing those that stay', () => {
    type Items = Record<string, number>;
    const { doc, replica } = track<{ from: Items; to: Items }>({ from: { a: 1, b: 2, c: 3 }, to: {} });
    const listings = vi.spyOn(Object, 'getOwnPropertyNames');
    doc.changes.run(() => {
      doc.update((s) => {
        s.to.b = s.from.b as number;
        delete s.from.b;
      });
      doc.update((s) => void delete s.from.a);
    }, 'The transaction');
    expect(listings).not.toHaveBeenCalled();
    listings.mockRestore();
    expect(JSON.stringify(doc.state)).toBe('{"from":{"c":3},"to":{"b":2}}');
    expect(JSON.stringify(replica())).toBe('{"from":{"c":3},"to":{"b":2}}');
  });

  it('shows no trace of a deleted key between the updates of a transaction', () => {
    const { doc } = track<Record<string, unknown>>({ a: 1, b: 2 });
    doc.changes.run(() => {
      doc.update((s) => void delete s.a);
      expect('a' in doc.state).toBe(false);
    }, 'test');
    expect(() =>
      doc.changes.run(() => {
        doc.update((s) => void delete s.b);
        doc.update((s) => void (s.b = 3));
        throw new Error('stop');
      }, 'test'),
    ).toThrow('stop');
    expect(JSON.stringify(doc.state)).toBe('{"b":2}');
  });

  it('returns the result with drafts made plain', () => {
    const { doc } = track({ list: [{ n: 1 }] });
    const item = doc.update((s) => s.list[0]);
    const wrapped = doc.update((s) => ({ found: [s.list[0]], other: new Map() }));
    doc.update((s) => void ((s.list[0] as { n: number }).n = 2));
    expect(item).toEqual({ n: 1 });
    expect(wrapped.found).toEqual([{ n: 1 }]);
    expect(wrapped.other).toBeInstanceOf(Map);
  });

  it('returns a result whose objects point at each other as it is, without walking it for ever', () => {
    const { doc } = track({ item: { n: 1 } });
    const top: { kids: unknown[] } = { kids: [] };
    for (let kid = 0; kid < 3; kid++) top.kids.push({ top });
    expect(doc.update(() => top)).toBe(top);
    const shared = doc.update((s) => {
      const both = { item: s.item };
      return { left: both, right: both };
    });
    expect(shared).toEqual({ left: { item: { n: 1 } }, right: { item: { n: 1 } } });
    expect(shared.left).toBe(shared.right);
  });

  it('refuses a promise, undoes its changes, and lets it fail without ending the program', async () => {
    const { doc } = track({ a: 1 });
    const recipe = async (s: { a: number }) => {
      s.a = 2;
      await Promise.resolve();
      s.a = 3;
    };
    // @ts-expect-error a recipe that returns a promise does not compile
    expect(refusal(() => doc.update(recipe)).code).toBe('HF_ASYNC');
    await new Promise((done) => setTimeout(done, 5));
    expect(doc.state).toEqual({ a: 1 });
  });

  it('refuses a draft used after its update', () => {
    const { doc } = track<{ a: unknown; n: { x: number } }>({ a: 1, n: { x: 1 } });
    let leaked: { x: number } | undefined;
    doc.update((s) => void (leaked = s.n));
    expect(refusal(() => leaked?.x).code).toBe('HF_DRAFT');
    expect(refusal(() => doc.update((s) => void (s.a = leaked))).code).toBe('HF_DRAFT');
    expect(refusal(() => append(leaked as never, 'x' as never, 'y')).code).toBe('HF_DRAFT');
  });

  it('appends text at its own cost', () => {
    const { doc, replica } = track<{ out: string; list: string[]; late?: string }>({ out: 'ab', list: ['x'] });
    doc.update((s) => append(s, 'out', 'cd'));
    doc.update((s) => append(s, 'out', '\ud83d'));
    doc.update((s) => append(s.list, 0, 'y'));
    doc.update((s) => append(s as { late: string }, 'late', 'new'));
    const ops = doc.pending.growths.get('out');
    expect(ops).toEqual({ from: 2, text: 'cd\ud83d' });
    expect(replica()).toEqual({ out: 'abcd\ud83d', list: ['xy'], late: 'new' });
    expect(() => doc.update((s) => append(s as never, 'list', 'z'))).toThrow(TypeError);
    expect(() => append({ a: 'x' }, 'a', 'z')).toThrow(TypeError);
    const notAKey = Symbol('key') as never;
    expect(() => doc.update((s) => append(s, notAKey, 'z'))).toThrow(
      'Expected `key` to be a string or a number, got symbol',
    );
    expect(Object.keys(doc.state)).toEqual(['out', 'list', 'late']);
    expect(() => doc.update((s) => append(s, 'out', 5 as never))).toThrow(TypeError);
  });

  it('replaces by writing what differs, and gives snapshots that can be changed', () => {
    const { doc, replica } = track<Record<string, unknown>>({ a: 1, b: [1, { x: 1 }, 3], c: { d: 1 } });
    const next = doc.snapshot();
    next.b = [1, { x: 2 }, 3, 4];
    doc.replace(next);
    expect([...doc.pending.kids.keys()]).toEqual(['b']);
    doc.replace({ c: { d: 1 }, a: 1, b: [1] });
    expect(JSON.stringify(doc.state)).toBe('{"c":{"d":1},"a":1,"b":[1]}');
    expect(JSON.stringify(replica())).toBe('{"c":{"d":1},"a":1,"b":[1]}');
    expect(doc.snapshot((s) => s.c)).toEqual({ d: 1 });
    doc.replace([1, 2] as never);
    expect(replica()).toEqual([1, 2]);
    expect(refusal(() => doc.replace(5 as never)).code).toBe('HF_VALUE');
  });
});
