// What is there, before anything is concluded from it.

import { join } from 'node:path';
import type { Disk } from '../disk/disk.js';
import { withFile } from '../disk/files.js';
import { type FileHeader, readFileHeader, refuseVersion } from './file-header.js';
import type { Frame, FrameHeader } from './frame.js';
import { FILE_BASE, FILE_HEADER_BYTES, FILE_TAIL, KIND_COMMIT, KIND_END, KIND_MARK } from './layout.js';
import { type Places, parseTruthName, type TruthKind } from './places.js';
import { scan } from './scan.js';

export interface TruthFile {
  name: string;
  path: string;
  number: number;
  kind: TruthKind;
  /** Null when damaged, or when it is not the header of a file with this name. */
  header: FileHeader | null;
}

export interface TailContents {
  file: TruthFile;
  frames: { frame: Frame; offset: number }[];
  /** Headers that verify in front of payloads that do not. */
  rotten: FrameHeader[];
}

export function survey(disk: Disk, places: Places): TruthFile[] {
  if (disk.entry(places.hidden) === null) return [];
  const files: TruthFile[] = [];
  for (const name of disk.list(places.hidden)) {
    const parsed = parseTruthName(name);
    if (parsed === null) continue;
    const path = join(places.hidden, name);
    files.push({ name, path, ...parsed, header: ownHeader(disk, path, parsed.number, parsed.kind) });
  }
  return files.sort((a, b) => a.number - b.number);
}

function ownHeader(disk: Disk, path: string, number: number, kind: TruthKind): FileHeader | null {
  const header = withFile(disk, path, (handle) => readFileHeader(disk, handle, path));
  const isOwn = header?.number === number && header.kind === (kind === 'base' ? FILE_BASE : FILE_TAIL);
  return isOwn ? header : null;
}

const TAIL_KINDS = new Set([KIND_COMMIT, KIND_MARK, KIND_END]);

export function readTail(disk: Disk, file: TruthFile): TailContents {
  const contents: TailContents = { file, frames: [], rotten: [] };
  return withFile(disk, file.path, (handle) => {
    for (const found of scan(disk, handle, FILE_HEADER_BYTES)) {
      if (found.kind === 'bad') {
        if (found.header !== undefined) contents.rotten.push(found.header);
        continue;
      }
      const { kind } = found.frame.header;
      if (!TAIL_KINDS.has(kind)) refuseVersion(file.name, `a frame of kind ${kind}`);
      contents.frames.push({ frame: found.frame, offset: found.offset });
    }
    return contents;
  });
}

/** True when a later tail began without this commit: it was cut in an ordinary crash and must not come back. */
export function isVoid(tails: readonly TailContents[], seq: number, number: number): boolean {
  return tails.some(({ file }) => file.number > number && file.header !== null && file.header.pinned < seq);
}

/**
 * A tail of a lower owner than one before it was written by a process that had lost the store while it was stalled, and
 * acknowledged nothing through it. It does not count, and must not void what its successor wrote.
 */
export function splitFenced(all: readonly TruthFile[]): { files: TruthFile[]; fenced: TruthFile[] } {
  const files: TruthFile[] = [];
  const fenced: TruthFile[] = [];
  let owner = 0;
  for (const file of all) {
    const isFenced = file.kind === 'tail' && file.header !== null && file.header.owner < owner;
    if (isFenced) fenced.push(file);
    else files.push(file);
    if (file.kind === 'tail') owner = Math.max(owner, file.header?.owner ?? 0);
  }
  return { files, fenced };
}
