import { availableParallelism } from 'node:os';

export const LANES = Math.min(4, availableParallelism());

/**
 * Several at a time, begun in their order. `lane` counts from 0. When one fails no other is begun, and those under way end
 * before it is said: nobody is left working in a folder that goes away.
 */
export async function inLanes<T>(
  items: Iterable<T>,
  work: (item: T, lane: number) => Promise<void>,
  lanes = LANES,
): Promise<void> {
  const rest = items[Symbol.iterator]();
  const failures: unknown[] = [];
  const run = async (lane: number) => {
    while (failures.length === 0) {
      const next = rest.next();
      if (next.done === true) return;
      try {
        await work(next.value, lane);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: lanes }, (_, lane) => run(lane)));
  if (failures.length > 0) throw failures[0];
}

/** The same with a result for each, in the order of the items. */
export async function mapInLanes<T, R>(
  items: readonly T[],
  work: (item: T, lane: number) => Promise<R>,
  lanes = LANES,
): Promise<R[]> {
  const results: R[] = [];
  const keep = async ([at, item]: [number, T], lane: number) => {
    results[at] = await work(item, lane);
  };
  await inLanes(items.entries(), keep, lanes);
  return results;
}

/** In another order, the same one for the same random numbers. */
export function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const keyed = items.map((item) => ({ item, key: random() }));
  return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item);
}
