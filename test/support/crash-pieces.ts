// A file's unsynced operations as the pieces a power cut keeps or loses one by one.
//
// P1. A write falls apart at 4096-byte pages of the file. Within a page it may tear at a 512-byte sector; a sector never
//     tears.
// P2. Zeros that extend the file are one piece per write: kept or lost, they differ in the file's size only.
// P3. The size may reach the medium without the bytes: then what is new reads as zero.

import { type Content, PAGE_BYTES, type Page, sharedPage } from './recording-content.js';
import { applyData, type DataOp, type FileNode, type WriteOp } from './recording-nodes.js';

const SECTOR_BYTES = 512;

export interface Piece {
  kind: 'bytes' | 'zeros' | 'truncate';
  op: DataOp;
  /** In the file. Of a truncate, both are the size it sets. */
  start: number;
  end: number;
  /** Every way in which it may not be kept whole. */
  losses: Loss[];
  /** Made once, when the piece is a whole page: most states of a large write keep most of its pages. */
  page?: Page;
}

export type Loss =
  | { kind: 'lost' }
  /** The size without the bytes. */
  | { kind: 'zero' }
  /** Only the sectors before or after `at` are kept; the size is as if all were, or as the kept ones make it. */
  | { kind: 'torn'; at: number; keeps: 'before' | 'after'; isSized: boolean };

export type Outcome = { kind: 'kept' } | Loss;

export const KEPT: Outcome = { kind: 'kept' };
export const LOST: Loss = { kind: 'lost' };
export const ZERO: Loss = { kind: 'zero' };

/** What the medium may hold of one file: its durable content, then in order what is certain and what is in pieces. */
export type Script = (DataOp | Piece[])[];

export function scriptOf(node: FileNode): Script {
  return node.pending.map((op) => {
    if (op.state === 'synced') return op;
    if (op.kind === 'write') return [...writePieces(op, node.durable.size)];
    return [{ kind: 'truncate', op, start: op.size, end: op.size, losses: [LOST] }];
  });
}

function* writePieces(op: WriteOp, durableSize: number): Generator<Piece> {
  const end = op.position + op.length;
  const extendsFrom = op.bytes === null ? Math.max(op.position, Math.min(op.sizeBefore, end)) : end;
  for (let start = op.position; start < extendsFrom; ) {
    const pageEnd = (Math.floor(start / PAGE_BYTES) + 1) * PAGE_BYTES;
    const pieceEnd = Math.min(pageEnd, extendsFrom);
    yield { kind: 'bytes', op, start, end: pieceEnd, losses: [...lossesOf(start, pieceEnd, durableSize)] };
    start = pieceEnd;
  }
  if (extendsFrom < end) yield { kind: 'zeros', op, start: extendsFrom, end, losses: [LOST] };
}

function* lossesOf(start: number, end: number, durableSize: number): Generator<Loss> {
  const doesExtend = end > durableSize;
  yield LOST;
  if (doesExtend) yield ZERO;
  const first = (Math.floor(start / SECTOR_BYTES) + 1) * SECTOR_BYTES;
  for (let at = first; at < end; at += SECTOR_BYTES) {
    yield { kind: 'torn', at, keeps: 'before', isSized: false };
    if (doesExtend) yield { kind: 'torn', at, keeps: 'before', isSized: true };
    yield { kind: 'torn', at, keeps: 'after', isSized: true };
  }
}

/** `content` must be owned by the caller. */
export function applyPiece(content: Content, piece: Piece, outcome: Outcome): void {
  switch (outcome.kind) {
    case 'kept':
      if (piece.kind === 'truncate') applyData(content, piece.op);
      else writePart(content, piece, piece.start, piece.end);
      return;
    case 'lost':
      return;
    case 'zero':
      content.extend(piece.end);
      return;
    case 'torn':
      if (outcome.keeps === 'before') writePart(content, piece, piece.start, outcome.at);
      else writePart(content, piece, outcome.at, piece.end);
      if (outcome.isSized) content.extend(piece.end);
      return;
    default:
      outcome satisfies never;
  }
}

function writePart(content: Content, piece: Piece, start: number, end: number): void {
  const { op } = piece;
  if (op.kind !== 'write') return;
  if (op.bytes === null) {
    content.writeZeros(start, end - start);
    return;
  }
  const bytes = op.bytes.subarray(start - op.position, end - op.position);
  if (bytes.length === PAGE_BYTES) {
    // Pieces do not cross pages, so this is one.
    piece.page ??= sharedPage(bytes);
    content.writePage(piece.page, start / PAGE_BYTES);
  } else {
    content.write(bytes, start);
  }
}

export function describePiece(piece: Piece, outcome: Outcome): string {
  const range = piece.kind === 'truncate' ? `truncate to ${piece.end}` : `${piece.kind} ${piece.start}..${piece.end}`;
  if (outcome.kind !== 'torn') return `${range} ${outcome.kind}`;
  return `${range} torn at ${outcome.at}, ${outcome.keeps} it kept${outcome.isSized ? ', size extended' : ''}`;
}
