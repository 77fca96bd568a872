// What the calls promise, on the real disk. Run with real threads, and again without, where coverage sees it.

import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readFile, readJson, recover, writeFile, writeFiles, writeJson } from '../../src/file/index.js';
import { tempName } from '../../src/file/temps.js';

const isRoot = process.geteuid?.() === 0;

export function behaves(how: string): void {
  let directory = '';
  const at = (...names: string[]) => join(directory, ...names);
  const text = (name: string) => readFileSync(at(name), 'utf8');
  const names = () => readdirSync(directory).sort();

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'holdfast-file-'));
  });

  afterEach(() => {
    rmSync(directory, { recursive: true, force: true });
  });

  describe(`writeFile and readFile (${how})`, () => {
    it('write and read text and bytes', async () => {
      await writeFile(at('a'), 'grüße');
      expect(await readFile(at('a'), { encoding: 'utf8' })).toBe('grüße');
      await writeFile(pathToFileURL(at('a')), Buffer.from([0, 255, 1]));
      expect(await readFile(at('a'))).toEqual(Buffer.from([0, 255, 1]));
      await writeFile(at('a'), 'ff00', { encoding: 'hex' });
      expect(await readFile(at('a'), 'hex')).toBe('ff00');
      await writeFile(at('a'), '00ff', 'hex');
      expect(await readFile(at('a'), 'hex')).toBe('00ff');
      await expect(writeFile(at('a'), 'x', 'latin9' as never)).rejects.toThrow(/encoding/);
      await writeFile(at('a'), new Uint16Array([1, 2, 3]).subarray(1, 2));
      expect(await readFile(at('a'))).toEqual(Buffer.from([2, 0]));
      expect(names()).toEqual(['a']);
    });

    it('take empty data and 10 MB', async () => {
      await writeFile(at('a'), '');
      expect(statSync(at('a')).size).toBe(0);
      const large = Buffer.alloc(10_000_000, 'large ');
      await writeFile(at('a'), large);
      expect((await readFile(at('a'))).equals(large)).toBe(true);
    });

    it('copy what is given before they return', async () => {
      const bytes = Buffer.from('first');
      const written = writeFile(at('a'), bytes);
      bytes.fill('x');
      await written;
      expect(text('a')).toBe('first');
    });

    it('keep mode and owner, and mask the mode of a new file', async () => {
      await writeFile(at('new'), 'x', { mode: 0o777 });
      expect(statSync(at('new')).mode & 0o777).toBe(0o777 & ~process.umask());
      writeFileSync(at('secret'), 'old', { mode: 0o600 });
      const options = Object.freeze({ mode: 0o644 });
      await writeFile(at('secret'), 'new', options);
      expect(statSync(at('secret')).mode & 0o777).toBe(0o600);
      chmodSync(at('secret'), 0o4750);
      await writeFile(at('secret'), 'newer');
      expect(statSync(at('secret')).mode & 0o7777).toBe(0o4750);
      // The umask is for new files.
      chmodSync(at('secret'), 0o666);
      await writeFile(at('secret'), 'newest');
      expect(statSync(at('secret')).mode & 0o7777).toBe(0o666);
    });

    it.skipIf(!isRoot)('give a file back to its foreign owner (needs root)', async () => {
      writeFileSync(at('theirs'), 'old', { mode: 0o640 });
      chownSync(at('theirs'), 12_345, 54_321);
      await writeFile(at('theirs'), 'new');
      await writeFiles([{ path: at('theirs'), data: 'newer' }]);
      const { uid, gid, mode } = statSync(at('theirs'));
      expect([uid, gid, mode & 0o777]).toEqual([12_345, 54_321, 0o640]);
    });

    it('replace the file behind a link, and the link stays', async () => {
      mkdirSync(at('real'));
      writeFileSync(at('real', 'target'), 'old', { mode: 0o600 });
      symlinkSync('real/target', at('link'));
      symlinkSync(at('link'), at('second'));
      await writeFile(at('second'), 'new');
      expect(readlinkSync(at('second'))).toBe(at('link'));
      expect(text('real/target')).toBe('new');
      expect(statSync(at('real', 'target')).mode & 0o777).toBe(0o600);
      expect(await readFile(at('second'), 'utf8')).toBe('new');
      expect(readdirSync(at('real'))).toEqual(['target']);
    });

    it('refuse a link that leads nowhere, or make its target', async () => {
      mkdirSync(at('real'));
      symlinkSync('real/target', at('link'));
      await expect(writeFile(at('link'), 'x')).rejects.toMatchObject({ code: 'HF_IO', message: /symbolic link/ });
      expect(existsSync(at('real', 'target'))).toBe(false);
      await writeFile(at('link'), 'x', { dangling: 'create' });
      expect(text('real/target')).toBe('x');
      expect(lstatSync(at('link')).isSymbolicLink()).toBe(true);
      symlinkSync('gone/target', at('far'));
      await expect(writeFile(at('far'), 'x', { dangling: 'create' })).rejects.toMatchObject({ code: 'HF_IO' });
      symlinkSync('circle', at('circle'));
      await expect(writeFile(at('circle'), 'x', { dangling: 'create' })).rejects.toMatchObject({ code: 'HF_IO' });
      await expect(writeFile(at('circle'), 'x')).rejects.toMatchObject({ code: 'HF_IO' });
    });

    it('name the path when it is a directory, or in none', async () => {
      mkdirSync(at('folder'));
      await expect(writeFile(at('folder'), 'x')).rejects.toMatchObject({ code: 'HF_IO', message: /folder.*directory/ });
      await expect(writeFile(at('no', 'a'), 'x')).rejects.toMatchObject({ code: 'HF_IO', cause: { code: 'ENOENT' } });
      writeFileSync(at('file'), '');
      await expect(writeFile(at('file', 'a'), 'x')).rejects.toMatchObject({
        code: 'HF_IO',
        cause: { code: 'ENOTDIR' },
      });
      await expect(readFile(at('folder'))).rejects.toMatchObject({ code: 'EISDIR' });
      await expect(readFile(at('nothing'))).rejects.toMatchObject({ code: 'ENOENT', syscall: 'lstat' });
      expect(names()).toEqual(['file', 'folder']);
    });

    it('take a name of 255 bytes, and no longer one', async () => {
      const name = `${'ä'.repeat(127)}x`;
      await writeFile(at(name), 'first');
      await writeFile(at(name), 'long');
      expect(await readFile(at(name), 'utf8')).toBe('long');
      await expect(writeFile(at(name), 'x', { backups: 1 })).rejects.toMatchObject({ code: 'HF_IO' });
      expect(text(name)).toBe('long');
      await expect(writeFile(at(`${name}x`), 'x')).rejects.toMatchObject({ code: 'HF_IO' });
      await writeFiles([{ path: at(name), data: 'together' }]);
      expect(text(name)).toBe('together');
      expect(names()).toEqual([name]);
    });

    it('keep as many versions as asked for, never an empty one', async () => {
      for (const n of [1, 2, 3, 4]) await writeFile(at('a'), `v${n}`, { backups: 2 });
      expect(['a', 'a.bak1', 'a.bak2'].map(text)).toEqual(['v4', 'v3', 'v2']);
      writeFileSync(at('a'), '');
      await writeFile(at('a'), 'v5', { backups: 2 });
      expect(['a', 'a.bak1', 'a.bak2'].map(text)).toEqual(['v5', 'v3', 'v2']);
      expect(names()).toEqual(['a', 'a.bak1', 'a.bak2']);
    });

    it('do without syncs when asked to, and the rest is the same', async () => {
      await writeFile(at('a'), 'first', { durable: false });
      await writeFile(at('a'), 'second', { durable: false, backups: 1 });
      expect(['a', 'a.bak1'].map(text)).toEqual(['second', 'first']);
    });

    it('keep the order of calls for one file, under whatever name', async () => {
      mkdirSync(at('real'));
      symlinkSync(at('real'), at('alias'));
      symlinkSync('real/a', at('link'));
      const paths = [at('real', 'a'), at('alias', 'a'), at('link')];
      const dangling = 'create' as const;
      const writes = Array.from({ length: 60 }, (_, n) => writeFile(paths[n % 3] as string, `${n}`, { dangling }));
      const seen = readFile(at('real', 'a'), 'utf8');
      writes.push(writeFile(at('real', 'a'), 'last'));
      expect(await seen).toBe('59');
      await Promise.all(writes);
      expect(text('real/a')).toBe('last');
      expect(readdirSync(at('real'))).toEqual(['a']);
    });

    it('write only the newest of those that wait, when told to, and resolve all of them', async () => {
      const writes = Array.from({ length: 50 }, (_, n) => {
        return writeFile(at('a'), `${n}`, { coalesce: true, backups: 9 });
      });
      await Promise.all(writes);
      expect(text('a')).toBe('49');
      expect(names().length).toBeLessThan(5);
    });

    it.skipIf(process.platform !== 'linux')(
      'sweep what a dead process left, and nothing that a live one may need',
      async () => {
        const own = tempName();
        const [, pid, start, boot, namespace] = own.split('-') as [string, string, string, string, string];
        const dead = own.replace(`-${pid}-${start}-`, `-${pid}-${Number(start) + 1}-`);
        const beforeReboot = own.replace(`-${boot}-`, '-00000000-');
        const otherContainer = own.replace(`-${namespace}-`, '-11111111-');
        const old = otherContainer.replace('11111111', '22222222');
        const orphan = '.holdfast-0123456789abcdef-0.staged';
        const gone = [dead, beforeReboot, old, orphan];
        const kept = [own, otherContainer, '.holdfast-other', '.a.tmp'];
        for (const name of [...gone, ...kept]) writeFileSync(at(name), '');
        utimesSync(at(old), 1, 1);
        await recover(directory);
        expect(names()).toEqual(kept.sort());
        writeFileSync(at(dead), '');
        mkdirSync(at('fresh'));
        writeFileSync(at('fresh', dead), '');
        await writeFile(at('fresh', 'a'), 'x');
        expect(readdirSync(at('fresh'))).toEqual(['a']);
      },
    );

    it('refuse misuse before anything happens', async () => {
      for (const options of [{ mode: -1 }, { backups: 10 }, { durable: 1 }, { dangling: 'no' }, { colour: 1 }, null]) {
        await expect(writeFile(at('a'), 'x', options as never)).rejects.toThrow(TypeError);
      }
      await expect(writeFile(at('a'), 'x', { encoding: 'latin9' as never })).rejects.toThrow(/encoding/);
      await expect(readFile(at('a'), 'latin9' as never)).rejects.toThrow(TypeError);
      await expect(readFile(at('a'), { encodng: 'utf8' } as object)).rejects.toThrow(/`encodng`/);
      await expect(readFile(at('a'), null as never)).rejects.toThrow(/Expected options/);
      await expect(readJson(at('a'), { shema: z.string() } as object)).rejects.toThrow(/`shema`/);
      await expect(recover(at(), { takover: true } as object)).rejects.toThrow(/`takover`/);
      await expect(recover(at(), { takeover: 'yes' } as never)).rejects.toThrow(/`takeover`/);
      await expect(writeFile('', 'x')).rejects.toThrow(TypeError);
      await expect(writeFile('a\0b', 'x')).rejects.toThrow(TypeError);
      await expect(writeFile(at('a'), 7 as never)).rejects.toThrow('Expected `data` to be text or bytes, got 7');
      expect(names()).toEqual([]);
    });
  });

  describe(`writeJson and readJson (${how})`, () => {
    const Point = z.object({ x: z.number(), y: z.number().optional() });

    it('write and read a value', async () => {
      await writeJson(at('a.json'), { x: 1, y: undefined }, { schema: Point });
      expect(text('a.json')).toBe('{\n  "x": 1\n}\n');
      const { x } = await readJson(at('a.json'), { schema: Point });
      expect(x).toBe(1);
      await writeJson(at('a.json'), [1], { space: 0 });
      expect(text('a.json')).toBe('[1]\n');
      expect(await readJson(at('a.json'))).toEqual([1]);
    });

    it('leave the file as it was when the value cannot be held', async () => {
      await writeJson(at('a.json'), { x: 1 });
      const cyclic: { self?: unknown } = {};
      cyclic.self = cyclic;
      for (const value of [undefined, cyclic, { x: 1n }, { x: Number.NaN }, { at: new Date(0) }, () => 1, new Map()]) {
        await expect(writeJson(at('a.json'), value)).rejects.toMatchObject({ code: 'HF_VALUE' });
      }
      await expect(writeJson(at('a.json'), { x: 'no' }, { schema: Point })).rejects.toMatchObject({
        code: 'HF_SCHEMA',
        path: ['x'],
      });
      await expect(writeJson(at('a.json'), { x: 1 }, { space: '--' })).rejects.toMatchObject({ code: 'HF_VALUE' });
      expect(await readJson(at('a.json'))).toEqual({ x: 1 });
      expect(names()).toEqual(['a.json']);
    });

    it('refuse a schema that rewrites', async () => {
      const schema = z.object({ x: z.string().transform(Number) });
      await expect(writeJson(at('a.json'), { x: '1' }, { schema })).rejects.toMatchObject({ code: 'HF_SCHEMA' });
    });

    it('tell a damaged file from a missing one, and leave both alone', async () => {
      await expect(readJson(at('a.json'))).rejects.toMatchObject({ code: 'ENOENT' });
      for (const content of ['', '{"x": 1', 'null null']) {
        writeFileSync(at('a.json'), content);
        await expect(readJson(at('a.json'))).rejects.toMatchObject({ code: 'HF_DAMAGED' });
        expect(text('a.json')).toBe(content);
      }
      writeFileSync(at('a.json'), '{"x": "no"}');
      await expect(readJson(at('a.json'), { schema: Point })).rejects.toMatchObject({ code: 'HF_SCHEMA' });
    });

    it('do not make a backup of what does not parse', async () => {
      await writeJson(at('a.json'), 1, { backups: 2 });
      await writeJson(at('a.json'), 2, { backups: 2 });
      writeFileSync(at('a.json'), '{"x": 1');
      await writeJson(at('a.json'), 3, { backups: 2 });
      expect(names()).toEqual(['a.json', 'a.json.bak1']);
      expect(text('a.json.bak1')).toBe('1\n');
    });
  });

  describe(`writeFiles (${how})`, () => {
    it('replaces files in several directories, through links, and leaves nothing else', async () => {
      mkdirSync(at('a'));
      mkdirSync(at('b'));
      writeFileSync(at('a', '1'), 'old', { mode: 0o600 });
      symlinkSync('../a/1', at('b', 'link'));
      const files = [
        { path: at('b', 'link'), data: 'one' },
        { path: at('b', '2'), data: Buffer.from('two'), mode: 0o640 },
        { path: at('a', '3'), data: '' },
      ];
      await writeFiles(files);
      expect(['a/1', 'b/2', 'a/3'].map(text)).toEqual(['one', 'two', '']);
      expect(statSync(at('a', '1')).mode & 0o777).toBe(0o600);
      expect(statSync(at('b', '2')).mode & 0o777).toBe(0o640 & ~process.umask());
      expect([readdirSync(at('a')), readdirSync(at('b'))]).toEqual([
        ['1', '3'],
        ['2', 'link'],
      ]);
      await writeFiles([]);
    });

    it('refuses options that mean nothing to it, of all files and of one', async () => {
      writeFileSync(at('a'), 'old');
      const files = [{ path: at('a'), data: 'new' }];
      for (const option of [{ mode: 0o600 }, { backups: 3 }, { durable: true }])
        await expect(writeFiles(files, option as object)).rejects.toThrow(/taken here \(encoding, dangling\)/);
      const own = files.map((file) => ({ ...file, backups: 3 }));
      await expect(writeFiles(own)).rejects.toThrow(/taken here \(mode\), got `backups`/);
      await expect(writeJson(at('a'), 1, { encoding: 'latin1' } as object)).rejects.toThrow(TypeError);
      expect(text('a')).toBe('old');
    });

    it('refuses the same file twice, under whatever name', async () => {
      symlinkSync('a', at('link'));
      writeFileSync(at('a'), 'old');
      for (const other of [at('a'), at('link'), `${directory}/./a`]) {
        const files = [at('a'), other].map((path) => ({ path, data: 'new' }));
        await expect(writeFiles(files)).rejects.toThrow(TypeError);
      }
      expect(text('a')).toBe('old');
    });

    it('changes none when one cannot be written, and names it', async () => {
      writeFileSync(at('a'), 'old');
      mkdirSync(at('b'));
      const files = [
        { path: at('a'), data: 'new' },
        { path: at('b'), data: 'new' },
      ];
      await expect(writeFiles(files)).rejects.toMatchObject({ code: 'HF_IO', message: new RegExp(at('b')) });
      files[1] = { path: at('no', 'c'), data: 'new' };
      await expect(writeFiles(files)).rejects.toMatchObject({ code: 'HF_IO', message: new RegExp(at('no', 'c')) });
      expect(text('a')).toBe('old');
      expect(names()).toEqual(['a', 'b']);
    });

    it('goes one after the other where they meet, with single writes in between', async () => {
      mkdirSync(at('a'));
      mkdirSync(at('b'));
      const paths = [at('a', '1'), at('a', '2'), at('b', '1'), at('b', '2')];
      const all: Promise<void>[] = [];
      for (let n = 0; n < 10; n++) {
        all.push(writeFiles(paths.map((path) => ({ path, data: `${n}` }))));
        all.push(writeFile(at('a', 'other'), `${n}`), writeFile(at('b', '2'), `single ${n}`));
      }
      await Promise.all(all);
      expect(paths.map((path) => readFileSync(path, 'utf8'))).toEqual(['9', '9', '9', 'single 9']);
      expect(readdirSync(at('a'))).toEqual(['1', '2', 'other']);
    });

    it('does not touch a second name of a file that it replaces', async () => {
      writeFileSync(at('a'), 'old');
      linkSync(at('a'), at('b'));
      await writeFiles([{ path: at('a'), data: 'new' }]);
      expect(['a', 'b'].map(text)).toEqual(['new', 'old']);
      unlinkSync(at('b'));
    });
  });
}
