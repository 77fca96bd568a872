// `holdfast watch`: a store while another process writes it.

import { type Command, EXIT } from '../command.js';
import { Screen } from '../screen.js';
import type { Terminal } from '../terminal.js';
import { lineOf } from '../watch/line.js';
import { pageOf } from '../watch/page.js';
import { Scene } from '../watch/scene.js';
import { takeWords } from '../writing.js';

const EVERY_SEC = { default: 1, min: 0.1, max: 3600 } as const;
const QUIT = new Set(['q', 'Q', '\x03', '\x1b']);

export const watch: Command = {
  name: 'watch',
  usage: 'DIR|FILE',
  summary: 'How a running store gets on: rates, lag, progress, last changes',
  options: {
    total: {
      type: 'string',
      value: 'N',
      help: 'How many items the loop has, where its program does not say so (runLoop of a list does)',
    },
    every: { type: 'string', value: 'SECONDS', help: `How often to look. 1 without it` },
  },
  examples: [
    ['holdfast watch .agent', 'Live. q or Ctrl-C ends it. Reads only; the program does not notice.'],
    ['holdfast watch loop.json', 'A loop: how far it is, and how long it will take.'],
    ['holdfast watch .agent --every 60 >> watch.log', 'In a pipe or a file: one plain line per look.'],
  ],
  endsWithReader: true,
  run: async (words, terminal) => {
    const [path = ''] = takeWords(words, 'DIR');
    const { every, total } = words.values;
    const everyMs = 1000 * numberFrom('--every', every ?? EVERY_SEC.default, EVERY_SEC.min, EVERY_SEC.max);
    const count = total === undefined ? null : numberFrom('--total', total, 1, Number.MAX_SAFE_INTEGER);
    const scene = await Scene.open(path, count);
    await (terminal.isLive ? watchLive(scene, terminal, everyMs) : watchLines(scene, terminal, everyMs));
    return EXIT.sound;
  },
};

async function watchLines(scene: Scene, terminal: Terminal, everyMs: number): Promise<void> {
  while (await pause(everyMs, terminal.signal)) {
    await scene.look();
    terminal.line(lineOf(scene));
  }
}

async function watchLive(scene: Scene, terminal: Terminal, everyMs: number): Promise<void> {
  const quit = new AbortController();
  const screen = new Screen(terminal);
  // In this mode Ctrl-C is a key like any other.
  const deafen = terminal.keys((key) => {
    if (QUIT.has(key)) quit.abort();
  });
  try {
    screen.draw(pageOf(scene, terminal));
    while (await pause(everyMs, AbortSignal.any([quit.signal, terminal.signal]))) {
      await scene.look();
      screen.draw(pageOf(scene, terminal));
    }
  } finally {
    deafen();
    screen.leave();
  }
}

/** False when it was ended. */
function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(false);
    const end = () => {
      clearTimeout(timer);
      resolve(false);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', end);
      resolve(true);
    }, ms);
    signal.addEventListener('abort', end, { once: true });
  });
}

function numberFrom(flag: string, value: unknown, min: number, max: number): number {
  const number = Number(value);
  if (Number.isFinite(number) && number >= min && number <= max) return number;
  throw new TypeError(`Expected ${flag} from ${min} to ${max}, got ${String(value)}`);
}
