// 3, the client: in a process of its own, so that it waits only for the server.

import { Agent, request } from 'node:http';
import { Apart } from '../apart.js';
import type { Prepared } from '../child.js';

/** Between an answer and the next request. */
const PAUSE_MS = 2;

type Order = 'begin' | 'end';

export async function prepareRequests({ port }: { port: number }): Promise<Prepared<Order, number[]>> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let tookMs: number[] = [];
  let isRunning = false;
  let running = Promise.resolve();
  const run = async () => {
    while (isRunning) {
      const start = performance.now();
      await ask(port, agent);
      tookMs.push(performance.now() - start);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  };
  const round = async (order: Order) => {
    isRunning = order === 'begin';
    if (isRunning) {
      tookMs = [];
      running = run();
      return [];
    }
    await running;
    return tookMs;
  };
  await ask(port, agent);
  return { round, end: async () => agent.destroy() };
}

function ask(port: number, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const asking = request({ host: '127.0.0.1', port, agent }, (response) => {
      response.resume();
      response.once('end', resolve);
    });
    asking.once('error', reject);
    asking.end();
  });
}

/** Seen from the server's process. */
export class Requester {
  readonly #port: number;
  #apart: Apart<Order, number[]> | null = null;

  constructor(port: number) {
    this.#port = port;
  }

  async begin(): Promise<void> {
    this.#apart ??= await Apart.begin<Order, number[]>(import.meta.url, 'prepareRequests', { port: this.#port });
    await this.#apart.round('begin');
  }

  /** Returns how long each request took. */
  async end(): Promise<number[]> {
    return (await this.#apart?.round('end')) ?? [];
  }

  async close(): Promise<void> {
    await this.#apart?.end();
  }
}
