// Who is being worked on, and how often each was tried: the parts of the file that come and go. Both are short.

import type { Interrupted, LoopFile } from './shape.js';

export function listed(ids: readonly string[]): string | string[] {
  return ids.length === 1 ? (ids[0] as string) : [...ids];
}

export function setListed(draft: LoopFile, ids: readonly string[]): void {
  if (ids.length === 0) {
    delete draft.inProgress;
    delete draft.total;
  } else draft.inProgress = listed(ids);
}

export function noteTry(draft: LoopFile, id: string): void {
  const beganAt = new Date().toISOString();
  draft.attempts ??= [];
  const known = draft.attempts.find((one) => one.id === id);
  if (known === undefined) draft.attempts.push({ id, tries: 1, beganAt });
  else Object.assign(known, { tries: known.tries + 1, beganAt });
}

/** `inProgress` is about to change: what an earlier run left in it lives on here. */
export function noteAll(draft: LoopFile, interrupted: ReadonlyMap<string, Interrupted>): void {
  if (interrupted.size === 0) return;
  draft.attempts ??= [];
  const known = new Set(draft.attempts.map(({ id }) => id));
  for (const { id, tries } of interrupted.values()) if (!known.has(id)) draft.attempts.push({ id, tries });
}

export function forgetTries(draft: LoopFile, id: string): void {
  const { attempts } = draft;
  if (attempts === undefined) return;
  const index = attempts.findIndex((one) => one.id === id);
  if (index !== -1) attempts.splice(index, 1);
  if (attempts.length === 0) delete draft.attempts;
}
