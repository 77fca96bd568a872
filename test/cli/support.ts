// The command as a person runs it: the built program, in a pipe or in a real terminal (tmux).

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach } from 'vitest';
import { folder } from '../store/support.js';

const root = join(import.meta.dirname, '../..');
export const CLI = join(root, 'dist/src/cli/main.js');

export interface Ran {
  code: number | null;
  out: string;
  err: string;
}

/** In a pipe. */
export function holdfast(args: readonly string[], { cwd }: { cwd?: string } = {}): Ran {
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, ...args], {
    encoding: 'utf8',
    timeout: 30_000,
    cwd,
  });
  return { code: status, out: stdout, err: stderr };
}

const children: ChildProcess[] = [];
const terminals: Terminal[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const terminal of terminals.splice(0)) terminal.end();
});

export function start(args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [CLI, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  return child;
}

/** Another process that works through a loop, 20 items a second, and says `ready` when it has the store. */
export async function liveLoop(file: string): Promise<ChildProcess> {
  const script = join(folder(), 'loop.mjs');
  const library = pathToFileURL(join(root, 'dist/src/loop/index.js')).href;
  writeFileSync(
    script,
    `import { runLoop } from ${JSON.stringify(library)};
     const items = Array.from({ length: 2000 }, (_, n) => 'item-' + (n + 1));
     await runLoop(items, ${JSON.stringify(file)}, async (item) => {
       if (item === 'item-3') console.log('ready');
       await new Promise((done) => setTimeout(done, 50));
     });`,
  );
  const child = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  await new Promise((resolve) => child.stdout?.once('data', resolve));
  return child;
}

export const hasTmux = spawnSync('tmux', ['-V']).status === 0;
export const WITHOUT_TMUX = hasTmux ? '' : ' (skipped: needs tmux)';

const SERVER = `holdfast-test-${process.pid}`;
let count = 0;

/** A terminal of 100 columns and 30 rows with a shell in it; the prompt is `$ `. */
export class Terminal {
  readonly #name = `t${++count}`;

  constructor(cwd: string) {
    const shell = `cd ${cwd}; export PS1='$ '; unset NO_COLOR; exec sh`;
    tmux('new-session', '-d', '-s', this.#name, '-x', '100', '-y', '30', shell);
    terminals.push(this);
  }

  type(text: string): void {
    tmux('send-keys', '-t', this.#name, '-l', text);
  }

  /** A key by its name: Enter, C-c. */
  press(key: string): void {
    tmux('send-keys', '-t', this.#name, key);
  }

  /** A whole line. */
  enter(line: string): void {
    this.type(line);
    this.press('Enter');
  }

  /** Nothing but the prompt: what is seen next was not there before. */
  async clear(): Promise<void> {
    this.enter('clear');
    await this.until(/^\$\s*$/);
  }

  /** The command, and behind it its exit code. */
  run(...args: string[]): void {
    this.enter(`${process.execPath} ${CLI} ${args.join(' ')}; echo "code $?"`);
  }

  /** What is to be seen, from the first line to the last. With colours as escape codes when asked for. */
  screen({ escapes = false } = {}): string {
    return tmux('capture-pane', '-p', ...(escapes ? ['-e'] : []), '-t', this.#name);
  }

  async until(text: string | RegExp): Promise<string> {
    const deadline = performance.now() + 15_000;
    for (;;) {
      const screen = this.screen();
      if (typeof text === 'string' ? screen.includes(text) : text.test(screen)) return screen;
      if (performance.now() > deadline) throw new Error(`Never saw ${text} on:\n${screen}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Whether the cursor shows, keys are echoed and the other screen is left. */
  get isRestored(): boolean {
    const state = tmux('display-message', '-p', '-t', this.#name, '#{cursor_flag} #{alternate_on} #{wrap_flag}');
    return state.trim() === '1 0 1';
  }

  end(): void {
    tmux('kill-session', '-t', this.#name);
  }
}

function tmux(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync('tmux', ['-L', SERVER, '-f', '/dev/null', ...args], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`tmux ${args[0]}: ${stderr}`);
  return stdout;
}
