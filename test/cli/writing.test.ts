// The commands that write, as a person uses them: in a pipe and in a terminal.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  contents,
  copyOf,
  emptyFolder,
  filesLike,
  hidden,
  ITEMS,
  makeStore,
  quarantined,
  removeAll,
  rotten,
  torn,
  withRottenBase,
} from '../mend/support.js';
import { folder, json } from '../store/support.js';
import { CLI, hasTmux, holdfast, liveLoop, Terminal, WITHOUT_TMUX } from './support.js';

let sound: string;
beforeAll(async () => {
  sound = await makeStore(join(mkdtempSync(join(tmpdir(), 'holdfast-cli-')), '.agent'));
  return () => rmSync(join(sound, '..'), { recursive: true });
});

const ONE_LINE = /^holdfast: [^\n]+\n$/;

function spoil(directory: string, name: string, text: string | null): string {
  const path = join(directory, name);
  if (text === null) rmSync(path);
  else writeFileSync(path, text);
  return directory;
}

function withoutJournal(directory: string): string {
  removeAll(...filesLike(directory, '.tail'));
  return directory;
}

describe('repair in a pipe', () => {
  const WAYS: [what: string, make: (directory: string) => string, dryCode: number, says: RegExp][] = [
    ['sound', (directory) => directory, 0, /^sound .*nothing to repair\.\n$/],
    ['torn at its end', torn, 0, /to mend .*nothing that was saved is lost\n.*crash cut off/],
    [
      'with a rotten base',
      withRottenBase,
      0,
      /to mend .*\n.*\.base is damaged: the older base and the tails have everything/,
    ],
    ['rotten in the middle', rotten, 1, /damaged .*broken: commits \d+ to \d+.*Will be kept.*loop +version \d of 13/s],
    ['without its journal', withoutJournal, 1, /Will be kept\n +nothing/],
    ['with a file missing', (d) => spoil(d, 'loop.json', null), 0, /loop\.json is missing: written anew/],
    ['with an empty file', (d) => spoil(d, 'loop.json', ''), 0, /loop\.json is empty: written anew/],
    ['with half a file', (d) => spoil(d, 'loop.json', '{"a'), 0, /loop\.json is cut or damaged: written anew/],
    [
      'with a changed file',
      (d) => spoil(d, 'loop.json', '{}'),
      0,
      /to decide.*holdfast adopt \S+ loop\n.*restore \S+ loop --to saved/s,
    ],
    [
      'with an unknown file that is cut',
      (d) => spoil(d, 'x.json', '{'),
      1,
      /x\.json cannot be read.*mend it, or move it away/,
    ],
  ];

  it.each(WAYS)('a store %s', (what, make, dryCode, says) => {
    const directory = make(copyOf(sound));
    const before = contents(directory);
    const dry = holdfast(['repair', directory]);
    expect(dry.err).toBe('');
    expect(dry.out).toMatch(says);
    expect(dry.out).not.toContain('\x1b');
    expect(dry.code).toBe(dryCode);
    expect(contents(directory)).toEqual(before);
    const isAsking = dry.out.includes('run it again with --yes');
    const done = holdfast(['repair', directory, '--yes']);
    expect(done).toMatchObject({ err: '', code: what.includes('unknown') ? 1 : 0 });
    if (isAsking) expect(done.out).toContain('repaired ');
    if (quarantined(directory).length > 0) expect(done.out).toContain(`Kept in ${hidden(directory, 'quarantine')}:`);
    expect(done.out.match(/^ {2}\d{6}-\S+$/gm)?.map((line) => line.trim()) ?? []).toEqual(quarantined(directory));
  });
});

it('repair is done to its end, also when nobody reads on', () => {
  const directory = rotten(copyOf(sound));
  const line = `${process.execPath} ${CLI} repair ${directory} --yes | head -1 >/dev/null; exit \${PIPESTATUS[0]}`;
  const { status, stderr } = spawnSync('bash', ['-c', line], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
  // The file holds more than could be kept, and stays until somebody chooses.
  expect(holdfast(['verify', directory])).toMatchObject({ code: 1, out: expect.stringContaining('edited?') });
  expect(holdfast(['restore', directory, 'loop', '--to', 'saved'])).toMatchObject({ code: 0 });
  expect(holdfast(['verify', directory])).toMatchObject({ code: 0 });
});

describe('errors', () => {
  it('are one line with the next step, and no stack without --debug', () => {
    const empty = emptyFolder();
    const missing = holdfast(['repair', empty]);
    expect(missing).toMatchObject({ code: 2, out: '' });
    expect(missing.err).toMatch(ONE_LINE);
    expect(missing.err).toContain('holds no store');
    expect(contents(empty)).toEqual({});
    expect(holdfast(['repair', empty, '--debug']).err).toMatch(/\n {4}at /);
    for (const command of ['adopt', 'restore', 'gc', 'export', 'watch']) {
      const to = command === 'restore' ? ['--to', '1'] : [];
      expect(holdfast([command, empty, ...to]), command).toMatchObject({
        code: 2,
        out: '',
        err: expect.stringMatching(ONE_LINE),
      });
    }
  }, 20_000);

  it.each([
    [['repair'], 'got no DIR'],
    [['repair', 'a', 'b'], 'got "b" as well'],
    [['restore', '.', 'x'], 'Expected --to'],
    [['restore', '.', 'x', '--to', 'item-5'], "got 'item-5'"],
    [['restore', '.', 'x', '--to', 'soon'], "got 'soon'"],
    [['export', '.', 'x', '-f', 'xml'], 'json, jsonl, msgpack'],
    [['watch', '.', '--every', '0'], 'Expected --every'],
    [['gc', '.', '--force'], 'Unknown option'],
  ])('holdfast %j is misuse', (args, why) => {
    const { code, err, out } = holdfast(args as string[]);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(ONE_LINE);
    expect(err).toContain(why);
  });

  it('damage is exit code 1, with the command that helps', () => {
    const directory = rotten(copyOf(sound));
    for (const args of [
      ['adopt', directory, 'loop'],
      ['gc', directory],
      ['restore', directory, 'loop', '--to', '1'],
    ]) {
      const { code, err } = holdfast(args);
      expect(code).toBe(1);
      expect(err).toMatch(ONE_LINE);
      expect(err).toContain(`npx holdfast repair ${directory}`);
    }
  });

  it('a store that another process has open is not written: its owner and the way out are named', async () => {
    const file = join(folder(), 'loop.json');
    const { pid } = await liveLoop(file);
    for (const args of [
      ['restore', file, '--to', '2'],
      ['gc', file, '--yes'],
    ]) {
      if (args[0] === 'gc') writeFileSync(join(file, '../.loop.json.holdfast/quarantine/000001-old'), 'old');
      const { code, err } = holdfast(args);
      expect(code).toBe(2);
      expect(err).toMatch(ONE_LINE);
      expect(err).toContain(`process ${pid}`);
      expect(err).toContain('close it there');
    }
    // Reading it is always possible.
    expect(holdfast(['repair', file])).toMatchObject({ code: 0, out: expect.stringContaining('nothing to repair') });
    expect(JSON.parse(holdfast(['export', file]).out)).toHaveProperty('completed');
  });
});

it('a store whose owner cannot be asked is taken only when told to', () => {
  const directory = copyOf(sound);
  const facts = {
    pid: 4711,
    pidNamespace: 'pid:[1]',
    startTime: '1',
    bootId: 'other',
    machineId: 'other',
    host: 'elsewhere',
  };
  const record = { state: 'held', socket: null, ...facts, since: '2026-11-18T03:00:00.000Z' };
  writeFileSync(hidden(directory, 'lock.99'), JSON.stringify(record));
  const restoring = ['restore', directory, 'loop', '--to', '6'];
  const { code, err } = holdfast(restoring);
  expect(code).toBe(2);
  expect(err).toMatch(ONE_LINE);
  expect(err).toMatch(/process 4711 on host elsewhere.*Here: --takeover/);
  expect(holdfast([...restoring, '--takeover'])).toMatchObject({ code: 0, err: '' });
});

describe('adopt, restore, import, export, gc in a pipe', () => {
  it('adopt takes a changed file over and says that no schema was asked', () => {
    const directory = spoil(copyOf(sound), 'loop.json', '{"mine":1}');
    const { code, out, err } = holdfast(['adopt', directory, 'loop']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^adopted {2}loop is now as in .*version 14\.\nNo schema was asked/);
    expect(out).toContain(`version-13-loop.json`);
    expect(json(directory, 'loop')).toEqual({ mine: 1 });
    expect(holdfast(['adopt', directory, 'loop'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('nothing to adopt'),
    });
  });

  it('restore goes back, from inside the folder, and says where the present state is kept', () => {
    const directory = copyOf(sound);
    const { code, out } = holdfast(['restore', '.', 'loop', '--to', 'bak1'], { cwd: directory });
    expect(code).toBe(0);
    expect(out).toMatch(/^restored {2}loop is as in loop\.json\.bak1, now version 14: loop\.json\n/);
    expect(out).toContain('Kept in .holdfast/quarantine:\n  000001-version-13-loop.json\n');
    expect(holdfast(['repair', directory]).out).toContain('nothing to repair');
  });

  it('import and export are each the other way round', () => {
    const there = folder();
    const text = '{\n  "a": [\n    1,\n    "é"\n  ]\n}\n';
    writeFileSync(join(there, 'state.json'), text);
    expect(holdfast(['import', 'state.json'], { cwd: there }).out).toMatch(
      /^imported {2}state\.json, version 1: state\.json\n/,
    );
    expect(holdfast(['export', 'state.json'], { cwd: there })).toEqual({ code: 0, out: text, err: '' });
    expect(holdfast(['export', sound, 'events', '-f', 'jsonl']).out.split('\n')).toHaveLength(ITEMS + 1);
  });

  it('what cannot be imported is quoted on one line, with the next step behind it', () => {
    const there = folder();
    writeFileSync(join(there, 'notes.json'), 'hello\n\x1b[31m');
    const { code, err } = holdfast(['import', 'notes.json'], { cwd: there });
    expect(code).toBe(1);
    expect(err).toMatch(ONE_LINE);
    expect(err).toMatch(/notes\.json is not whole JSON \(.*\)\. Nothing was touched\. Mend it, then import it/);
    expect(err).not.toContain('\x1b');
  });

  it('gc lists what would go, and removes it with --yes', () => {
    const directory = copyOf(sound);
    writeFileSync(hidden(directory, 'quarantine/000001-old.json'), 'x'.repeat(2048));
    const since = new Date(2026, 10, 18, 3, 4, 5);
    utimesSync(hidden(directory, 'quarantine/000001-old.json'), since, since);
    const dry = holdfast(['gc', directory]);
    expect(dry.out).toMatch(/2\.0 KiB {2}2026-11-18 03:04 {2}000001-old\.json\nWould be removed: 1 file, 2\.0 KiB\./);
    expect(quarantined(directory)).toHaveLength(1);
    expect(holdfast(['gc', directory, '-y']).out).toContain('removed  1 file, 2.0 KiB.');
    expect(quarantined(directory)).toEqual([]);
    expect(holdfast(['gc', directory]).out).toContain('nothing to remove');
  });
});

describe.skipIf(!hasTmux)(`in a terminal${WITHOUT_TMUX}`, () => {
  it('repair shows in colour what it will do, and does it after a typed yes', async () => {
    const directory = rotten(copyOf(sound));
    const terminal = new Terminal(join(directory, '..'));
    terminal.run('repair', '.agent');
    await terminal.until('Type yes to do it:');
    expect(terminal.screen({ escapes: true })).toContain('\x1b[31mdamaged');
    terminal.enter('yes');
    const screen = await terminal.until('code 0');
    expect(screen).toContain('repaired  .agent opens again.');
    expect(screen).toContain('Kept in .agent/.holdfast/quarantine:');
    terminal.enter('clear');
    terminal.run('restore', '.agent', 'loop', '--to', 'saved');
    await terminal.until('code 0');
    terminal.run('repair', '.agent');
    await terminal.until('sound  .agent: there is nothing to repair.');
  });

  it.each([
    ['another answer', (terminal: Terminal) => terminal.enter('y')],
    ['Ctrl-C', (terminal: Terminal) => terminal.press('C-c')],
    ['Ctrl-D', (terminal: Terminal) => terminal.press('C-d')],
  ])('%s is a no', async (_, answer) => {
    const directory = rotten(copyOf(sound));
    const before = contents(directory);
    const terminal = new Terminal(join(directory, '..'));
    terminal.run('repair', '.agent');
    await terminal.until('Type yes to do it:');
    answer(terminal);
    expect(await terminal.until('code 1')).toContain('Nothing was done.');
    expect(contents(directory)).toEqual(before);
    expect(terminal.isRestored).toBe(true);
  });
});
