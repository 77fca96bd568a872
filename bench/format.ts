// Values as people read them: three figures, and the unit that fits.

import type { Unit } from './results.js';

export function inUnit(value: number, unit: Unit): string {
  switch (unit) {
    case 'µs':
      return time(value);
    case 'ms':
      return time(value * 1000);
    case 's':
      return time(value * 1e6);
    case 'bytes':
      return bytes(value);
    case 'MB':
      return bytes(value * 1e6);
    case '/s':
      return `${rounded(value)}/s`;
    case 'MB/s':
      return `${rounded(value)} MB/s`;
    case '×':
      return `${rounded(value)} ×`;
    case '':
      return rounded(value);
    default:
      return unit satisfies never;
  }
}

function time(us: number): string {
  const size = Math.abs(us);
  if (size < 1000) return `${rounded(us)} µs`;
  if (size < 1e6) return `${rounded(us / 1000)} ms`;
  return `${rounded(us / 1e6)} s`;
}

function bytes(count: number): string {
  const size = Math.abs(count);
  if (size < 1e3) return `${rounded(count)} B`;
  if (size < 1e6) return `${rounded(count / 1e3)} KB`;
  if (size < 1e9) return `${rounded(count / 1e6)} MB`;
  return `${rounded(count / 1e9)} GB`;
}

function rounded(value: number): string {
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString('en');
  if (size >= 10) return trimmed(value.toFixed(1));
  if (size >= 0.1 || size === 0) return trimmed(value.toFixed(2));
  return value.toPrecision(2);
}

/** 1.50 is 1.5, and 10.0 is 10. */
function trimmed(text: string): string {
  return text.replace(/\.?0+$/, '');
}
