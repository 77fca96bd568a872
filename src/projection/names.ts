// A document's name is a path that every file system we may be copied to can hold, and never leads outside the store.
// What one of them refuses is refused everywhere: a store made on Linux opens on Windows and macOS.

import { dirname, join } from 'node:path';
import { isWellFormed } from '../change/copy-in.js';
import { HoldfastError } from '../errors.js';
import { isHiddenName, onlyFileOf } from '../journal/places.js';

export interface DocumentPaths {
  main: string;
  directory: string;
  /** 1 is the version before the present one. */
  backup(n: number): string;
}

/** `.bak9` is as long as `.bak3`: more than nine would not fit where the longest names do. */
export const BACKUPS_MAX = 9;
const NAME_BYTES_MAX = 1024;
const FILE_NAME_BYTES_MAX = 255;
const LONGEST_SUFFIX = '.json.bak3';

/** In a store of a single document its file is where the store says, whatever the document is called. */
export function documentPaths(directory: string, name: string): DocumentPaths {
  const main = onlyFileOf(directory) ?? `${join(directory, ...name.split('/'))}.json`;
  return { main, directory: dirname(main), backup: (n) => `${main}.bak${n}` };
}

/** The JSON Lines of a log, by its name. */
export function linesPath(directory: string, name: string): string {
  return `${join(directory, ...name.split('/'))}.jsonl`;
}

/** Throws HF_NAME, with the reason, for anything that is not a document name. */
export function assertDocumentName(name: unknown): asserts name is string {
  const reason = typeof name === 'string' ? reasonAgainst(name) : `it is not text but ${typeof name}`;
  if (reason === null) return;
  const shown = typeof name === 'string' ? JSON.stringify(name.slice(0, 100)) : String(name);
  throw new HoldfastError(
    'HF_NAME',
    `Not a document name: ${shown}: ${reason}. Use names like 'loop' or 'features/upload'.`,
  );
}

/** Names with the same folded form would be one file on some file systems: letters' case and composition do not count. */
export function foldedName(name: string): string {
  // Upper case first: it unites what lower case alone keeps apart (ß and ss, both sigmas, the Kelvin sign and k).
  return name.normalize('NFD').toLowerCase().toUpperCase().toLowerCase().normalize('NFC');
}

function reasonAgainst(name: string): string | null {
  if (name === '') return 'it is empty';
  if (!isWellFormed(name)) return 'it has half a surrogate pair, which no file name can hold';
  if (Buffer.byteLength(name) > NAME_BYTES_MAX) return `it is longer than ${NAME_BYTES_MAX} bytes`;
  const segments = name.split('/');
  if (foldedName(segments[0] as string) === '.holdfast') return "'.holdfast' is where the store keeps its own files";
  const last = segments.length - 1;
  for (const [index, segment] of segments.entries()) {
    const reason = reasonAgainstSegment(segment, index === last);
    if (reason !== null) return reason;
  }
  return null;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these are refused
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;
const REFUSED_BY_WINDOWS = /[\\:*?"<>|]/;
/** Devices, also with anything behind a dot: `con.json` is the console. */
const RESERVED_BY_WINDOWS = /^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\.|$)/i;
const LIKE_A_BACKUP = /\.json\.bak\d*$/i;

function reasonAgainstSegment(segment: string, isLast: boolean): string | null {
  if (segment === '') return "a part between two '/' is empty";
  if (segment === '.' || segment === '..') return `'${segment}' is a way, not a name`;
  if (CONTROL.test(segment)) return 'it has a control character';
  const refused = REFUSED_BY_WINDOWS.exec(segment);
  if (refused !== null) return `Windows refuses '${refused[0]}' in file names`;
  if (/[. ]$/.test(segment)) return `Windows drops the '${segment.at(-1)}' at the end of '${segment}'`;
  if (RESERVED_BY_WINDOWS.test(segment)) return `'${segment}' is a device on Windows`;
  if (LIKE_A_BACKUP.test(segment)) return `'${segment}' looks like a backup of another document`;
  if (!isLast && isHiddenName(foldedName(segment))) return `'${segment}' is where a store keeps its own files`;
  // The folder would take the name of that document's file.
  if (!isLast && /\.jsonl?$/i.test(segment)) return `the folder '${segment}' would look like the file of a document`;
  const file = isLast ? segment + LONGEST_SUFFIX : segment;
  if (Buffer.byteLength(file) > FILE_NAME_BYTES_MAX) return `'${segment}' is too long for a file name`;
  return null;
}
