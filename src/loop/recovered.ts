// What was wrong when a state file was opened, and what was done about it, for programs and in a sentence.

import { resolve } from 'node:path';
import { nodeDisk } from '../disk/node-disk.js';
import type { RecoveryNote } from '../journal/open.js';
import { hiddenBeside } from '../journal/places.js';
import { openAt } from '../opening.js';
import { settle } from '../options.js';
import { targetOf } from '../projection/target.js';

// Captured at import: a program's fake timers must not freeze saving.
const { setImmediate } = globalThis;

export interface Recovered {
  path: string;
  /** What the file was: 'empty', 'unparseable', 'missing', 'refused', 'drifted'; 'imported' and 'backup' when it was taken over. */
  found: string | null;
  /** What was mended in what is saved beside it. */
  notes: readonly RecoveryNote[];
  /** The same, for people. */
  message: string;
}

type Found = Pick<Recovered, 'found' | 'notes'>;

/** Opens a document and hears what its store tells while it does: only that once, and before there is anything to ask. */
export async function openHearing<D>(
  path: string,
  open: () => Promise<D>,
): Promise<{ document: D; heard: Found | null }> {
  const opening = open();
  // A path that cannot be is refused at once, before anything is made.
  await Promise.race([opening, null]);
  const [opened, ears] = await Promise.allSettled([opening, listen(path)]);
  const heard = ears.status === 'fulfilled' ? await ears.value() : null;
  if (opened.status === 'rejected') throw opened.reason;
  return { document: opened.value, heard };
}

/** Shares the store that is being opened. Returns how to end that and get what was heard. */
async function listen(path: string): Promise<() => Promise<Found | null>> {
  const store = await openAt(hiddenBeside(targetOf(nodeDisk, resolve(path))), settle());
  const heard: { found: string | null; notes: RecoveryNote[] } = { found: null, notes: [] };
  const stop = store.on('recovered', ({ notes, projections }) => {
    heard.notes.push(...notes);
    heard.found = projections[0]?.found ?? heard.found;
  });
  return async () => {
    // It is told one turn of the event loop after the opening.
    await new Promise<void>((done) => setImmediate(done));
    stop();
    // Others hold it too, so this is a flush. If it fails, so will the next one, and that is somebody's.
    await store.close().catch(() => undefined);
    return heard.found === null && heard.notes.length === 0 ? null : heard;
  };
}

const ANEW = 'it is written anew from what was saved. Nothing is lost';
const SENTENCES: Readonly<Record<string, string>> = {
  missing: `was missing; ${ANEW}`,
  empty: `was empty; ${ANEW}`,
  unparseable: `was cut or damaged; ${ANEW}`,
  refused: `held something else (kept in quarantine); ${ANEW}`,
  drifted: 'was changed by somebody else; that was settled as asked',
  imported: 'was taken over',
  backup: 'could not be read; its newest backup that is whole was taken. What was done after that backup runs again',
};

export function describe(path: string, { found, notes }: Found, doneCount: number): string {
  const what =
    found === null ? `: what is saved beside it was mended (${kinds(notes)})` : ` ${SENTENCES[found] ?? found}`;
  return `recovered: ${path}${what}; ${doneCount.toLocaleString('en-US')} done`;
}

function kinds(notes: readonly RecoveryNote[]): string {
  return [...new Set(notes.map(({ kind }) => kind))].join(', ');
}
