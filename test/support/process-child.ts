// Programs that use the built package, each in a process of its own: started from the project's root, watched line by
// line, and ended by their pid.

import { type ChildProcess, spawn } from 'node:child_process';

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  /** It was ended because it did not end by itself in time. */
  isHung: boolean;
}

export interface Running {
  readonly pid: number;
  readonly lines: readonly string[];
  /** Resolves with the first line, already printed or still to come, that begins like this; null when it ended before. */
  line(prefix: string): Promise<string | null>;
  kill(signal: NodeJS.Signals): void;
  write(text: string): void;
  readonly ended: Promise<Ended>;
}

/** For programs: `say(line)`, in the pipe before anything else happens, however slow its reader is. Needs `writeSync`. */
export const SAY = `
const say = (line) => {
  const bytes = Buffer.from(line + '\\n');
  for (let at = 0; at < bytes.length; ) {
    try { at += writeSync(1, bytes, at); } catch (error) { if (error.code !== 'EAGAIN') throw error; }
  }
};`;

export interface StartOptions {
  /** In front of node, as in `strace -f`. */
  wrapper?: readonly string[];
  env?: Record<string, string>;
  /** No program here takes that long unless it hangs. @default 60000 */
  timeoutMs?: number;
}

/** Runs a module that may `import { open } from 'holdfast'`. */
export function start(program: string, { wrapper = [], env = {}, timeoutMs = 60_000 }: StartOptions = {}): Running {
  const [command, ...args] = [...wrapper, process.execPath, '--input-type=module', '-e', program];
  const child = spawn(command as string, args, { cwd: process.cwd(), env: { ...process.env, ...env } });
  return watch(child, timeoutMs);
}

/** Runs it to its end. */
export function run(program: string, options: StartOptions = {}): Promise<Ended> {
  return start(program, options).ended;
}

function watch(child: ChildProcess, timeoutMs: number): Running {
  const lines: string[] = [];
  const waiting: { prefix: string; resolve: (line: string | null) => void }[] = [];
  let stdout = '';
  let stderr = '';
  let rest = '';
  let isHung = false;
  const take = (line: string) => {
    lines.push(line);
    for (const one of waiting.filter(({ prefix }) => line.startsWith(prefix))) {
      waiting.splice(waiting.indexOf(one), 1);
      one.resolve(line);
    }
  };
  child.stdout?.on('data', (chunk) => {
    stdout += chunk;
    const parts = (rest + chunk).split('\n');
    rest = parts.pop() ?? '';
    parts.forEach(take);
  });
  child.stderr?.on('data', (chunk) => {
    stderr += chunk;
  });
  // A program that was killed does not read what we still have to say.
  child.stdin?.on('error', () => undefined);
  const timer = setTimeout(() => {
    isHung = true;
    child.kill('SIGKILL');
  }, timeoutMs);
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      for (const { resolve: tell } of waiting.splice(0)) tell(null);
      resolve({ code, signal, stdout, stderr, isHung });
    });
  });
  return {
    pid: child.pid ?? 0,
    lines,
    ended,
    line: (prefix) => {
      const found = lines.find((line) => line.startsWith(prefix));
      if (found !== undefined) return Promise.resolve(found);
      if (child.exitCode !== null || child.signalCode !== null) return ended.then(() => null);
      return new Promise((resolve) => waiting.push({ prefix, resolve }));
    },
    kill: (signal) => void child.kill(signal),
    write: (text) => void child.stdin?.write(text),
  };
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
