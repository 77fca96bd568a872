// The documents as the frames on disk give them. Recovery, compaction and salvage all build state here and nowhere else.
// Of a log only its length is kept: its entries are read from the files when somebody asks for them.

import { applyOps, Misfit, UnknownOp } from '../change/apply.js';
import { OP_ADOPTED, OP_CHECKED, OP_ENTRIES, OP_LOG, OP_SCHEMA, OP_WHOLE } from '../change/ops.js';
import type { Container } from '../change/plain.js';
import { refuseVersion } from './file-header.js';
import type { Frame } from './frame.js';
import { CODEC_JSON, CODEC_MSGPACK } from './layout.js';
import { isLogKey, type LogExtent, type Range } from './log-key.js';
import { decodePayload } from './payload.js';

export interface ReplicaDocument {
  state: Container;
  version: number;
  /** Some frame of it was JSON text: it may hold what msgpack does not carry. */
  mayBeOdd: boolean;
  /** Of which version of its schema it is. */
  schemaVersion: number;
  /** SHA-256 of the file that the state was last taken from. */
  adopted?: string | undefined;
  /** The fingerprint of a schema that accepts it. Empty when none is known. */
  checkedBy?: string | undefined;
}

export class Replica {
  readonly documents = new Map<string, ReplicaDocument>();
  readonly logs = new Map<string, LogExtent>();
  readonly #only: string | undefined;

  /** With `only`, everything else is passed over: one document of many then costs what it holds. */
  constructor(only?: string) {
    this.#only = only;
  }

  /** A commit. Every document in it must stand at the version the frame builds on. */
  applyCommit(frame: Frame): void {
    this.#apply(frame, (name, from, version, ops) => {
      const at = this.versionOf(name);
      if (at !== from) throw new Misfit(`'${name}' is at version ${at}, the frame builds on ${from}`);
      if (!isLogKey(name)) return;
      entriesIn(ops, from, version);
      this.logs.set(name, { count: version, lost: this.logs.get(name)?.lost ?? [] });
    });
  }

  /** A part of a base: versions are given, not counted. */
  applyBase(frame: Frame): void {
    this.#apply(frame, (name, _from, version, ops) => {
      if (isLogKey(name)) this.logs.set(name, { count: version, lost: lostIn(ops) });
    });
  }

  /** Only the documents whose history is whole up to here. Of a log, every entry that is there. */
  applySalvageable(frame: Frame, onEntries: (key: string, from: number, entries: unknown[]) => void): void {
    const { documents, codec } = frame.header;
    const lists = decodeFrameOps(frame);
    documents.forEach(({ name, from, version }, index) => {
      const ops = lists[index] as unknown[];
      if (isLogKey(name)) {
        onEntries(name, from, entriesIn(ops, from, version));
        return;
      }
      const startsOver = Array.isArray(ops?.[0]) && ops[0][0] === OP_WHOLE;
      if (this.versionOf(name) === from || startsOver) this.#applyDocument(name, version, ops, codec);
    });
  }

  versionOf(name: string): number {
    return (isLogKey(name) ? this.logs.get(name)?.count : this.documents.get(name)?.version) ?? 0;
  }

  /** `take` is called for each name of the frame, and does all there is to do for a log. */
  #apply(frame: Frame, take: (name: string, from: number, version: number, ops: unknown[]) => void): void {
    const { documents, codec } = frame.header;
    const isWanted = (name: string) => this.#only === undefined || this.#only === name;
    if (!documents.some(({ name }) => isWanted(name))) return;
    const lists = decodeFrameOps(frame);
    documents.forEach(({ name, from, version }, index) => {
      if (!isWanted(name)) return;
      const ops = lists[index] as unknown[];
      take(name, from, version, ops);
      if (!isLogKey(name)) this.#applyDocument(name, version, ops, codec);
    });
  }

  #applyDocument(name: string, version: number, ops: unknown[], codec: number): void {
    if (!Array.isArray(ops)) throw new Misfit('a frame holds no ops for a document');
    const known = this.documents.get(name);
    const state = applyOps(known?.state, ops);
    const mayBeOdd = codec === CODEC_JSON || (known?.mayBeOdd ?? false);
    if (state === undefined) this.documents.delete(name);
    else
      this.documents.set(name, {
        state,
        version,
        mayBeOdd,
        schemaVersion: Number(said(ops, OP_SCHEMA) ?? known?.schemaVersion ?? 1),
        adopted: said(ops, OP_ADOPTED)?.toString() ?? known?.adopted,
        checkedBy: said(ops, OP_CHECKED)?.toString() ?? known?.checkedBy,
      });
  }
}

/** What an op beside the state says. */
function said(ops: readonly unknown[], code: number): number | string | undefined {
  for (const op of ops) if (Array.isArray(op) && op[0] === code) return op[1];
  return undefined;
}

/** The entries that a commit brings for one log; null when it brings none. */
export function entriesOf(frame: Frame, key: string): { from: number; entries: unknown[] } | null {
  const index = frame.header.documents.findIndex(({ name }) => name === key);
  const entry = frame.header.documents[index];
  if (entry === undefined) return null;
  return { from: entry.from, entries: entriesIn(decodeFrameOps(frame)[index] as unknown[], entry.from, entry.version) };
}

export function entriesIn(ops: unknown, from: number, version: number): unknown[] {
  const entries = opOfLog(ops, OP_ENTRIES).slice(1);
  if (entries.length !== version - from) throw new Misfit('a log grows by another number of entries than it holds');
  return entries;
}

function lostIn(ops: unknown): readonly Range[] {
  const [, ...ends] = opOfLog(ops, OP_LOG) as number[];
  const lost: Range[] = [];
  for (let at = 0; at + 1 < ends.length; at += 2) lost.push({ from: Number(ends[at]), to: Number(ends[at + 1]) });
  return lost;
}

/** A log has one op at a time; another one is of a later version of the format. */
function opOfLog(ops: unknown, kind: number): unknown[] {
  if (!Array.isArray(ops) || !Array.isArray(ops[0])) throw new Misfit('a frame holds no ops for a log');
  if (ops.length !== 1 || ops[0][0] !== kind)
    throw new UnknownOp(`op ${String((ops.at(-1) as unknown[] | null)?.[0])} of a log`);
  return ops[0];
}

/** One list of ops per document. The checksum held, so anything wrong here was written wrong. */
export function decodeFrameOps({ header, payload }: Frame): unknown[] {
  const { codec, documents } = header;
  if (codec !== CODEC_MSGPACK && codec !== CODEC_JSON) throw new UnknownOp(`codec ${codec}`);
  const lists = decodeOrMisfit(codec, payload);
  if (lists.length !== documents.length) throw new Misfit('a frame lists other documents than it holds');
  return lists;
}

function decodeOrMisfit(codec: number, payload: Buffer): unknown[] {
  try {
    return decodePayload(codec, payload);
  } catch (error) {
    throw new Misfit(`a payload cannot be decoded (${error instanceof Error ? error.message : String(error)})`);
  }
}

/** Something that only a later version can have written refuses the whole store. */
export function orRefuse<R>(where: string, read: () => R): R {
  try {
    return read();
  } catch (error) {
    if (error instanceof UnknownOp) refuseVersion(where, error.message);
    throw error;
  }
}
