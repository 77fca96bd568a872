// A document or a log in a form that other programs read. A log is given in portions: it may be larger than memory.

import { Packr } from 'msgpackr';
import { isOddKey, isWellFormed } from '../change/copy-in.js';
import { isContainer } from '../change/plain.js';
import { readingDisk } from '../disk/reading-disk.js';
import { HoldfastError } from '../errors.js';
import { EntrySource } from '../journal/entries.js';
import { linesOf } from '../journal/line-text.js';
import { type LogExtent, logKey, logNameOf } from '../journal/log-key.js';
import { Places } from '../journal/places.js';
import type { Sound } from '../journal/recovery.js';
import { homeOf } from '../mend/home.js';
import { serialize } from '../projection/serialize.js';
import { missingDocument, onlyNameIn, soundAt } from './stored.js';

/**
 * `json`: as the JSON file has it; of a log, one array. `jsonl`: a line for each entry of a log or item of a list; any other
 * document is one line. `msgpack`: one value; of a log, one after the other.
 */
export type ExportFormat = (typeof FORMATS)[number];

const FORMATS = ['json', 'jsonl', 'msgpack'] as const;

// As the journal does it: 65,536 keys and more, and no extensions that other readers do not have.
const packr = new Packr({ useRecords: false, variableMapSize: true });

/**
 * The bytes, in order. Reads only, also beside a running writer; HF_DAMAGED when the store is damaged. Where a document and
 * a log have the same name it is the document, and with `jsonl` the log.
 */
export async function* exported(path: string, name: string | undefined, format: ExportFormat): AsyncGenerator<Buffer> {
  if (!FORMATS.includes(format))
    throw new TypeError(`Expected \`format\` to be ${FORMATS.join(' or ')}, got ${JSON.stringify(format)}`);
  const home = homeOf(path);
  const found = await soundAt(home);
  const chosen = name ?? onlyNameIn(home, found);
  const { documents, logs } = found.replica;
  const document = documents.get(chosen);
  const log = logs.get(logKey(chosen));
  if (log !== undefined && (document === undefined || format === 'jsonl')) {
    yield* logAs(format, new Places(home), found, logKey(chosen), log);
    return;
  }
  if (document === undefined)
    throw missingDocument(home, chosen, [...documents.keys(), ...[...logs.keys()].map(logNameOf)]);
  switch (format) {
    case 'json':
      return yield* serialize(document.state).portions;
    case 'jsonl':
      return yield linesOf(Array.isArray(document.state) ? document.state : [document.state]);
    case 'msgpack':
      return yield packed(document.state, chosen);
    default:
      return format satisfies never;
  }
}

function* logAs(format: ExportFormat, places: Places, { storeId }: Sound, key: string, { count, lost }: LogExtent) {
  const source = new EntrySource(readingDisk, places, storeId, key);
  let isFirst = true;
  for (let at = 0; at < count; ) {
    const portion = source.next(at, count, lost);
    at = portion.to;
    if (format === 'jsonl') yield portion.lines();
    else if (format === 'msgpack') yield Buffer.concat(portion.entries().map((entry) => packed(entry, key)));
    else {
      const texts = portion.entries().map((entry) => JSON.stringify(entry));
      if (texts.length === 0) continue;
      yield Buffer.from(`${isFirst ? '[\n' : ',\n'}${texts.join(',\n')}`);
      isFirst = false;
    }
  }
  if (format === 'json') yield Buffer.from(isFirst ? '[]\n' : '\n]\n');
}

function packed(value: unknown, name: string): Buffer {
  if (isCarried(value)) return packr.pack(value);
  throw new HoldfastError(
    'HF_VALUE',
    `'${name}' holds text or keys that msgpack would change (half a surrogate pair, __proto__, constructor, toJSON). Nothing was written. Export it as json.`,
  );
}

function isCarried(value: unknown): boolean {
  if (typeof value === 'string') return isWellFormed(value);
  if (!isContainer(value)) return true;
  if (Array.isArray(value)) return value.every(isCarried);
  return Object.keys(value).every((key) => !isOddKey(key) && isCarried(value[key]));
}
