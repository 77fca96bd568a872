import { availableParallelism } from 'node:os';

export const LANES = Math.min(4, availableParallelism());

/** Several at a time, begun in their order. `lane` counts from 0. */
export async function inLanes<T>(items: Iterable<T>, work: (item: T, lane: number) => Promise<void>): Promise<void> {
  const rest = items[Symbol.iterator]();
  const run = async (lane: number) => {
    for (let next = rest.next(); next.done !== true; next = rest.next()) await work(next.value, lane);
  };
  await Promise.all(Array.from({ length: LANES }, (_, lane) => run(lane)));
}

/** In another order, the same one for the same random numbers. */
export function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const keyed = items.map((item) => ({ item, key: random() }));
  return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item);
}
