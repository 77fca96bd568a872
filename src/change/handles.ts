// From a draft back to the object behind it. A draft is recognised by identity, never by a property that data could fake.

import type { Container } from './plain.js';

export interface Handle {
  readonly raw: Container;
  /** False once the update that made the draft is over. */
  readonly isLive: boolean;
}

const handles = new WeakMap<object, Handle>();

export function registerHandle(proxy: object, handle: Handle): void {
  handles.set(proxy, handle);
}

export function handleOf(value: unknown): Handle | undefined {
  return typeof value === 'object' && value !== null ? handles.get(value) : undefined;
}
