// How fast does a store come back? Reading, verifying and decoding a base, and one frame that is a single large text.

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { OP_WHOLE } from '../../src/change/ops.js';
import { nodeDisk } from '../../src/disk/node-disk.js';
import { readBase } from '../../src/journal/base.js';
import { decodeFrame, encodeFrame } from '../../src/journal/frame.js';
import { KIND_BASE } from '../../src/journal/layout.js';
import { decodePayload, encodePayload } from '../../src/journal/payload.js';
import { Places } from '../../src/journal/places.js';
import { Truth } from '../../src/truth.js';
import { agentState } from '../agent-state.js';
import type { Prepared } from '../child.js';

const OUTPUT_BYTES = 150;
const MB = 1e6;

export type Decoded = 'base' | 'text' | 'json';

export interface DecodeStart {
  what: Decoded;
  directory: string;
  items: number;
}

export interface DecodeFigures {
  sizeMb: number;
  mbPerS: number;
}

export async function prepareDecode({ what, directory, items }: DecodeStart): Promise<Prepared<null, DecodeFigures>> {
  const { bytes, run } = PREPARE[what](directory, items);
  const round = async () => {
    const start = performance.now();
    run();
    return { sizeMb: bytes / MB, mbPerS: bytes / MB / ((performance.now() - start) / 1000) };
  };
  await round();
  return { round, end: async () => undefined };
}

interface Work {
  bytes: number;
  run(): unknown;
}

const PREPARE: Record<Decoded, (directory: string, items: number) => Work> = {
  base: (directory, items) => {
    const path = writeStore(directory, items);
    const run = () => {
      const { problem } = readBase(nodeDisk, new Places(directory), path);
      if (problem !== null) throw new Error(problem);
    };
    return { bytes: statSync(path).size, run };
  },
  text: () => {
    const text = largeText();
    const run = () => {
      const found = decodeFrame(text);
      if (found.kind !== 'frame') throw new Error('The frame does not verify');
      decodePayload(found.frame.header.codec, found.frame.payload);
    };
    return { bytes: text.length, run };
  },
  json: (_, items) => {
    const json = Buffer.from(JSON.stringify(agentState(items, OUTPUT_BYTES)));
    return { bytes: json.length, run: () => JSON.parse(json.toString()) };
  },
};

function writeStore(directory: string, items: number): string {
  const store = new Truth(directory, { eager: false });
  store.doc('loop', { initial: agentState(items, OUTPUT_BYTES) });
  store.compact();
  store.close();
  const hidden = join(directory, '.holdfast');
  const name = readdirSync(hidden).find((each) => each.endsWith('.base'));
  return join(hidden, name as string);
}

function largeText(): Buffer {
  const text = 'The quick brown fox of the model talks, and talks, and talks. '.repeat(800_000);
  const { codec, bytes } = encodePayload([[[OP_WHOLE, { text }]]], false);
  const documents = [{ name: 'loop', from: 0, version: 1 }];
  return encodeFrame({ kind: KIND_BASE, codec, seq: 1, timeMs: 1, prevCrc: 0, durableSeq: 1, documents }, bytes);
}
