// Where a command's answer goes. In a pipe not one escape code is written, and with NO_COLOR none that colours.

import { createInterface, type Interface } from 'node:readline/promises';

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;
export type Style = keyof typeof CODES;
const COLUMNS = 80;
const ROWS = 24;

export interface Terminal {
  /** A person is looking: things may be redrawn. */
  readonly isLive: boolean;
  readonly columns: number;
  readonly rows: number;
  /** Aborted by Ctrl-C, which does nothing else once this was asked for. */
  readonly signal: AbortSignal;
  write(text: string | Uint8Array): void;
  line(text?: string): void;
  /** Resolves when whoever reads has taken what was written: a long answer must not pile up in memory. */
  drained(): Promise<void>;
  /** Beside the answer: progress, warnings. */
  note(text: string): void;
  paint(style: Style, text: string): string;
  /** As `paint`, for notes: the two may lead to different places. */
  paintNote(style: Style, text: string): string;
  /** What the person types; null where nobody can be asked. */
  ask(question: string): Promise<string | null>;
  /** Single keys, without Enter, until the returned function is called. Ctrl-C is one of them then. */
  keys(listener: (key: string) => void): () => void;
}

export function processTerminal(signalOf: () => AbortSignal): Terminal {
  const { stdin, stdout, stderr, env } = process;
  const isTerminal = ({ isTTY }: { isTTY?: boolean }) => isTTY === true && env.TERM !== 'dumb';
  const isLive = isTerminal(stdout);
  const painter = (hasColour: boolean) => (style: Style, text: string) =>
    hasColour ? `\x1b[${CODES[style]}m${text}\x1b[0m` : text;
  return {
    isLive,
    // A terminal that nobody told its size has one of 0 (`script`, serial lines, some containers).
    get columns() {
      return stdout.columns || COLUMNS;
    },
    get rows() {
      return stdout.rows || ROWS;
    },
    get signal() {
      return signalOf();
    },
    write: (text) => void stdout.write(text),
    line: (text = '') => void stdout.write(`${text}\n`),
    drained: () =>
      new Promise((resolve) => {
        const signal = signalOf();
        if (!stdout.writableNeedDrain || signal.aborted) return resolve();
        const done = () => {
          stdout.off('drain', done);
          signal.removeEventListener('abort', done);
          resolve();
        };
        stdout.on('drain', done);
        signal.addEventListener('abort', done);
      }),
    note: (text) => void stderr.write(`${text}\n`),
    paint: painter(isLive && !env.NO_COLOR),
    paintNote: painter(isTerminal(stderr) && !env.NO_COLOR),
    ask: async (question) => {
      if (stdin.isTTY !== true || stdout.isTTY !== true) return null;
      return askIn(createInterface({ input: stdin, output: stdout }), question, signalOf());
    },
    keys: (listener) => hearKeys(stdin, listener),
  };
}

/** Ctrl-C and Ctrl-D end the reading without an answer, and so does being told to stop: an empty one is given then. */
async function askIn(asking: Interface, question: string, signal: AbortSignal): Promise<string> {
  const end = () => asking.close();
  const ended = new Promise<string>((resolve) => asking.once('close', () => resolve('')));
  signal.addEventListener('abort', end);
  try {
    return await Promise.race([asking.question(question), ended]);
  } finally {
    signal.removeEventListener('abort', end);
    asking.close();
  }
}

function hearKeys(stdin: NodeJS.ReadStream, listener: (key: string) => void): () => void {
  if (stdin.isTTY !== true) return () => undefined;
  const hear = (bytes: Buffer) => listener(bytes.toString());
  stdin.setRawMode(true);
  stdin.on('data', hear);
  return () => {
    stdin.off('data', hear);
    stdin.setRawMode(false);
    // Else it keeps the process alive.
    stdin.pause();
  };
}
