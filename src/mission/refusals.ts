// What a mission refuses, in words.

import type { ZodType } from 'zod';
import { HoldfastError, showPath } from '../errors.js';
import type { Disagreement } from './state.js';

export function transitionError(message: string): HoldfastError {
  return new HoldfastError('HF_TRANSITION', message);
}

export function lostError(directory: string): HoldfastError {
  return new HoldfastError(
    'HF_REPAIR_REQUIRED',
    `${directory} holds what came from a history, and the history is not there. Nothing is scheduled. Use rebuild({ handoffs, reason }), or Mission.import to take these files as they are.`,
    { details: [] },
  );
}

export function disagreementError(list: readonly Disagreement[]): HoldfastError {
  const lines = list.map(({ id, source, says, history }) => `'${id}': ${source} says ${says}, history says ${history}`);
  return new HoldfastError(
    'HF_REPAIR_REQUIRED',
    `${list.length} disagreement${list.length === 1 ? '' : 's'} about what is done. Nothing is scheduled. Settle each with repair(id, { to, reason }): ${lines.join('; ')}.`,
    { details: list },
  );
}

export function assertFits(schema: ZodType | undefined, value: unknown, what: string): void {
  const issue = schema?.safeParse(value).error?.issues[0];
  if (issue === undefined) return;
  const path = issue.path.map((key) => (typeof key === 'number' ? key : String(key)));
  throw new HoldfastError(
    'HF_SCHEMA',
    `${what} is refused at ${showPath(path)}: ${issue.message}. Nothing was changed.`,
    { path },
  );
}
