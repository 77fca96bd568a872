// A measured process, seen from outside: nobody's garbage, threads or compiled code disturb anybody else's.

import { type Running, type StartOptions, start } from '../test/support/process-child.js';
import { compiled } from './compiled.js';

const CHILD = new URL('./child.js', compiled(import.meta.url)).href;
/** Nothing takes that long unless it hangs. */
const HANG_MS = 15 * 60_000;

export class Apart<Order, Figures> {
  readonly #running: Running;
  #rounds = 0;

  private constructor(running: Running) {
    this.#running = running;
  }

  /** Resolves when `name`, which the module exports, has prepared what is to be measured. */
  static async begin<Order, Figures>(
    module: string,
    name: string,
    order: object,
    options: StartOptions = {},
  ): Promise<Apart<Order, Figures>> {
    const program = [
      `import { serve } from ${JSON.stringify(CHILD)};`,
      `import { ${name} } from ${JSON.stringify(compiled(module))};`,
      `await serve(${name}, ${JSON.stringify(order)});`,
    ].join('\n');
    const apart = new Apart<Order, Figures>(start(program, { timeoutMs: HANG_MS, ...options }));
    await apart.#said('ready');
    return apart;
  }

  async round(order: Order): Promise<Figures> {
    const prefix = `round ${this.#rounds++} `;
    this.#running.write(`${JSON.stringify(order)}\n`);
    return JSON.parse((await this.#said(prefix)).slice(prefix.length)) as Figures;
  }

  async end(): Promise<void> {
    this.#running.write('end\n');
    await this.#said('ended');
    await this.#running.ended;
  }

  /** Whatever it is doing. */
  async kill(): Promise<void> {
    this.#running.kill('SIGKILL');
    await this.#running.ended;
  }

  async #said(prefix: string): Promise<string> {
    const line = await this.#running.line(prefix);
    if (line !== null) return line;
    const { code, signal, stderr, isHung } = await this.#running.ended;
    // Node prints the line of the source first, then the error.
    const said = stderr.trim().split('\n');
    const why = said.find((one) => /^\w*Error\b/.test(one)) ?? said.at(-1);
    throw new Error(`ended with ${code ?? signal}${isHung ? ', it hung' : ''}: ${why}`);
  }
}

/** One round of something that is prepared for that alone. */
export async function onceApart<Figures>(module: string, name: string, order: object): Promise<Figures> {
  const apart = await Apart.begin<null, Figures>(module, name, order);
  const figures = await apart.round(null);
  await apart.end();
  return figures;
}

/** The same, and then the process is killed: it cleans nothing up. */
export async function onceAndKilled<Figures>(module: string, name: string, order: object): Promise<Figures> {
  const apart = await Apart.begin<null, Figures>(module, name, order);
  const figures = await apart.round(null);
  await apart.kill();
  return figures;
}
