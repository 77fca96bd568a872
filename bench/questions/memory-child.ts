// 7, in processes of their own: what is resident before, with a state that is kept, and while it is worked on.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Agent, type AgentStart } from '../agent.js';
import { agentState, OUTPUT_BYTES } from '../agent-state.js';
import { onceApart } from '../apart.js';
import type { Prepared } from '../child.js';
import { cpuAtRest } from '../clocks.js';
import { driverOf } from '../drivers/index.js';

const MB = 1e6;
const UPDATES = 2_000;
const UPDATES_MAX_MS = 1_000;
const REST_MAX_MS = 10_000;
/** What is let go when nothing has happened for a second is gone then, whoever's it is. */
const QUIET_MS = 1500;
/** Beyond this a soak measures the disk. */
const SOAK_PER_SECOND = 5_000;
const SOAK_TURN_MS = 10;

export interface MemoryFigures {
  residentMb: number;
  /** Of a state that nobody keeps, in the same process after all. */
  heapMb: number;
}

export async function prepareMemory(start: AgentStart): Promise<Prepared<null, MemoryFigures>> {
  const collect = collector();
  collect();
  const before = process.memoryUsage.rss();
  const agent = await beginAsKept(start);
  const round = async () => {
    const startMs = performance.now();
    // One whole document after the other would be an hour's work at this size.
    for (let n = 0; n < UPDATES && performance.now() - startMs < UPDATES_MAX_MS; n++) {
      const wait = agent.update();
      if (wait !== undefined) await wait;
      if (n % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await agent.rest();
    await cpuAtRest(REST_MAX_MS);
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
    collect();
    const residentMb = (process.memoryUsage.rss() - before) / MB;
    return { residentMb, heapMb: heapOf(start.items, collect) };
  };
  return { round, end: () => agent.session.close() };
}

/** A process holds the state once: who can go on with one that is there did not have to make it. */
async function beginAsKept(start: AgentStart): Promise<Agent> {
  const about = { ...start, outputBytes: OUTPUT_BYTES };
  const isResumed = driverOf(start.driver).resumes === true;
  if (isResumed) await onceApart(import.meta.url, 'prepareWriting', about);
  return Agent.begin({ ...about, isResumed });
}

export async function prepareWriting(start: AgentStart): Promise<Prepared<null, null>> {
  const agent = await Agent.begin(start);
  const round = async () => {
    await agent.rest();
    return null;
  };
  return { round, end: () => agent.session.close() };
}

function heapOf(items: number, collect: () => void): number {
  collect();
  const before = process.memoryUsage().heapUsed;
  const state = agentState(items, OUTPUT_BYTES);
  collect();
  const heapMb = (process.memoryUsage().heapUsed - before) / MB;
  // Used after it was measured, so that it is still there when it is.
  if (state.order.length !== items) throw new Error('The state is not the one that was made');
  return heapMb;
}

/** Without a flag on the command line. */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  return () => {
    collect();
    collect();
  };
}

export interface SoakFigures {
  residentMb: number;
  atS: number;
  perSecond: number;
}

export async function prepareSoak({
  seconds,
  ...start
}: AgentStart & { seconds: number }): Promise<Prepared<null, SoakFigures>> {
  const agent = await beginAsKept(start);
  const beganMs = performance.now();
  const round = async () => {
    const startMs = performance.now();
    let updates = 0;
    for (let now = startMs; now - startMs < seconds * 1000; now = performance.now()) {
      for (const due = ((now - startMs) / 1000) * SOAK_PER_SECOND; updates < due; updates++) {
        const wait = agent.update();
        if (wait !== undefined) await wait;
      }
      await new Promise((resolve) => setTimeout(resolve, SOAK_TURN_MS));
    }
    const now = performance.now();
    return {
      residentMb: process.memoryUsage.rss() / MB,
      atS: (now - beganMs) / 1000,
      perSecond: updates / ((now - startMs) / 1000),
    };
  };
  return { round, end: () => agent.session.close() };
}
