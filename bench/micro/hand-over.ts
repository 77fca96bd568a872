// For comparison: what it costs to hand over the whole state, by each way that there is.

import { Packr } from 'msgpackr';
import { type AgentState, agentState } from '../agent-state.js';
import type { Prepared } from '../child.js';
import { type Latency, measureCalls } from './measure.js';

const packr = new Packr({ useRecords: false, variableMapSize: true });

export const WAYS: Readonly<Record<string, (state: AgentState) => unknown>> = {
  'JSON.stringify': (state) => JSON.stringify(state),
  structuredClone: (state) => structuredClone(state),
  'msgpackr.pack': (state) => packr.pack(state),
};

export interface HandOverStart {
  way: string;
  items: number;
  iterations: number;
}

export async function prepareHandOver({ way, items, iterations }: HandOverStart): Promise<Prepared<null, Latency>> {
  const state = agentState(items, 60);
  const run = WAYS[way];
  if (run === undefined) throw new TypeError(`Expected one of ${Object.keys(WAYS).join(', ')}, got '${way}'`);
  const round = async () => measureCalls(() => void run(state), iterations);
  await round();
  return { round, end: async () => undefined };
}
