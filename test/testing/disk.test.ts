// The disk in memory against the one that the crash tests of the protocol trust: the same calls, the same answers, and
// after a power cut the same files.

import { describe, expect, it } from 'vitest';
import type { Handle, PublicDisk } from '../../src/disk/disk.js';
import { codeOf } from '../../src/disk/faults.js';
import { readFrom } from '../../src/disk/files.js';
import { MemoryFiles } from '../../src/testing/memory-files.js';
import { FolderNode } from '../../src/testing/nodes.js';
import { crashStates } from '../support/crash-states.js';
import { RecordingDisk } from '../support/recording-disk.js';

const FOLDERS = ['/d', '/e', '/d/f'];
const FILES = ['/a', '/d/a', '/d/b', '/e/a', '/d/f/a'];

type Act = (disk: PublicDisk, handles: Handle[]) => unknown;

function drawAct(draw: (below: number) => number): Act {
  const folder = FOLDERS[draw(FOLDERS.length)] as string;
  const [path, other] = [FILES[draw(FILES.length)] as string, FILES[draw(FILES.length)] as string];
  const [which, position, length] = [draw(1000), draw(200), draw(100)];
  const bytes = Buffer.alloc(length, 1 + draw(255));
  const withHandle = (act: (disk: PublicDisk, handle: Handle) => unknown): Act => {
    return (disk, handles) => (handles.length === 0 ? null : act(disk, handles[which % handles.length] as Handle));
  };
  const open =
    (access: 'create' | 'write'): Act =>
    (disk, handles) =>
      void handles.push(disk.open(path, access));
  const acts: Act[] = [
    (disk) => disk.makeDirectory(folder),
    open('create'),
    open('create'),
    open('write'),
    withHandle((disk, handle) => disk.write(handle, bytes, 0, bytes.length, position)),
    withHandle((disk, handle) => disk.write(handle, bytes, 0, bytes.length, position)),
    withHandle((disk, handle) => disk.truncate(handle, position)),
    withHandle((disk, handle) => disk.sync(handle)),
    withHandle((disk, handle) => disk.syncData(handle)),
    withHandle((disk, handle) => disk.size(handle)),
    (disk) => disk.syncDirectory(folder),
    (disk) => disk.syncDirectory('/'),
    (disk) => disk.rename(path, other),
    (disk) => disk.link(path, other),
    (disk) => disk.unlink(path),
    (disk) => disk.list(folder).sort(),
    (disk) => disk.entry(path)?.size,
    (disk) => readFrom(disk, path).toString('hex'),
    (disk) => disk.realPath(path),
  ];
  return acts[draw(acts.length)] as Act;
}

function answer(act: Act, disk: PublicDisk, handles: Handle[]): unknown {
  try {
    return act(disk, handles);
  } catch (error) {
    return codeOf(error) ?? error;
  }
}

function contents(disk: PublicDisk, folder = ''): string[] {
  return disk
    .list(folder === '' ? '/' : folder)
    .sort()
    .flatMap((name) => {
      const path = `${folder}/${name}`;
      if (disk.entry(path)?.kind === 'directory') return contents(disk, path);
      return [`${path} ${readFrom(disk, path).toString('hex')}`];
    });
}

describe('the disk in memory', () => {
  it.each(Array.from({ length: 100 }, (_, index) => index + 1))('answers and forgets as a disk does (%i)', (seed) => {
    let state = seed;
    const draw = (below: number) => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    let trusted = new RecordingDisk();
    let memory = new MemoryFiles(new FolderNode(), new Map());
    for (let life = 0; life < 4; life++) {
      const handles: [Handle[], Handle[]] = [[], []];
      for (let step = 0; step < 80; step++) {
        const act = drawAct(draw);
        const told = [answer(act, trusted, handles[0]), answer(act, memory, handles[1])];
        expect(told[1], `seed ${seed}, life ${life}, step ${step}: ${act}`).toEqual(told[0]);
      }
      expect(contents(memory)).toEqual(contents(trusted));
      const { root } = memory;
      memory.die();
      expect(() => memory.entry('/a')).toThrow(expect.objectContaining({ code: 'HF_CLOSED' }));
      memory = new MemoryFiles(root, new Map());
      if (life % 2 === 0) {
        // The first of them: nothing that was not synced is left.
        trusted = crashStates(trusted).next().value as RecordingDisk;
        root.cutPower();
      } else trusted = trusted.afterKill();
      expect(contents(memory), `seed ${seed}, after life ${life}`).toEqual(contents(trusted));
    }
  });
});
