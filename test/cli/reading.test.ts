// The commands that only read, as a person or a script uses them: in a pipe and in a terminal, on sound, running, damaged
// and missing stores.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { flip, folder, hiddenFiles, Life, LOOP, type Loop, traces } from '../inspect/support.js';
import { openStore } from '../store/support.js';
import { start } from '../support/process-child.js';
import { CLI, hasTmux, holdfast, liveLoop, Terminal, WITHOUT_TMUX } from './support.js';

/** A loop with a few items done, backups and a log. */
async function saved(): Promise<string> {
  const directory = folder();
  const store = await openStore(directory, { audit: false });
  const loop = await store.doc<Loop>('loop', { initial: LOOP });
  await store.doc('features/upload', { initial: { steps: ['plan', { title: 'build' }] } });
  const log = await store.log('events');
  for (let n = 1; n <= 4; n++) {
    loop.update((s) => {
      s.completed.push(`item-${n}`);
      s.outputs[`item-${n}`] = { tokens: n };
    });
    log.append({ n });
    await store.flush({ projected: true });
  }
  await store.close();
  return directory;
}

/** About so many MiB, in frames larger than any window. */
function largeStore(mebibytes: number): string {
  const life = new Life();
  life.make('loop', { pad: '' });
  const doc = life.truth.doc<{ pad: string }>('loop', { initial: { pad: '' } });
  const pad = 'x'.repeat(1024 * 1024);
  for (let n = 0; n < mebibytes; n++) doc.update((s) => void (s.pad = pad + n));
  life.truth.close();
  return life.directory;
}

const ESCAPE = '\x1b';

describe('in a pipe', () => {
  it('inspect says what there is, and prints a document or a part of it', async () => {
    const directory = await saved();
    const before = traces(directory);
    const { code, out, err } = holdfast(['inspect', directory]);
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(
      /health +sound\n +open in +no process\n +last commit +10, .* \((just now|\d+ seconds? ago)\), durable\n +history +from commit 1/,
    );
    expect(out).toMatch(
      /features\/upload +1 +\d+ B +current +0\nloop +5 +\d+ B +current +3\n\nLOG +ENTRIES\nevents +4\n/,
    );
    expect(out).not.toContain(ESCAPE);
    const summary = JSON.parse(holdfast(['inspect', directory, '--json']).out);
    expect(summary).toMatchObject({
      health: { kind: 'sound' },
      owner: { kind: 'nobody' },
      documents: [{ name: 'features/upload' }, { name: 'loop', version: 5, file: 'current' }],
      logs: [{ name: 'events', entries: 4 }],
      last: { seq: 10 },
    });
    const part = (path: string) => holdfast(['inspect', directory, '--doc', 'features/upload', '--path', path]);
    expect(JSON.parse(part('steps[1].title').out)).toBe('build');
    expect(part('["steps"]').out).toBe('[\n  "plan",\n  {\n    "title": "build"\n  }\n]\n');
    expect(part('steps[7]')).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('steps has 2 items. (HF_MISSING)'),
    });
    expect(part('steps[')).toMatchObject({ code: 2, err: expect.stringContaining('Expected --path like') });
    expect(traces(directory)).toEqual(before);
  });

  it('log, show and diff go back in time', async () => {
    const directory = await saved();
    const log = (...args: string[]) => holdfast(['log', directory, ...args]);
    expect(log('-n', '2').out).toMatch(
      /^ +10 {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}events {2}\(log\) \+= \{"n":4\}\n +9 {2}.* {2}loop {2}completed \+= "item-4"\n +loop {2}outputs\["item-4"\] = \{"tokens":4\}\n$/,
    );
    expect(log('--doc', 'events', '--since', '4').out.match(/\(log\)/g)).toHaveLength(3);
    expect(log('--doc', 'event')).toMatchObject({ code: 0, out: '', err: expect.stringContaining("changed 'event'") });
    // A time as it is shown leads to the commit that it is shown for.
    const shownTime = /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/.exec(log('-n', '1').out)?.[0] as string;
    const then = holdfast(['show', directory, 'loop', '--at', shownTime, '--path', 'completed[3]']);
    expect(then).toMatchObject({ code: 0, out: '"item-4"\n' });
    expect(log('--since', shownTime).out).toContain('item-4');
    const lines = log('--json').out.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line).seq)).toEqual([10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
    const shown = holdfast(['show', directory, 'loop', '--at', '5', '--path', 'completed']);
    expect(JSON.parse(shown.out)).toEqual(['item-1', 'item-2']);
    expect(JSON.parse(holdfast(['show', directory, 'loop', '--at', 'bak1', '--json']).out)).toMatchObject({
      kind: 'backup',
      state: { completed: ['item-1', 'item-2', 'item-3'] },
    });
    expect(holdfast(['diff', directory, 'loop', '5', '7']).out).toBe(
      '+ completed[2] = "item-3"\n+ outputs["item-3"] = {"tokens":3}\n',
    );
    expect(holdfast(['diff', directory, 'loop', '10', '9'])).toMatchObject({
      code: 0,
      out: '',
      err: 'No difference.\n',
    });
    const json = holdfast(['diff', directory, 'loop', '9', '7', '--json']).out.trim().split('\n');
    expect(json.map((line) => JSON.parse(line))).toEqual([
      { kind: 'removed', path: ['completed', 3], before: 'item-4' },
      { kind: 'removed', path: ['outputs', 'item-4'], before: { tokens: 4 } },
    ]);
  });

  it('says in one line what is wrong and what to do, and where it came from only when asked', async () => {
    const directory = await saved();
    const failing: [string[], RegExp][] = [
      [['log'], /^holdfast: Expected DIR, got no DIR/],
      [['log', directory, '--limit', 'x'], /^holdfast: Expected --limit to be a number, got 'x'/],
      [['lgo', directory], /^holdfast: There is no command 'lgo'\. Did you mean log\? See holdfast --help/],
      [['frobnicate'], /^holdfast: There is no command 'frobnicate'\. See holdfast --help/],
      [
        ['log', directory, '--limt', '3'],
        /^holdfast: Unknown option '--limt'\. Did you mean --limit\? See holdfast log/,
      ],
      [['log', directory, '--nonsense'], /^holdfast: Unknown option '--nonsense'\. See holdfast log --help/],
      [['show', directory], /^holdfast: Expected `doc` to be a document of .*: features\/upload, loop\./],
      [
        ['show', directory, 'loop', '--at', '99'],
        /^holdfast: There is no commit 99 .* the newest one is 10\. \(HF_MISSING\)/,
      ],
      [['show', directory, 'loop', '--at', '1999-12-31T00:00Z'], /^holdfast: Nothing is kept from 1999-12-31/],
      [['show', directory, 'lop'], /^holdfast: There was no document 'lop' .* See holdfast inspect .*\(HF_MISSING\)/],
      [
        ['show', directory, 'loop', '--at', '-5'],
        /^holdfast: Option '--at' argument is ambiguous\. See holdfast show --help/,
      ],
      [['show', directory, 'loop', '--path', '["\\x"]'], /^holdfast: Expected --path like/],
      [['diff', directory, 'loop'], /^holdfast: Expected DIR DOC A \[B\]/],
      [
        ['inspect', join(directory, 'loop.json')],
        /^holdfast: .* is in the store .*, and 'loop' as the document\. \(HF_MISSING\)/,
      ],
      [['verify', folder()], /^holdfast: .* holds no store/],
    ];
    for (const [args, expected] of failing) {
      const { code, out, err } = holdfast(args);
      expect([code, out], args.join(' ')).toEqual([2, '']);
      expect(err).toMatch(expected);
      expect(err.trimEnd()).not.toContain('\n');
    }
    expect(holdfast(['show', directory, 'loop', '--at', '99', '--debug']).err).toMatch(/\n +at /);
  });

  it('what a text holds moves no cursor: JSON leaves the second set of control characters as they are', () => {
    const life = new Life();
    life.make('loop', LOOP);
    life.change<Loop>('loop', (loop) => void (loop.text = '\u009b31m'));
    life.change<Loop>('loop', (loop) => void (loop.outputs['\u009bJ'] = { tokens: 1 }));
    life.truth.close();
    const log = holdfast(['log', life.directory]).out;
    expect(log).toContain('loop  text = "�31m"');
    const diff = holdfast(['diff', life.directory, 'loop', '1', '3']).out;
    expect(diff).toContain('+ text = "�31m"');
    expect(log + diff).not.toContain('\u009b');
  });

  it('verify tells by its exit code', async () => {
    const directory = await saved();
    const sound = holdfast(['verify', directory]);
    expect([sound.code, sound.err]).toEqual([0, '']);
    expect(sound.out).toMatch(/ {2}sound\n {2}10 commits, 1 file of the journal, 6 for people: .* in \d+\.\d s/);
    writeFileSync(join(directory, 'loop.json'), '{"completed":[]}');
    const edited = holdfast(['verify', directory]);
    expect(edited.code).toBe(1);
    expect(edited.out).toMatch(
      /edited\? +.*loop\.json holds other data.*\n {2}next: npx holdfast adopt \S+ loop keeps/,
    );
    flip(hiddenFiles(directory, '.tail')[0] as string, 400);
    const damaged = holdfast(['verify', directory, folder()]);
    expect(damaged.code).toBe(1);
    expect(damaged.out).toMatch(
      / {2}damaged\n.*\n {2}does not open .*tail is damaged at byte \d+: commits? .* cannot be read\n {2}next: .*npx holdfast repair/,
    );
    expect(damaged.err).toMatch(/could not tell: .* holds no store/);
    const [line, other] = holdfast(['verify', directory, folder(), '--json']).out.trimEnd().split('\n');
    expect(JSON.parse(line as string)).toMatchObject({ verdict: 'damaged', isOpenable: false });
    expect(JSON.parse(other as string)).toMatchObject({ verdict: 'unknown', error: { code: 'HF_MISSING' } });
    const inspected = holdfast(['inspect', directory]);
    expect(inspected.code).toBe(1);
    expect(inspected.out).toMatch(/health +damaged: whole up to commit \d+, \d+ commits? lost\n/);
  });

  it('inspect shows of a damaged store what is left, and which file has more', async () => {
    const directory = await saved();
    flip(hiddenFiles(directory, '.tail')[0] as string, 400);
    const { out } = holdfast(['inspect', directory]);
    expect(out).toMatch(/\nloop +\d .* ahead +3\n/);
    expect(out).toMatch(/\nLOG +ENTRIES\nevents +\d\n$/);
  });

  it('verify needs no memory for a store that is larger than its heap', () => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['--max-old-space-size=32', CLI, 'verify', largeStore(100)],
      { encoding: 'utf8' },
    );
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/ {2}sound\n.* 100 MiB in/);
  });

  it('log --follow needs no memory for a history that is larger than its heap', async () => {
    const args = ['--max-old-space-size=32', CLI, 'log', largeStore(100), '--follow', '--since', '0'];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
      if (/^ +101 /m.test(text)) child.kill('SIGINT');
    });
    const [code] = await once(child, 'close');
    expect([code, text.split('\n').length]).toEqual([0, 102]);
  });

  it('Ctrl-C ends log while nothing that it reads is what was asked for', async () => {
    // Each window of 100 MiB takes its time.
    const slow = `import fs, { writeSync } from 'node:fs'; import { syncBuiltinESMExports } from 'node:module';
      const { readSync } = fs; const bed = new Int32Array(new SharedArrayBuffer(4));
      fs.readSync = (...all) => { writeSync(1, 'reads'); Atomics.wait(bed, 0, 0, 400); return readSync(...all); };
      syncBuiltinESMExports();`;
    const args = ['--import', `data:text/javascript,${slow}`, CLI, 'log', largeStore(100), '--doc', 'nobody'];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    let windows = 0;
    child.stdout.on('data', () => {
      if (++windows === 12) child.kill('SIGINT');
    });
    const [code] = await once(child, 'exit');
    expect(code).toBe(0);
    expect(windows).toBeLessThan(50);
  });

  it('ends quietly when whoever reads has seen enough', async () => {
    const life = new Life();
    life.make('loop', LOOP);
    const doc = life.truth.doc<Loop>('loop', { initial: LOOP });
    for (let n = 0; n < 5000; n++) doc.update((loop) => void loop.completed.push(`item-${n}`));
    life.truth.close();
    const line = `${process.execPath} ${CLI} log ${life.directory} | head -1`;
    const { stdout, stderr, status } = spawnSync('sh', ['-c', line], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^ +5001 .* completed \+= "item-4999"\n$/);
  });
});

/** DESIGN: what opening makes of it, and so what the commands say. */
const DAMAGES: [what: string, harm: (directory: string) => void, verify: number, said: RegExp, log: number][] = [
  [
    'a torn end, as a crash leaves it',
    (at) => {
      const tail = hiddenFiles(at, '.tail').at(-1) as string;
      writeFileSync(tail, Buffer.concat([readFileSync(tail), Buffer.from([0xff, 0x48, 0x46, 0xfe, 9, 9, 9])]));
    },
    0,
    /sound\n.*\n {2}ordinary +.* has a torn end/,
    0,
  ],
  [
    'the newest base damaged',
    (at) => flip(hiddenFiles(at, '.base').at(-1) as string, 150),
    1,
    /nothing lost +.*base is damaged/,
    0,
  ],
  [
    'a commit that was saved damaged',
    (at) => flip(hiddenFiles(at, '.tail').at(-1) as string, 150),
    1,
    /does not open +.*tail is damaged/,
    1,
  ],
  [
    'the newest tail gone',
    (at) => rmSync(hiddenFiles(at, '.tail').at(-1) as string),
    1,
    /does not open +.*tail is missing/,
    1,
  ],
  [
    'the newest tail cut',
    (at) => truncateSync(hiddenFiles(at, '.tail').at(-1) as string, 200),
    1,
    /does not open +.*tail ends with commit \d+, and commit \d+ was saved/,
    1,
  ],
  [
    'every base damaged',
    (at) => {
      for (const path of hiddenFiles(at, '.base')) flip(path, 150);
    },
    1,
    /does not open +.*has no base that can be read/,
    0,
  ],
  [
    'the newest tail put back from before',
    (at) => {
      const tails = hiddenFiles(at, '.tail');
      copyFileSync(tails[0] as string, tails.at(-1) as string);
    },
    1,
    /does not open/,
    1,
  ],
];

describe('a damaged store', () => {
  it.each(DAMAGES)('%s', (_, harm, verifyCode, said, logCode) => {
    const life = new Life();
    life.make('loop', LOOP);
    for (let n = 2; n <= 15; n++) {
      life.item(n);
      if (n === 5 || n === 10) life.truth.compact();
    }
    life.truth.close();
    harm(life.directory);
    const before = traces(life.directory);
    const verified = holdfast(['verify', life.directory]);
    expect(verified.out).toMatch(said);
    expect([verified.code, verified.err]).toEqual([verifyCode, '']);
    const log = holdfast(['log', life.directory]);
    expect([log.code, log.err]).toEqual([logCode, '']);
    expect(traces(life.directory)).toEqual(before);
  });
});

describe('when its answer cannot be written', () => {
  /** In a shell; the exit code is that of the command, not of who reads. */
  function piped(words: string, behind: string): { code: number; err: string } {
    const line = `${process.execPath} ${CLI} ${words} ${behind}; echo "code \${PIPESTATUS[0]}" >&2`;
    const { stderr } = spawnSync('bash', ['-c', line], { encoding: 'utf8' });
    const [, err = '', code] = /^(.*)code (\d+)\n$/s.exec(stderr) ?? [];
    return { code: Number(code), err };
  }

  it('verify and inspect still say by their exit code what they found', async () => {
    const directory = await saved();
    const broken = await saved();
    flip(hiddenFiles(broken, '.tail')[0] as string, 400);
    expect(piped(`verify ${directory} ${broken}`, '| true')).toEqual({ code: 1, err: '' });
    expect(piped(`verify ${broken} ${directory}`, '| head -1 >/dev/null')).toEqual({ code: 1, err: '' });
    expect(piped(`inspect ${broken}`, '| true')).toEqual({ code: 1, err: '' });
    expect(piped(`verify ${folder()}`, '2>&1 | true')).toEqual({ code: 2, err: '' });
  });

  it.skipIf(!existsSync('/dev/full'))(
    'a full disk is one line, and no exit code that means something else',
    async () => {
      const directory = await saved();
      const expected = {
        code: 2,
        err: expect.stringMatching(/^holdfast: The answer could not be written: ENOSPC.*\n$/),
      };
      for (const words of [
        `verify ${directory}`,
        `show ${directory} loop`,
        `export ${directory} loop`,
        `log ${directory}`,
      ])
        expect(piped(words, '> /dev/full'), words).toEqual(expected);
      flip(hiddenFiles(directory, '.tail')[0] as string, 400);
      expect(piped(`verify ${directory}`, '> /dev/full')).toMatchObject({ code: 1 });
    },
  );

  it('what nobody foresaw is one line, too, and does not pass for damage', async () => {
    const bug = `data:text/javascript,const { stdout } = process; const write = stdout.write.bind(stdout);
      stdout.write = (text) => { setImmediate(() => { throw new Error('a bug'); }); return write(text); };`;
    const args = ['--import', bug, CLI, 'watch', await saved(), '--every', '0.1'];
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 10_000 });
    expect([status, stderr]).toEqual([2, 'holdfast: a bug\n']);
  });
});

it('Ctrl-C ends a command that reads on and on', async () => {
  const slow = `import fs, { writeSync } from 'node:fs'; import { syncBuiltinESMExports } from 'node:module';
    const { readSync } = fs; const bed = new Int32Array(new SharedArrayBuffer(4));
    fs.readSync = (...all) => { writeSync(1, 'reads'); Atomics.wait(bed, 0, 0, 2000); return readSync(...all); };
    syncBuiltinESMExports();`;
  const args = ['--import', `data:text/javascript,${slow}`, CLI, 'inspect', await saved()];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.once('data', () => child.kill('SIGINT'));
  const [code, signal] = await once(child, 'exit');
  expect([code, signal]).toEqual([null, 'SIGINT']);
});

describe('a running store', () => {
  it('is inspected, followed and verified while another process writes it', async () => {
    const file = join(folder(), 'state.json');
    await liveLoop(file);
    const summary = JSON.parse(holdfast(['inspect', file, '--json']).out);
    expect(summary).toMatchObject({ health: { kind: 'sound' }, owner: { kind: 'held', pid: expect.any(Number) } });
    expect(holdfast(['inspect', file]).out).toMatch(/open in +process \d+ on /);
    expect(holdfast(['verify', file]).code).toBe(0);
    const following = start(
      `import { spawn } from 'node:child_process';
       const child = spawn(process.execPath, [${JSON.stringify(CLI)}, 'log', ${JSON.stringify(file)}, '-f', '-n', '2', '--json'], { stdio: ['ignore', 'inherit', 'inherit'] });
       process.stdin.on('data', () => child.kill('SIGINT'));
       child.on('exit', (code, signal) => { console.log('exit ' + (signal ?? code)); process.exit(0); });`,
    );
    while (following.lines.length < 8) await new Promise((resolve) => setTimeout(resolve, 20));
    following.write('stop\n');
    expect(await following.line('exit')).toBe('exit 0');
    const seqs = following.lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line).seq as number);
    expect(seqs).toEqual(seqs.map((_, index) => (seqs[0] as number) + index));
    expect((await following.ended).stderr).toBe('');
  });
});

describe.skipIf(!hasTmux)(`in a terminal${WITHOUT_TMUX}`, () => {
  it('colours what it says, cuts lines where the window ends, and leaves colours away when asked to', async () => {
    const directory = await saved();
    const terminal = new Terminal(directory);
    terminal.run('diff', '.', 'loop', '9', '7');
    await terminal.until('code 0');
    const coloured = terminal.screen({ escapes: true });
    expect(coloured).toContain(`${ESCAPE}[31m- completed[3] = "item-4"`);
    await terminal.clear();
    terminal.run('show', '.', 'features/upload');
    await terminal.until('code 0');
    const json = terminal.screen({ escapes: true });
    expect(json).toContain(`${ESCAPE}[36m"title"${ESCAPE}[39m: ${ESCAPE}[32m"build"`);
    terminal.enter('export NO_COLOR=1');
    await terminal.clear();
    terminal.run('show', '.', 'features/upload');
    expect(await terminal.until('code 0')).toContain('"title": "build"');
    expect(terminal.screen({ escapes: true })).not.toContain(`${ESCAPE}[3`);
    await terminal.clear();
    terminal.run('diff', '.', 'loop', '9', '7');
    await terminal.until('code 0');
    expect(terminal.screen({ escapes: true })).not.toContain(`${ESCAPE}[3`);
    await terminal.clear();
    terminal.run('log', '.', '-n', '3');
    const screen = await terminal.until('code 0');
    expect(screen).toMatch(/loop {2}completed \+= "item-4"/);
    expect(terminal.isRestored).toBe(true);
  });

  it('follows a running loop until Ctrl-C', async () => {
    const file = join(folder(), 'state.json');
    await liveLoop(file);
    const terminal = new Terminal(folder());
    terminal.run('log', file, '--follow');
    const first = await terminal.until(/completed \+= "item-\d+"/);
    const item = /completed \+= "item-(\d+)"/.exec(first)?.[1];
    await terminal.until(`"item-${Number(item) + 12}"`);
    terminal.press('C-c');
    await terminal.until('code 0');
    expect(terminal.isRestored).toBe(true);
  });

  it('colours what is said beside the answer where that is a terminal, too', async () => {
    const directory = folder();
    const terminal = new Terminal(directory);
    terminal.run('inspect', 'nowhere');
    await terminal.until('code 2');
    expect(terminal.screen({ escapes: true })).toContain(`${ESCAPE}[31mholdfast:${ESCAPE}[`);
    await terminal.clear();
    terminal.run('inspect', 'nowhere', '2>', 'errors.txt');
    await terminal.until('code 2');
    expect(readFileSync(join(directory, 'errors.txt'), 'utf8')).toMatch(/^holdfast: nowhere holds no store/);
  });

  it('shows how far a check is, in a narrow window on one line, too', async () => {
    const terminal = new Terminal(largeStore(50));
    terminal.enter('stty cols 30');
    await terminal.clear();
    terminal.run('verify', '.');
    const during = await terminal.until(/█|code 0/);
    const after = await terminal.until('code 0');
    expect(after).not.toContain('█');
    for (const line of during.split('\n').filter((one) => one.includes('░'))) expect(line.length).toBeLessThan(30);
  });

  it('shows how far a check is, and takes the bar away', async () => {
    const terminal = new Terminal(largeStore(50));
    terminal.run('verify', '.');
    const during = await terminal.until(/█.* % .*MiB of .*MiB, .*\/s|code 0/);
    const after = await terminal.until('code 0');
    expect(after).toMatch(/\. {2}sound\n.* 50 MiB in/);
    expect(after).not.toContain('█');
    // On a machine that is fast enough there was nothing to be seen.
    if (!during.includes('code 0')) expect(during).toContain('░');
  });
});
