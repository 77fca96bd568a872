// One line that says how far it is and how long it will take. Without a terminal, a line now and then.

import type { WriteStream } from 'node:tty';

const WIDTH = 30;
const QUIET_MS = 10_000;

export class ProgressBar {
  readonly #name: string;
  readonly #stream: NodeJS.WriteStream | WriteStream;
  readonly #startedAt = performance.now();
  #shownAt = Number.NEGATIVE_INFINITY;

  constructor(name: string, stream: NodeJS.WriteStream) {
    this.#name = name;
    this.#stream = stream;
  }

  show(done: number, total: number, what: string): void {
    const now = performance.now();
    const isLive = this.#stream.isTTY === true;
    if (now - this.#shownAt < (isLive ? 100 : QUIET_MS) && done < total) return;
    this.#shownAt = now;
    const part = total === 0 ? 1 : Math.min(done / total, 1);
    const filled = Math.round(part * WIDTH);
    const leftS = part === 0 ? null : ((now - this.#startedAt) / part) * (1 - part) * 0.001;
    const bar = '█'.repeat(filled) + '░'.repeat(WIDTH - filled);
    const left = leftS === null ? '' : `, ${inWords(leftS)} left`;
    const line = `${this.#name.padEnd(13)}${bar} ${done}/${total}${left}  ${what}`;
    this.#stream.write(isLive ? `\r\x1b[2K${line}` : `${line}\n`);
  }

  end(): void {
    const tookS = (performance.now() - this.#startedAt) / 1000;
    this.#stream.write(`${this.#stream.isTTY === true ? '\r\x1b[2K' : ''}${this.#name}: done in ${inWords(tookS)}\n`);
  }
}

export function inWords(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}
