// The documents as the frames on disk give them. Recovery, compaction and salvage all build state here and nowhere else.

import { applyOps, Misfit } from '../change/apply.js';
import { OP_WHOLE } from '../change/ops.js';
import type { Container } from '../change/plain.js';
import type { Frame } from './frame.js';
import { CODEC_JSON } from './layout.js';
import { decodePayload } from './payload.js';

export interface ReplicaDocument {
  state: Container;
  version: number;
  /** Some frame of it was JSON text: it may hold what msgpack does not carry. */
  mayBeOdd: boolean;
}

export class Replica {
  readonly documents = new Map<string, ReplicaDocument>();

  /** A commit. Every document in it must stand at the version the frame builds on. */
  applyCommit(frame: Frame): void {
    this.#apply(frame, (name, from) => {
      const version = this.documents.get(name)?.version ?? 0;
      if (version !== from) throw new Misfit(`'${name}' is at version ${version}, the frame builds on ${from}`);
    });
  }

  /** A part of a base: versions are given, not counted. */
  applyBase(frame: Frame): void {
    this.#apply(frame, () => undefined);
  }

  /** Only the documents whose history is whole up to here; the names of the others. */
  applySalvageable(frame: Frame): string[] {
    const lists = decodePayload(frame.header.codec, frame.payload);
    const left: string[] = [];
    frame.header.documents.forEach(({ name, from, version }, index) => {
      const ops = lists[index] as unknown[];
      const known = this.documents.get(name);
      const startsOver = Array.isArray(ops?.[0]) && ops[0][0] === OP_WHOLE;
      if ((known?.version ?? 0) === from || startsOver) this.#applyDocument(name, version, ops, frame.header.codec);
      else left.push(name);
    });
    return left;
  }

  #apply(frame: Frame, check: (name: string, from: number) => void): void {
    const lists = decodePayload(frame.header.codec, frame.payload);
    const { documents, codec } = frame.header;
    if (lists.length !== documents.length) throw new Misfit('a frame lists other documents than it holds');
    documents.forEach(({ name, from, version }, index) => {
      check(name, from);
      this.#applyDocument(name, version, lists[index] as unknown[], codec);
    });
  }

  #applyDocument(name: string, version: number, ops: unknown[], codec: number): void {
    if (!Array.isArray(ops)) throw new Misfit('a frame holds no ops for a document');
    const known = this.documents.get(name);
    const state = applyOps(known?.state, ops);
    const mayBeOdd = codec === CODEC_JSON || (known?.mayBeOdd ?? false);
    if (state === undefined) this.documents.delete(name);
    else this.documents.set(name, { state, version, mayBeOdd });
  }
}
