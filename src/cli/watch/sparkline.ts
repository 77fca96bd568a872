// Numbers over time, one cell each: the newest on the right.

const CELLS = '▁▂▃▄▅▆▇█';

/** Null is a gap: nothing is known of that moment. The highest value shown is the top. */
export function sparkline(values: readonly (number | null)[], width: number): string {
  const shown = values.slice(-width);
  const top = Math.max(...shown.map((value) => value ?? 0), Number.MIN_VALUE);
  const cells = shown.map((value) => {
    if (value === null) return ' ';
    return CELLS[Math.min(CELLS.length - 1, Math.round((value / top) * (CELLS.length - 1)))] as string;
  });
  return cells.join('');
}

/** How much is done. */
export function bar(share: number, width: number): { done: string; rest: string } {
  const cells = Math.max(0, Math.min(width, Math.floor(share * width)));
  return { done: '━'.repeat(cells), rest: '─'.repeat(width - cells) };
}
