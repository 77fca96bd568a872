// What the demo shows: one bar that redraws in a terminal, one line per kill anywhere else.

import type { Cost, Oracle } from './demo-oracle.js';

const BAR_CELLS = 40;

const CODES = { bold: 1, dim: 2, red: 31, green: 32 } as const;
type Style = keyof typeof CODES;
/** Of the bar: done, still to do, and where a kill fell. */
const CELLS = { green: '━', dim: '─', red: '╋' } as const;

interface Out {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
}

export class View {
  readonly #out: Out;
  readonly #itemCount: number;
  readonly #redraws: boolean;
  readonly #hasColour: boolean;
  /** How many items were done at each kill. */
  readonly #kills: number[] = [];

  constructor(out: Out, itemCount: number, env: NodeJS.ProcessEnv) {
    this.#out = out;
    this.#itemCount = itemCount;
    this.#redraws = out.isTTY === true && env.TERM !== 'dumb';
    this.#hasColour = this.#redraws && !env.NO_COLOR;
  }

  get killCount(): number {
    return this.#kills.length;
  }

  begin(directory: string): void {
    const count = this.#itemCount.toLocaleString('en');
    this.#line(this.#paint('bold', `A loop works through ${count} items and saves after each one.`));
    this.#line('It is killed with SIGKILL at random moments, started again, and killed again.');
    this.#line(this.#paint('dim', directory));
    this.#line('');
  }

  progress(oracle: Oracle): void {
    if (!this.#redraws) return;
    const columns = this.#out.columns || 80;
    const done = oracle.doneCount;
    const { lost, repeated } = oracle;
    const items = `${done.toLocaleString('en')}/${this.#itemCount.toLocaleString('en')}`;
    const counts = `  ${items}  kills ${this.killCount}  lost ${lost.size}  repeated ${repeated.size}`;
    const cells = Math.max(0, Math.min(BAR_CELLS, columns - counts.length - 1));
    // Padded rather than erased: without colour not one escape code is written.
    const text = counts.slice(0, columns - 1 - cells).padEnd(columns - 1 - cells);
    this.#out.write(`\r${this.#bar(cells, done)}${text}`);
  }

  killed(oracle: Oracle): void {
    const done = oracle.doneCount;
    this.#kills.push(done);
    if (this.#redraws) this.progress(oracle);
    else
      this.#line(
        `kill ${this.killCount}: ${done} items done, ${oracle.lost.size} lost, ${oracle.repeated.size} repeated`,
      );
  }

  end(oracle: Oracle, jsonHead: readonly string[], seconds: number): void {
    if (this.#redraws) {
      this.progress(oracle);
      this.#line('');
    }
    this.#line('');
    const done = oracle.doneCount.toLocaleString('en');
    this.#row('kills survived', `${this.killCount}`);
    this.#row('items done', `${done} of ${this.#itemCount.toLocaleString('en')}, in ${seconds.toFixed(1)} s`);
    this.#verdict('ran again after being acknowledged', oracle.repeated.size);
    this.#verdict('updates lost', oracle.lost.size);
    this.#row('cut short, never acknowledged, ran again', `${oracle.cutShort.size}`);
    this.#costs(oracle.cost());
    this.#line('');
    this.#line(this.#paint('bold', 'loop.json'));
    for (const line of jsonHead) this.#line(this.#paint('dim', `  ${line}`));
  }

  #costs({ clock, saveUs, lateP99Ms }: Cost): void {
    const whose = clock === 'thread' ? 'main thread' : 'whole process, all threads';
    if (saveUs !== null) this.#row('CPU to save one item, in the last life', `${saveUs.toFixed(0)} µs (${whose})`);
    if (lateP99Ms !== null) this.#row('event loop late, p99, in the last life', `${lateP99Ms.toFixed(1)} ms`);
  }

  #verdict(name: string, count: number): void {
    this.#row(name, this.#paint(count === 0 ? 'green' : 'red', `${count}`));
  }

  #row(name: string, value: string): void {
    this.#line(`  ${name.padEnd(42)}${value}`);
  }

  /** A kill shows as a mark where it happened. */
  #bar(cells: number, done: number): string {
    const at = (items: number) => Math.min(cells - 1, Math.floor((items / this.#itemCount) * cells));
    const marks = new Set(this.#kills.map(at));
    const filled = Math.floor((done / this.#itemCount) * cells);
    const styles = Array.from({ length: cells }, (_, cell): keyof typeof CELLS =>
      marks.has(cell) ? 'red' : cell < filled ? 'green' : 'dim',
    );
    let bar = '';
    for (let from = 0, to = 0; from < cells; from = to) {
      const style = styles[from] ?? 'dim';
      while (to < cells && styles[to] === style) to++;
      bar += this.#paint(style, CELLS[style].repeat(to - from));
    }
    return bar;
  }

  #paint(style: Style, text: string): string {
    return this.#hasColour ? `\x1b[${CODES[style]}m${text}\x1b[0m` : text;
  }

  #line(text: string): void {
    this.#out.write(`${text}\n`);
  }
}
