// How far something is, in one line that is drawn over again. Nothing at all where nobody is looking.

import { shownBytes } from './shown.js';
import type { Terminal } from './terminal.js';

const BAR_WIDTH = 24;
const INTERVAL_MS = 80;
const CLEAR = '\r\x1b[K';

export class ProgressBar {
  readonly #terminal: Terminal;
  readonly #name: string;
  readonly #startMs = performance.now();
  #shownMs = 0;
  #isShown = false;

  constructor(terminal: Terminal, name: string) {
    this.#terminal = terminal;
    this.#name = name;
  }

  show({ bytes, bytesTotal }: { bytes: number; bytesTotal: number }): void {
    const now = performance.now();
    if (!this.#terminal.isLive || now - this.#shownMs < INTERVAL_MS) return;
    this.#shownMs = now;
    this.#isShown = true;
    const part = bytesTotal === 0 ? 1 : bytes / bytesTotal;
    const full = Math.round(part * BAR_WIDTH);
    const bar = '█'.repeat(full) + '░'.repeat(BAR_WIDTH - full);
    const rate = shownBytes((bytes / Math.max(1, now - this.#startMs)) * 1000);
    const text = `${bar} ${String(Math.floor(part * 100)).padStart(3)} %  ${shownBytes(bytes)} of ${shownBytes(bytesTotal)}, ${rate}/s`;
    const { columns } = this.#terminal;
    const room = columns - text.length - 3;
    // A line that goes on in the next one could not be drawn over.
    this.#terminal.write(`${CLEAR}${room > 3 ? `${this.#name.slice(0, room)}  ` : ''}${text.slice(0, columns - 1)}`);
  }

  clear(): void {
    if (this.#isShown) this.#terminal.write(CLEAR);
    this.#isShown = false;
  }
}
