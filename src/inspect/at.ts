// One document as it was. Any moment that is still kept: each commit since the older of two bases, while a base rules out
// what came before it.

import { readFrom } from '../disk/files.js';
import { readingDisk } from '../disk/reading-disk.js';
import { HoldfastError } from '../errors.js';
import { NewestFirst } from '../journal/newest-first.js';
import type { Places } from '../journal/places.js';
import { Follower } from '../projection/follower.js';
import { assertDocumentName, documentPaths } from '../projection/names.js';
import { parse } from '../projection/serialize.js';
import { targetOf } from '../projection/target.js';
import { placesOf } from './home.js';
import { asked, type Moment, seqAt } from './moment.js';

export type Past =
  | {
      kind: 'commit';
      name: string;
      state: unknown;
      /** The commit after which the document was like this. */
      seq: number;
      version: number;
      /** Of its schema. */
      schemaVersion: number;
    }
  /** From a backup file: what a person or another program did to it is in it, too. */
  | { kind: 'backup'; name: string; state: unknown; path: string };

/**
 * A document as it was at a moment; now, without one. Without a name it is the only document that the store has.
 * Takes no lock and writes nothing, and other documents are not built.
 */
export async function at(path: string, doc?: string, moment?: Moment): Promise<Past> {
  if (doc !== undefined) assertDocumentName(doc);
  const wanted = moment === undefined ? null : asked(moment);
  const places = placesOf(path);
  if (wanted?.kind === 'backup') return backupOf(places, doc ?? onlyDocument(places), wanted.n);
  const history = new NewestFirst(readingDisk, places);
  const name = doc ?? onlyDocument(places);
  if (wanted === null) return stateAt(places, history, name, history.lastSeq, 'or later');
  return stateAt(places, history, name, wanted.kind === 'seq' ? wanted.seq : seqAt(history, wanted.time), 'exactly');
}

/** `or later`: a running writer may have compacted what was the newest state a moment ago. */
function stateAt(places: Places, history: NewestFirst, name: string, asked: number, how: 'exactly' | 'or later'): Past {
  const follower = new Follower(readingDisk, places, undefined, { only: name });
  const reached = reach(follower, places, asked);
  const seq = how === 'or later' ? Math.max(asked, reached) : asked;
  if (reached > seq) throw notKept(places, seq, reached);
  if (reached < seq && seq <= history.durableSeq) throw unreadable(places, seq, reached, follower.problem);
  if (reached < seq) throw notYet(places, seq, reached);
  const found = follower.documents.get(name);
  if (found === undefined)
    throw new HoldfastError(
      'HF_MISSING',
      `There was no document '${name}' in ${places.directory} at commit ${seq}. See holdfast inspect for what there is.`,
    );
  const { state, version, schemaVersion } = found;
  return { kind: 'commit', name, state, seq, version, schemaVersion };
}

function reach(follower: Follower, places: Places, seq: number): number {
  try {
    return follower.catchUp(seq);
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== 'HF_DAMAGED') throw error;
    throw unreadable(places, seq, follower.at.seq, (error.cause as Error | undefined)?.message ?? null, error);
  }
}

/** In a store of several, which one is meant has to be said. */
function onlyDocument(places: Places): string {
  const follower = new Follower(readingDisk, places);
  const { lastSeq } = new NewestFirst(readingDisk, places);
  reach(follower, places, lastSeq);
  const names = [...follower.documents.keys()].sort();
  if (names.length === 1) return names[0] as string;
  const which = names.length === 0 ? 'It has no document.' : `Name one of: ${some(names)}.`;
  throw new TypeError(`Expected \`doc\` to be a document of ${places.directory}, got none. ${which}`);
}

const SHOWN_MAX = 8;

function some(names: readonly string[]): string {
  const more = names.length > SHOWN_MAX ? `, … ${names.length - SHOWN_MAX} more` : '';
  return names.slice(0, SHOWN_MAX).join(', ') + more;
}

function backupOf(places: Places, name: string, n: number): Past {
  const path = targetOf(readingDisk, documentPaths(places.directory, name).backup(n));
  if (readingDisk.entry(path)?.kind !== 'file')
    throw new HoldfastError(
      'HF_MISSING',
      `There is no backup ${path}. See holdfast log for the commits that are kept.`,
    );
  const parsed = parse(readFrom(readingDisk, path));
  if (parsed.kind === 'value') return { kind: 'backup', name, state: parsed.value, path };
  throw new HoldfastError('HF_DAMAGED', `${path} cannot be read: ${parsed.reason}. Try another backup, or a commit.`);
}

function notKept({ directory }: Places, seq: number, oldest: number): HoldfastError {
  return new HoldfastError(
    'HF_MISSING',
    `The state at commit ${seq} of ${directory} is no longer kept: the oldest one is that of commit ${oldest}. Choose that or a later one.`,
    { details: { oldest } },
  );
}

function notYet({ directory }: Places, seq: number, newest: number): HoldfastError {
  return new HoldfastError('HF_MISSING', `There is no commit ${seq} in ${directory}: the newest one is ${newest}.`, {
    details: { newest },
  });
}

function unreadable({ directory }: Places, seq: number, reached: number, why: string | null, cause?: unknown) {
  return new HoldfastError(
    'HF_DAMAGED',
    `The state at commit ${seq} of ${directory} cannot be read${why === null ? '' : `: ${why}`}. ` +
      `It can be read up to commit ${reached}. Nothing was touched. See holdfast verify for what is damaged.`,
    { cause, details: { reached } },
  );
}
