// From values to places, and where the lines of a grid go.

export interface Tick {
  value: number;
  label: string;
}

export interface Scale {
  at(value: number): number;
  ticks: Tick[];
}

export interface Places {
  from: number;
  to: number;
}

/** Whole powers of ten at both ends. Values of zero and below have no place on it: they are put at its lower end. */
export function logScale(values: readonly number[], places: Places, label: (value: number) => string): Scale {
  const positive = values.filter((value) => value > 0);
  const low = Math.floor(round(Math.log10(Math.min(...positive))));
  const high = Math.max(Math.ceil(round(Math.log10(Math.max(...positive)))), low + 1);
  const length = places.to - places.from;
  const at = (value: number) =>
    places.from + ((Math.max(Math.log10(value > 0 ? value : 10 ** low), low) - low) / (high - low)) * length;
  const ticks = Array.from({ length: high - low + 1 }, (_, n) => {
    const value = 10 ** (low + n);
    return { value, label: label(value) };
  });
  return { at, ticks };
}

const TICKS = 5;

/** From zero to a round number. */
export function linearScale(values: readonly number[], places: Places, label: (value: number) => string): Scale {
  const max = Math.max(...values, Number.MIN_VALUE);
  const step = niceStep(max / TICKS);
  const high = Math.ceil(round(max / step)) * step;
  const at = (value: number) => places.from + (value / high) * (places.to - places.from);
  const ticks = Array.from({ length: Math.round(high / step) + 1 }, (_, n) => {
    const value = n * step;
    return { value, label: label(value) };
  });
  return { at, ticks };
}

/** 1, 2 or 5 times a power of ten, not less than this. */
export function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  const factor = [1, 2, 5, 10].find((one) => one * power >= least * (1 - 1e-9)) ?? 10;
  return factor * power;
}

/** 2.9999999999999996 is three. */
function round(value: number): number {
  return Math.round(value * 1e9) / 1e9;
}

/** Labels that would touch are pushed apart, in their order, and stay between the ends. */
export function spread(wanted: readonly number[], gap: number, { from, to }: Places): number[] {
  const order = wanted.map((at, index) => ({ at, index })).sort((a, b) => a.at - b.at);
  let last = from - gap;
  for (const one of order) last = one.at = Math.max(one.at, last + gap);
  let next = to + gap;
  for (const one of order.toReversed()) next = one.at = Math.min(one.at, next - gap);
  const placed: number[] = [];
  for (const { at, index } of order) placed[index] = at;
  return placed;
}
