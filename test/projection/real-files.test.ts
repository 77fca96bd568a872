// What the disk in memory does not know: links, modes, and that the calls do on a real file system what we think.

import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nodeDisk } from '../../src/disk/node-disk.js';
import { makePlaces, Places } from '../../src/journal/places.js';
import { inspect } from '../../src/projection/inspect.js';
import type { Press } from '../../src/projection/press.js';
import { removeDocument } from '../../src/projection/remove.js';
import { wholeOf } from '../../src/projection/serialize.js';
import { sweepBeside } from '../../src/projection/stage.js';
import { newPress, publishVersion, version } from './support.js';

let root: string;
let store: string;
let press: Press;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'holdfast-projection-'));
  store = join(root, 'store');
  makePlaces(nodeDisk, new Places(store), true);
  press = newPress(nodeDisk, store);
});

afterEach(() => {
  press.record.close();
  rmSync(root, { recursive: true });
});

const main = () => join(store, 'loop.json');
const isVersion = (path: string, n: number) => readFileSync(path).equals(wholeOf(version(n)));
const modeOf = (path: string) => statSync(path).mode & 0o777;

describe('on a real file system', () => {
  it('publishes, rotates and leaves nothing behind', () => {
    for (let n = 1; n <= 5; n++) expect(publishVersion(press, 'a/loop', n).kind).toBe('published');
    expect(publishVersion(press, 'a/loop', 5).kind).toBe('unchanged');
    const file = join(store, 'a/loop.json');
    expect([file, `${file}.bak1`, `${file}.bak2`, `${file}.bak3`].map((path, i) => isVersion(path, 5 - i))).toEqual(
      Array(4).fill(true),
    );
    expect(readdirSync(join(store, 'a')).sort()).toEqual(['', '.bak1', '.bak2', '.bak3'].map((s) => `loop.json${s}`));
    expect(readdirSync(join(store, '.holdfast/tmp'))).toEqual([]);
  });

  it('sees an edit in place, and one by rename', () => {
    publishVersion(press, 'loop', 1);
    writeFileSync(main(), '{"mine": 1}');
    expect(publishVersion(press, 'loop', 2).kind).toBe('drift');
    expect(readFileSync(main(), 'utf8')).toBe('{"mine": 1}');
  });

  it('gives new files the mode of any new file, and keeps the mode of one that is there', () => {
    const umask = process.umask(0o027);
    try {
      publishVersion(press, 'loop', 1);
      expect(modeOf(main())).toBe(0o640);
      chmodSync(main(), 0o666);
      publishVersion(press, 'loop', 2);
      expect(modeOf(main())).toBe(0o666);
      chmodSync(main(), 0o600);
      publishVersion(press, 'loop', 3);
      expect(modeOf(main())).toBe(0o600);
      expect(modeOf(`${main()}.bak1`)).toBe(0o600);
    } finally {
      process.umask(umask);
    }
  });
});

describe('a symbolic link', () => {
  let target: string;

  beforeEach(() => {
    target = join(root, 'dotfiles/loop-state.json');
    mkdirSync(dirname(target));
    writeFileSync(target, wholeOf(version(1)));
    symlinkSync('../dotfiles/loop-state.json', main());
  });

  it('stays one: what it points to is replaced, by a temp in its folder', () => {
    expect(publishVersion(press, 'loop', 1).kind).toBe('unchanged');
    expect(publishVersion(press, 'loop', 2).kind).toBe('published');
    expect(publishVersion(press, 'loop', 3).kind).toBe('published');
    expect(lstatSync(main()).isSymbolicLink()).toBe(true);
    expect(isVersion(target, 3)).toBe(true);
    expect(isVersion(`${main()}.bak1`, 2)).toBe(true);
    expect(readdirSync(dirname(target))).toEqual(['loop-state.json']);
    const edition = press.record.get('loop');
    const plan = { name: 'loop', version: 3, expected: () => version(3), edition, check: () => true };
    expect(inspect(nodeDisk, press.places, plan)).toEqual({ kind: 'sound' });
  });

  it('through a folder that is itself a link leads where the system says', () => {
    const far = join(root, 'far/away');
    mkdirSync(far, { recursive: true });
    symlinkSync(far, join(store, 'sub'));
    writeFileSync(join(root, 'far/state.json'), wholeOf(version(1)));
    symlinkSync('../state.json', join(far, 'doc.json'));
    publishVersion(press, 'sub/doc', 1);
    expect(publishVersion(press, 'sub/doc', 2).kind).toBe('published');
    expect(isVersion(join(root, 'far/state.json'), 2)).toBe(true);
  });

  it('may have temps on both sides: they are swept', () => {
    const temps = [
      join(store, '.holdfast-0123456789abcdef.tmp'),
      join(dirname(target), '.holdfast-0123456789abcdef.tmp'),
    ];
    for (const temp of temps) writeFileSync(temp, 'x');
    sweepBeside(nodeDisk, [main(), join(store, 'none.json')]);
    expect(temps.map((temp) => existsSync(temp))).toEqual([false, false]);
  });

  it('that leads nowhere is refused, and not replaced by a file', () => {
    rmSync(target);
    expect(() => publishVersion(press, 'loop', 2)).toThrow(/symbolic link to a file that does not exist/);
    expect(lstatSync(main()).isSymbolicLink()).toBe(true);
  });

  it('that leads in a circle is refused with what the system says', () => {
    rmSync(main());
    symlinkSync('loop.json', main());
    expect(() => publishVersion(press, 'loop', 2)).toThrow(/ELOOP/);
  });

  it('goes with its document; what it points to stays, and is named', () => {
    publishVersion(press, 'loop', 1);
    publishVersion(press, 'loop', 2);
    const removal = removeDocument(press, { name: 'loop', isKept: false, isNewest: () => true });
    expect(removal).toMatchObject({ kind: 'removed', left: [target] });
    expect(existsSync(target)).toBe(true);
    expect(readdirSync(store)).toEqual(['.holdfast']);
  });
});

it('a socket or pipe in the place of a file is not read', () => {
  expect(nodeDisk.entry('/dev/null')?.kind).toBe('other');
  expect(nodeDisk.entry(store)?.kind).toBe('directory');
});
