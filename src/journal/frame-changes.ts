// What a commit changed, in words that are not those of the format: for people who look and programs that follow.

import { UnknownOp } from '../change/apply.js';
import {
  OP_ADOPTED,
  OP_CHECKED,
  OP_DROP,
  OP_HEAD,
  OP_PUT,
  OP_REMOVED,
  OP_SCHEMA,
  OP_TAIL,
  OP_TEXT,
  OP_WHOLE,
} from '../change/ops.js';
import type { Path } from '../errors.js';
import { refuseVersion } from './file-header.js';
import type { Frame } from './frame.js';
import { isLogKey, logNameOf } from './log-key.js';
import { decodeFrameOps, entriesIn } from './replica.js';

export type Change =
  /** The document is this value: it was made, imported or replaced as a whole. */
  | { kind: 'whole'; value: unknown }
  | { kind: 'put'; path: Path; value: unknown }
  | { kind: 'drop'; path: Path }
  /** From this index on the list holds these items. For a push it is the length that the list had. */
  | { kind: 'tail'; path: Path; from: number; items: unknown[] }
  /** The first items of the list are gone. */
  | { kind: 'head'; path: Path; count: number }
  /** From this place on (UTF-16 units) the text goes on like this. */
  | { kind: 'text'; path: Path; from: number; text: string }
  | { kind: 'removed' }
  /** From now on the document is of this version of its schema. */
  | { kind: 'schema'; version: number }
  /** The state was taken from a file with this SHA-256. */
  | { kind: 'adopted'; sha256: string }
  /** These entries were appended to the log; the first one has this index. */
  | { kind: 'entries'; from: number; entries: unknown[] };

export interface ChangedDocument {
  kind: 'document' | 'log';
  name: string;
  /** For a log: how many entries it had. */
  fromVersion: number;
  version: number;
  changes: Change[];
}

/** With `only`: the document or log of this name. */
export function changesIn(frame: Frame, only?: string): ChangedDocument[] {
  const { documents, seq } = frame.header;
  const wanted = documents.map(({ name: key }) => only === undefined || nameOf(key) === only);
  if (!wanted.includes(true)) return [];
  try {
    const lists = decodeFrameOps(frame);
    return documents.flatMap(({ name: key, from, version }, index) => {
      if (!wanted[index]) return [];
      const ops = lists[index] as unknown[];
      const isLog = isLogKey(key);
      const changes: Change[] = isLog
        ? [{ kind: 'entries', from, entries: entriesIn(ops, from, version) }]
        : ops.flatMap((op) => changesOf(op as unknown[]));
      return [{ kind: isLog ? 'log' : 'document', name: nameOf(key), fromVersion: from, version, changes }];
    });
  } catch (error) {
    if (error instanceof UnknownOp) refuseVersion(`commit ${seq}`, error.message);
    throw error;
  }
}

function nameOf(key: string): string {
  return isLogKey(key) ? logNameOf(key) : key;
}

/** The checksum held, so what is here was written so (replica.ts holds it to the state it meets). */
function changesOf(op: unknown[]): Change[] {
  const [code, at, more, rest] = op;
  const path = (Array.isArray(at) ? at : []) as Path;
  switch (code) {
    case OP_WHOLE:
      return [{ kind: 'whole', value: at }];
    case OP_PUT:
      return pairs(op).map(([key, value]) => ({ kind: 'put', path: [...path, key], value }));
    case OP_DROP:
      return op.slice(2).map((key) => ({ kind: 'drop', path: [...path, String(key)] }));
    case OP_TAIL:
      return [{ kind: 'tail', path, from: Number(more), items: rest as unknown[] }];
    case OP_HEAD:
      return [{ kind: 'head', path, count: Number(more) }];
    case OP_TEXT:
      return [{ kind: 'text', path, from: Number(more), text: String(rest) }];
    case OP_REMOVED:
      return [{ kind: 'removed' }];
    case OP_SCHEMA:
      return [{ kind: 'schema', version: Number(at) }];
    case OP_ADOPTED:
      return [{ kind: 'adopted', sha256: String(at) }];
    case OP_CHECKED:
      // Says nothing that a person could see.
      return [];
    default:
      throw new UnknownOp(`op ${String(code)}`);
  }
}

function pairs(op: readonly unknown[]): [key: string | number, value: unknown][] {
  const found: [string | number, unknown][] = [];
  for (let at = 2; at + 1 < op.length; at += 2) found.push([op[at] as string | number, op[at + 1]]);
  return found;
}
