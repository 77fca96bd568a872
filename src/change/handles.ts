// From a draft back to what is behind it. A draft is recognised by identity, never by a property that data could fake:
// it alone answers to this symbol with a handle that names the draft itself. (A WeakMap would do as well; filling it was
// the most expensive part of a small update.)

import type { Container } from './plain.js';

export interface Handle {
  readonly raw: Container;
  readonly proxy: Container;
  /** False once the update that made the draft is over. */
  readonly isLive: boolean;
}

export const HANDLE = Symbol('handle');

export function handleOf(value: unknown): Handle | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const handle = (value as { [HANDLE]?: Handle })[HANDLE];
  return handle?.proxy === value ? handle : undefined;
}
