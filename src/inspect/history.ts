// What happened in a store, newest first. Reading stops where the caller stops.

import { readingDisk } from '../disk/reading-disk.js';
import type { Frame } from '../journal/frame.js';
import { type ChangedDocument, changesIn } from '../journal/frame-changes.js';
import { NewestFirst } from '../journal/newest-first.js';
import { placesOf } from './home.js';
import { assertLookOptions } from './options.js';
import { Slices } from './slices.js';

export interface HistoryOptions {
  /** Only commits that changed the document or log of this name, and of them only this part. */
  doc?: string;
  /** Down to this: commits after this sequence, or down to the first one that is older than this time. */
  since?: number | Date;
  /** At most so many. */
  limit?: number;
  signal?: AbortSignal;
}

export type HistoryStep =
  | {
      kind: 'commit';
      seq: number;
      /** Information: by clocks that may be set back. */
      time: Date;
      documents: ChangedDocument[];
    }
  /** These commits were durable and cannot be read any more. `verify` says why. */
  | { kind: 'gap'; from: number; to: number };

/** Every commit that is kept, newest first. Takes no lock and writes nothing; the store may be in use. */
export async function* history(path: string, options: HistoryOptions = {}): AsyncGenerator<HistoryStep, void, void> {
  assertLookOptions(options, 'history');
  const { doc, signal } = options;
  const { since, limit } = checked(options);
  const places = placesOf(path);
  let left = limit;
  const slices = new Slices();
  for (const step of new NewestFirst(readingDisk, places).commits()) {
    if (slices.isOver) await slices.next();
    signal?.throwIfAborted();
    if (step.kind === 'gap') {
      const from = typeof since === 'number' ? Math.max(step.from, since + 1) : step.from;
      if (from <= step.to) yield { kind: 'gap', from, to: step.to };
      continue;
    }
    if (isBefore(step.frame, since) || left === 0) return;
    const commit = commitOf(step.frame, doc);
    if (commit === null) continue;
    left--;
    yield commit;
    if (left === 0) return;
  }
}

/** Null when it did not change what is asked for. */
export function commitOf(frame: Frame, doc: string | undefined): HistoryStep | null {
  const documents = changesIn(frame, doc);
  if (doc !== undefined && documents.length === 0) return null;
  return { kind: 'commit', seq: frame.header.seq, time: new Date(frame.header.timeMs), documents };
}

function isBefore({ header }: Frame, since: number | Date): boolean {
  return typeof since === 'number' ? header.seq <= since : header.timeMs < since.getTime();
}

function checked({ since = 0, limit = Number.POSITIVE_INFINITY }: HistoryOptions) {
  const isMoment = since instanceof Date ? !Number.isNaN(since.getTime()) : Number.isSafeInteger(since) && since >= 0;
  if (!isMoment) throw new TypeError(`Expected \`since\` to be a sequence number or a Date, got ${String(since)}`);
  const isCount = limit === Number.POSITIVE_INFINITY || (Number.isSafeInteger(limit) && limit >= 0);
  if (!isCount) throw new TypeError(`Expected \`limit\` ≥ 0, got ${String(limit)}`);
  return { since, limit };
}
