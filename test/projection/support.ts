// A store's folders and a press over any disk; a document whose versions say which one they are.

import type { PublicDisk } from '../../src/disk/disk.js';
import { withFile } from '../../src/disk/files.js';
import { readFileHeader } from '../../src/journal/file-header.js';
import { makePlaces, Places } from '../../src/journal/places.js';
import { survey } from '../../src/journal/survey.js';
import { type Inspection, inspect } from '../../src/projection/inspect.js';
import { newPress as newPressIn, type Outcome, type Plan, type Press } from '../../src/projection/press.js';
import { publishDocument } from '../../src/projection/publish.js';
import { readRecord } from '../../src/projection/record.js';
import { serialize, type Text, wholeOf } from '../../src/projection/serialize.js';
import { RecordingDisk } from '../support/recording-disk.js';

export const STORE = '/home/agent/.agent';
export const ID = Buffer.alloc(16, 7);
export const MAIN = `${STORE}/loop.json`;

export function newPress(disk: PublicDisk, directory = STORE): Press {
  return newPressIn(disk, new Places(directory), ID);
}

/** A disk with an empty store, all of it durable. */
export function emptyStore(): RecordingDisk {
  const disk = new RecordingDisk();
  makePlaces(disk, new Places(STORE), true);
  // The folders inside are not synced by making them: nothing in them counts. Here they should not vanish.
  disk.syncDirectory(`${STORE}/.holdfast`);
  disk.syncDirectory(STORE);
  return disk.afterKill();
}

/** Version n of a document: what it is shows in its bytes, and each has its own length. */
export function version(n: number): Text {
  return serialize({ version: n, output: 'out '.repeat(200 + n), __proto__: null } as never);
}

export function planFor(name: string, n: number, more: Partial<Plan> = {}): Plan {
  return {
    name,
    text: version(n),
    version: n,
    seq: n,
    changedSeq: n,
    durableSeq: n,
    backups: 3,
    isNewest: () => true,
    ...more,
  };
}

export function publishVersion(press: Press, name: string, n: number, more: Partial<Plan> = {}): Outcome {
  return publishDocument(press, planFor(name, n, more));
}

/** The version a file holds; null when there is none; text for anything that is no complete version. */
export function versionAt(disk: RecordingDisk, path: string): number | string | null {
  const bytes = disk.files().get(path);
  if (bytes === undefined) return null;
  const text = Buffer.from(bytes).toString();
  const n = Number(/^{\n {2}"version": (\d+),/.exec(text)?.[1]);
  return wholeOf(version(n)).equals(bytes) ? n : text;
}

/** Main file, then its backups. */
export function versionsOf(disk: RecordingDisk, main = MAIN): (number | string | null)[] {
  return [main, ...[1, 2, 3].map((n) => `${main}.bak${n}`)].map((path) => versionAt(disk, path));
}

export function put(disk: RecordingDisk, path: string, content: string | Uint8Array): void {
  if (disk.entry(path) !== null) disk.unlink(path);
  const handle = disk.open(path, 'create');
  const bytes = Buffer.from(content as string);
  if (bytes.length > 0) disk.write(handle, bytes, 0, bytes.length, 0);
  disk.close(handle);
}

export function inspectAt(disk: PublicDisk, name: string, expected: Text, check = isObject): Inspection {
  const places = new Places(STORE);
  const edition = readRecord(disk, places, ID).editions.get(name);
  const { version = 0 } = JSON.parse(wholeOf(expected).toString()) as { version?: number };
  return inspect(disk, places, { name, version, expected: () => expected, edition, check });
}

export function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

/** The id of the store whose truth lies there. */
export function storeIdAt(disk: PublicDisk, directory = STORE): Buffer {
  const [file] = survey(disk, new Places(directory));
  if (file === undefined) throw new Error('No truth');
  const header = withFile(disk, file.path, (handle) => readFileHeader(disk, handle, file.path));
  if (header === null) throw new Error('No header');
  return header.storeId;
}
