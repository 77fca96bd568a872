// What is there, before anything is concluded from it.

import { join } from 'node:path';
import type { Disk } from '../disk/disk.js';
import { readWhole } from '../disk/files.js';
import { decodeFileHeader, type FileHeader } from './file-header.js';
import type { Frame, FrameHeader } from './frame.js';
import { FILE_BASE, FILE_HEADER_BYTES, FILE_TAIL } from './layout.js';
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
  bytes: Buffer;
}

export function survey(disk: Disk, places: Places): TruthFile[] {
  if (disk.entry(places.hidden) === null) return [];
  const files: TruthFile[] = [];
  for (const name of disk.list(places.hidden)) {
    const parsed = parseTruthName(name);
    if (parsed === null) continue;
    const path = join(places.hidden, name);
    files.push({ name, path, ...parsed, header: readFileHeader(disk, path, parsed.number, parsed.kind) });
  }
  return files.sort((a, b) => a.number - b.number);
}

function readFileHeader(disk: Disk, path: string, number: number, kind: TruthKind): FileHeader | null {
  const handle = disk.open(path, 'read');
  try {
    const bytes = Buffer.alloc(FILE_HEADER_BYTES);
    const read = disk.read(handle, bytes, 0, FILE_HEADER_BYTES, 0);
    const header = read === FILE_HEADER_BYTES ? decodeFileHeader(bytes, path) : null;
    const isOwn = header?.number === number && header.kind === (kind === 'base' ? FILE_BASE : FILE_TAIL);
    return isOwn ? header : null;
  } finally {
    disk.close(handle);
  }
}

export function readTail(disk: Disk, file: TruthFile): TailContents {
  const bytes = readWhole(disk, file.path);
  const contents: TailContents = { file, frames: [], rotten: [], bytes };
  for (const found of scan(bytes, FILE_HEADER_BYTES)) {
    if (found.kind === 'frame') contents.frames.push({ frame: found.frame, offset: found.offset });
    else if (found.header !== undefined) contents.rotten.push(found.header);
  }
  return contents;
}
