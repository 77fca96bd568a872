// Paths, amounts and texts as people read them.

import { relative, sep } from 'node:path';

/** From here, where that is shorter than from the root. */
export function shownPath(path: string): string {
  const near = relative('', path);
  if (near === '') return '.';
  return near === '..' || near.startsWith(`..${sep}`) ? path : near;
}

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB'] as const;

export function shownBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  let amount = bytes / 1024;
  let unit = 0;
  for (; amount >= 1024 && unit < UNITS.length - 1; unit++) amount /= 1024;
  return `${amount.toFixed(amount < 10 ? 1 : 0)} ${UNITS[unit]}`;
}

export function counted(count: number, what: string): string {
  return `${count.toLocaleString('en')} ${what}${count === 1 ? '' : 's'}`;
}

/** Text from a store, for a terminal: whatever it holds, it moves no cursor and sets no colour. */
export function harmless(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these are replaced
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, '�');
}
