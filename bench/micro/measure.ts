// One call after the other, each timed: what tinybench is for. The middle one and the slowest in a hundred.

import { Bench } from 'tinybench';

export interface Latency {
  p50Us: number;
  p99Us: number;
}

export function measureCalls(run: () => void, iterations: number): Latency {
  const bench = new Bench({ time: 0, iterations, warmup: false });
  bench.add('one', run);
  const [task] = bench.runSync();
  const result = task?.result;
  if (result === undefined || !('latency' in result)) throw new Error('It did not finish', { cause: result });
  const { p50, p99 } = result.latency;
  return { p50Us: p50 * 1000, p99Us: p99 * 1000 };
}
