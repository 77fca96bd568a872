// Of several rounds: the one in the middle, and how far they are apart.

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  if (sorted.length === 0) throw new TypeError('Expected at least one value');
  if (sorted.length % 2 === 1) return sorted[middle] as number;
  return ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

/** The value that this share of them does not exceed. */
export function percentile(values: ArrayLike<number>, share: number): number {
  const sorted = Float64Array.from(values).sort();
  if (sorted.length === 0) throw new TypeError('Expected at least one value');
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] as number;
}

export interface Range {
  low: number;
  high: number;
}

export function rangeOf(values: readonly number[]): Range {
  return { low: Math.min(...values), high: Math.max(...values) };
}

/** Below this a range is no range. */
const ROUNDS_MIN = 3;

export interface Ratio extends Range {
  ratio: number;
  /**
   * No value of one side lies within the other side's. With five rounds each, chance alone does that once in 126 times;
   * with three, once in ten; with fewer it says nothing, and is never clear.
   */
  isClear: boolean;
}

/** How `after` stands to `before`: of the medians, and the least and the most that any two rounds say. */
export function ratioOf(before: readonly number[], after: readonly number[]): Ratio {
  const [from, to] = [rangeOf(before), rangeOf(after)];
  return {
    ratio: quotient(median(after), median(before)),
    low: quotient(to.low, from.high),
    high: quotient(to.high, from.low),
    isClear: Math.min(before.length, after.length) >= ROUNDS_MIN && (to.low > from.high || to.high < from.low),
  };
}

/** Nothing and nothing are equal: a metric may be zero on both sides. */
function quotient(above: number, below: number): number {
  return above === below ? 1 : above / below;
}
