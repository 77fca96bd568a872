// Rivals that write the whole state as one JSON file: only how differs.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type AgentState, finish } from '../agent-state.js';
import type { Awaited, Driver, Loaded, Session } from './contract.js';

type Write = (text: string) => Promise<void>;

interface FileRival {
  id: string;
  name: string;
  package?: string;
  awaited: Awaited;
  how: string;
  access(path: string): Promise<Write>;
}

const pathIn = (directory: string) => join(directory, 'state.json');

async function load(directory: string): Promise<Loaded> {
  const state = JSON.parse(await readFile(pathIn(directory), 'utf8')) as AgentState;
  return { items: state.order.length };
}

/** One save at a time, as `await save()` in a loop does it. */
function fileDriver({ access, ...about }: FileRival): Driver {
  return {
    ...about,
    writes: 'everything',
    load,
    async begin(directory, initial) {
      const write = await access(pathIn(directory));
      await write(JSON.stringify(initial));
      const step = (id: string, text: string) => {
        finish(initial, id, text);
        return write(JSON.stringify(initial));
      };
      return { update: step, step, settle: async () => undefined, close: async () => undefined };
    },
  };
}

export const fsWriteFile = fileDriver({
  id: 'fs',
  name: 'fs.writeFile',
  awaited: 'written',
  how: '`await writeFile(path, JSON.stringify(state))`',
  access: async (path) => (text) => writeFile(path, text),
});

async function accessAtomic(path: string): Promise<Write> {
  const { default: write } = await import('write-file-atomic');
  return async (text) => {
    await write(path, text);
  };
}

export const writeFileAtomic = fileDriver({
  id: 'write-file-atomic',
  name: 'write-file-atomic',
  package: 'write-file-atomic',
  awaited: 'synced',
  how: '`await writeFileAtomic(path, JSON.stringify(state))`, fsync on as by default',
  access: accessAtomic,
});

export const atomically = fileDriver({
  id: 'atomically',
  name: 'atomically',
  package: 'atomically',
  awaited: 'synced',
  how: '`await writeFile(path, JSON.stringify(state))`, fsync and its wait on as by default',
  access: async (path) => {
    const { writeFile: write } = await import('atomically');
    return (text) => write(path, text);
  },
});

export const steno = fileDriver({
  id: 'steno',
  name: 'steno',
  package: 'steno',
  awaited: 'written',
  how: '`await writer.write(JSON.stringify(state))`; a rename without fsync',
  access: async (path) => {
    const { Writer } = await import('steno');
    const writer = new Writer(path);
    return (text) => writer.write(text);
  },
});

/** What `syncDelayMs` is for holdfast: an update is on disk after about this long. */
const DEBOUNCE_MS = 100;

export const debounced: Driver = {
  id: 'write-file-atomic-debounced',
  name: `write-file-atomic, debounced ${DEBOUNCE_MS} ms`,
  package: 'write-file-atomic',
  awaited: null,
  writes: 'everything',
  how: `an update starts a timer of ${DEBOUNCE_MS} ms unless one runs; then \`writeFileAtomic(path, JSON.stringify(state))\``,
  load,
  async begin(directory, initial) {
    const write = await accessAtomic(pathIn(directory));
    await write(JSON.stringify(initial));
    return debouncedSession(initial, () => write(JSON.stringify(initial)));
  },
};

function debouncedSession(state: AgentState, save: () => Promise<void>): Session {
  let timer: NodeJS.Timeout | null = null;
  let saving: Promise<void> = Promise.resolve();
  let isDirty = false;
  let failure: unknown = null;
  const saveNow = () => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (!isDirty) return;
    isDirty = false;
    // One after the other, as write-file-atomic queues them itself: the state is the one of that moment.
    saving = saving.then(save).catch((error: unknown) => {
      failure ??= error;
    });
  };
  const settle = async () => {
    saveNow();
    await saving;
    if (failure !== null) throw failure;
  };
  const update = (id: string, text: string) => {
    finish(state, id, text);
    isDirty = true;
    timer ??= setTimeout(saveNow, DEBOUNCE_MS);
    return undefined;
  };
  const step = (id: string, text: string) => {
    update(id, text);
    return settle();
  };
  return { update, step, settle, close: settle };
}
