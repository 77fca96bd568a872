// A subject in a process of its own, seen from the lab.

import { type Ended, type Running, type StartOptions, start } from '../../test/support/process-child.js';
import type { LeaveOrder, SaveOrder } from './child.js';
import { compiled } from './compiled.js';
import type { Found } from './contract.js';
import { wayOf } from './ways.js';

const CHILD = compiled('child.js');

export class Saving {
  readonly #running: Running;
  readonly #from: number;

  constructor(order: SaveOrder, options: StartOptions = {}) {
    this.#from = (order.from ?? 1) - 1;
    this.#running = start(call('save', order), options);
  }

  get pid(): number {
    return this.#running.pid;
  }

  get ended(): Promise<Ended> {
    return this.#running.ended;
  }

  get lines(): readonly string[] {
    return this.#running.lines;
  }

  /** What it found when it began; null when it ended before it could say. */
  async found(): Promise<Found | null> {
    return foundIn(await this.#running.line('found '));
  }

  /** The same of one that was left alone until it said so: that it ended is then a refusal. */
  async foundOrRefused(): Promise<Found> {
    return (await this.found()) ?? refusedBy(await this.ended);
  }

  line(prefix: string): Promise<string | null> {
    return this.#running.line(prefix);
  }

  kill(signal: NodeJS.Signals): void {
    this.#running.kill(signal);
  }

  /** By SIGKILL. */
  async end(): Promise<void> {
    this.kill('SIGKILL');
    await this.ended;
  }

  /** Lets one go on that holds. */
  goOn(): void {
    this.#running.write('go\n');
  }

  /** The newest save that was begun, and that was acknowledged; before any, the one before `from`. */
  get issued(): number {
    return this.#newest('issued ');
  }

  get acked(): number {
    return this.#newest('acked ');
  }

  get failures(): string[] {
    return this.lines.filter((line) => line.startsWith('failed '));
  }

  #newest(prefix: string): number {
    const line = this.lines.findLast((one) => one.startsWith(prefix));
    return line === undefined ? this.#from : Number(line.slice(prefix.length));
  }
}

/** Loads in a process of its own, to its end. */
export async function loadApart(driver: string, directory: string, options: StartOptions = {}): Promise<Found> {
  const running = start(call('load', { driver, directory }), options);
  const ended = await running.ended;
  return foundIn(running.lines.find((line) => line.startsWith('found ')) ?? null) ?? refusedBy(ended);
}

/** Saves, saves once more without waiting, and ends in that way. Rejects when it did not get to that save. */
export async function leaveApart(order: LeaveOrder, options: StartOptions = {}): Promise<Ended> {
  const way = wayOf(order.way);
  const running = start(call('leave', order), options);
  if (way.kind === 'signal' && (await running.line('ready')) !== null) running.kill(way.signal);
  const ended = await running.ended;
  if (!running.lines.includes(`issued ${order.saves + 1}`))
    throw new Error(`${order.driver} did not get to its last save: ${ended.stderr}`);
  return ended;
}

/** Of a process that ended without a word about what it found. */
export function refusedBy({ code, signal, stderr, isHung }: Ended): Found {
  const last = stderr.trim().split('\n').at(-1) ?? '';
  return { kind: 'refused', message: `ended with ${code ?? signal}${isHung ? ', hung' : ''}: ${last}` };
}

export function call(what: string, order: object): string {
  return `import { ${what} } from ${JSON.stringify(CHILD)}; await ${what}(${JSON.stringify(order)});`;
}

function foundIn(line: string | null): Found | null {
  return line === null ? null : (JSON.parse(line.slice('found '.length)) as Found);
}
