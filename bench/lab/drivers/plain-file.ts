// Subjects that are one JSON file: only how it is written differs.

import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Driver, Promised } from '../contract.js';
import type { LabState } from '../state.js';

export interface FileSubject {
  id: string;
  name: string;
  package?: string;
  promised: Promised;
  how: string;
  /** Imports the library: what that does to a process happens to no other subject. */
  access(path: string): Promise<FileAccess>;
}

interface FileAccess {
  write(text: string): Promise<void>;
  /** @default fs.readFile */
  read?(): Promise<string>;
}

/** One save at a time, as `await save()` in a loop does it; the last one that was not waited for may be under way. */
export function fileDriver({ access, ...about }: FileSubject): Driver {
  return {
    ...about,
    async open(directory) {
      await mkdir(directory, { recursive: true });
      const path = join(directory, 'state.json');
      const { write, read = () => readFile(path, 'utf8') } = await access(path);
      const save = (state: LabState) => write(JSON.stringify(state, null, 2));
      return {
        load: async () => (existsSync(path) ? (JSON.parse(await read()) as LabState) : null),
        save,
        saveSoon: (state) => {
          save(state).catch((error: Error) => process.emitWarning(error.message));
        },
        close: async () => undefined,
      };
    },
  };
}

export const fsWriteFile = fileDriver({
  id: 'fs',
  name: 'fs.writeFile',
  promised: 'neither',
  how: '`await writeFile(path, JSON.stringify(state))`',
  access: async (path) => ({ write: (text) => writeFile(path, text) }),
});

export const holdfastFile = fileDriver({
  id: 'holdfast-file',
  name: 'holdfast/file writeFile',
  promised: 'durable',
  how: '`await writeFile(path, text)`, `readFile` to load',
  access: async (path) => {
    const file = await import('holdfast/file');
    return { write: (text) => file.writeFile(path, text), read: () => file.readFile(path, 'utf8') };
  },
});

export const writeFileAtomic = fileDriver({
  id: 'write-file-atomic',
  name: 'write-file-atomic',
  package: 'write-file-atomic',
  promised: 'atomic',
  how: '`await writeFileAtomic(path, text)`, fsync on as by default; the rename is not synced, and not said to be',
  access: async (path) => {
    const { default: write } = await import('write-file-atomic');
    return { write: (text) => write(path, text) };
  },
});

export const atomically = fileDriver({
  id: 'atomically',
  name: 'atomically',
  package: 'atomically',
  promised: 'atomic',
  how: '`await writeFile(path, text)`, fsync and its wait on as by default; the rename is not synced, and not said to be',
  access: async (path) => {
    const library = await import('atomically');
    return { write: (text) => library.writeFile(path, text), read: () => library.readFile(path, 'utf8') };
  },
});

export const steno = fileDriver({
  id: 'steno',
  name: 'steno',
  package: 'steno',
  promised: 'atomic',
  how: "`await writer.write(text)`; 'No partial writes (writes are atomic)', by a rename without fsync",
  access: async (path) => {
    const { Writer } = await import('steno');
    const writer = new Writer(path);
    return { write: (text) => writer.write(text) };
  },
});
