// Whole pages, drawn in place. What was on the terminal before is there again afterwards, however the command ends.

import type { Terminal } from './terminal.js';

// The other screen, no cursor, no wrapping: a line that is too long for the window is cut by the terminal itself.
const ENTER = '\x1b[?1049h\x1b[?25l\x1b[?7l';
const LEAVE = '\x1b[?7h\x1b[?25h\x1b[?1049l';
const HOME = '\x1b[H';
const REST_OF_LINE = '\x1b[K';
const REST_OF_SCREEN = '\x1b[J';
const SIGNALS = ['SIGTERM', 'SIGHUP'] as const;

export class Screen {
  readonly #terminal: Terminal;
  readonly #onExit = () => this.leave();
  readonly #onSignal = (signal: NodeJS.Signals) => {
    this.leave();
    // With our listener gone, it does what it would have done.
    process.kill(process.pid, signal);
  };
  #isLeft = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    terminal.write(ENTER);
    process.once('exit', this.#onExit);
    for (const signal of SIGNALS) process.on(signal, this.#onSignal);
  }

  draw(lines: readonly string[]): void {
    const shown = lines.slice(0, this.#terminal.rows).map((line) => line + REST_OF_LINE);
    // In one write: no half page is ever seen.
    this.#terminal.write(HOME + shown.join('\r\n') + REST_OF_SCREEN);
  }

  leave(): void {
    if (this.#isLeft) return;
    this.#isLeft = true;
    process.off('exit', this.#onExit);
    for (const signal of SIGNALS) process.off(signal, this.#onSignal);
    this.#terminal.write(LEAVE);
  }
}
