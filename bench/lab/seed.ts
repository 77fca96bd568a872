import { randomFrom } from '../../test/support/random.js';

/** Random numbers of their own for each subject: the same ones whether it runs alone or after others. */
export function randomOf(seed: number, ...of: string[]): () => number {
  let mixed = seed | 0;
  for (const char of of.join('\n')) mixed = Math.imul(mixed ^ (char.codePointAt(0) ?? 0), 0x01000193);
  return randomFrom(mixed);
}
