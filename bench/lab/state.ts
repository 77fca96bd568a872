// A state of which one can tell whether it is one that was saved: everything in it follows from its number.

import type { Found } from './contract.js';

export interface LabState {
  n: number;
  title: string;
  items: { id: number; text: string }[];
}

/** From some hundred bytes to about 25 KB, and most of it as it was one version before. */
export function stateOf(n: number): LabState {
  const count = 4 + ((n * 7) % 23);
  const items = Array.from({ length: count }, (_, id) => {
    const changed = n - ((n + id) % 5);
    return { id, text: textOf(changed, id) };
  });
  return { n, title: `version ${n}`, items };
}

function textOf(n: number, id: number): string {
  const length = (Math.imul(n + 1, 2654435761) >>> ((id % 4) + 18)) & 0x7ff;
  return `${n}/${id} ${'abcdefghij'.charAt((n + id) % 10).repeat(length)}`;
}

/** What a loaded value is, whoever gave it. */
export function identify(value: unknown): Found {
  if (value === null || value === undefined) return { kind: 'nothing' };
  const n = (value as Partial<LabState>).n;
  if (typeof n !== 'number' || !Number.isInteger(n) || n < 0)
    return { kind: 'wrong', why: `no version in ${JSON.stringify(value).slice(0, 100)}` };
  const [got, expected] = [JSON.stringify(value), JSON.stringify(stateOf(n))];
  if (got === expected) return { kind: 'intact', n };
  let at = 0;
  while (got[at] === expected[at]) at++;
  return { kind: 'wrong', why: `version ${n} differs at character ${at}: ${got.slice(at, at + 40)}` };
}
