// A disk with less and less room: a subject saves when there are so many pages left, loads while there are none, and loads
// again when there is room.
//
// Every other trial fills the disk before the subject opens, the others while it saves. That it refuses to open on a full
// disk is no damage; what is there when there is room again is what counts.

import { spawnSync } from 'node:child_process';
import {
  closeSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  rmSync,
  statfsSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { whyNoCuts, whyNoMounts } from '../../../test/support/process-means.js';
import { type Mounted, mountSmall, PowerCutDisk } from '../../../test/support/process-mounts.js';
import { randomFrom } from '../../../test/support/random.js';
import { type Driver, type Found, judge, type Verdict } from '../contract.js';
import { mapInLanes } from '../lanes.js';
import { Loader } from '../loader-pool.js';
import { type Campaign, notChosen, RowCounter } from '../report.js';
import { Saving } from '../subject.js';

/** With room again there must be enough for whoever keeps several copies of megabytes. */
const DISK_KIB = 128 * 1024;

const CONDITIONS: Record<string, { whyNot(): string | null; mount(): Mounted | Promise<Mounted> }> = {
  tmpfs: { whyNot: whyNoMounts, mount: () => mountSmall(DISK_KIB) },
  ext4: { whyNot: whyNoCuts, mount: () => PowerCutDisk.make('ext4', { imageBytes: DISK_KIB * 1024 }) },
};

const CHUNK = Buffer.alloc(1024 * 1024);
const PAGE_BYTES = 4096;
/** Some more than the largest state. */
const PAGES_MAX = 20;
/** The next state may be larger or smaller: where a subject gets to when it is full is different each time. */
const SAVES_BEFORE = { least: 3, most: 9 } as const;
const SAVES_FULL = 5;
/** So that not all of them are over before the disk is full. */
const PACE_MS = 40;
/** Somebody who retries for ever on a full disk is ended, and judged by what there is then. */
const TIMEOUT_MS = 20_000;

type When = 'before it opens' | 'while it saves';

interface Trial {
  driver: Driver;
  disk: Mounted;
  loader: Loader;
  seed: number;
  freeBytes: number;
  when: When;
}

export const fullDisk: Campaign = {
  id: 'full-disk',
  summary: 'the disk has room for a part of a save, or none (root)',
  sizes: { full: 40, short: 2 },
  whyNot: whyNoMounts,
  async run({ drivers, fileSystems, seed, size, onProgress }) {
    const skipped: string[] = [];
    const chosen = Object.entries(CONDITIONS).filter(([name, { whyNot }]) => {
      const isChosen = fileSystems.length === 0 || fileSystems.includes(name);
      const why = isChosen ? whyNot() : null;
      if (!isChosen) skipped.push(notChosen(name));
      if (why !== null) skipped.push(`${name}: ${why}`);
      return isChosen && why === null;
    });
    let done = 0;
    const runOn = async ([condition, { mount }]: (typeof chosen)[number]) => {
      const counters: RowCounter[] = [];
      const disk = await mount();
      const loader = new Loader();
      try {
        for (const driver of drivers) {
          const counter = new RowCounter(driver, condition);
          counters.push(counter);
          for (const [index, step] of stepsOf(size).entries()) {
            const verdict = await tryOnce({ driver, disk, loader, seed: seed + index, ...step });
            counter.add(verdict, `${step.freeBytes} bytes left ${step.when}`);
            onProgress(++done, chosen.length * drivers.length * size, `${driver.id} on ${condition}`);
          }
        }
      } finally {
        await loader.end();
        await disk.unmount();
      }
      return counters;
    };
    const counters = (await mapInLanes(chosen, runOn, chosen.length)).flat();
    const what =
      `A subject saved with 0 to ${PAGES_MAX - 1} pages of ${PAGE_BYTES} bytes left on its disk, which were taken before ` +
      'it opened or while it saved; it was loaded on the full disk and again with room.';
    return { campaign: fullDisk.id, what, rows: counters.map(({ row }) => row), skipped };
  },
};

/** As many as asked for, spread over the room that there may be. */
function stepsOf(size: number): { freeBytes: number; when: When }[] {
  return Array.from({ length: size }, (_, index) => {
    const pages = Math.floor((Math.floor(index / 2) * PAGES_MAX) / Math.ceil(size / 2));
    return { freeBytes: pages * PAGE_BYTES, when: index % 2 === 0 ? 'before it opens' : 'while it saves' };
  });
}

async function tryOnce({ driver, disk, loader, seed, freeBytes, when }: Trial): Promise<Verdict> {
  const directory = mkdtempSync(join(disk.path, `${driver.id}-`));
  const filler = join(disk.path, 'filler');
  const { least, most } = SAVES_BEFORE;
  const before = least + Math.floor(randomFrom(seed)() * (most - least + 1));
  const order = { driver: driver.id, directory, seed, endsAtFailure: true };
  let saving: Saving | null = null;
  try {
    if (when === 'before it opens') {
      saving = new Saving({ ...order, saves: before }, { timeoutMs: TIMEOUT_MS });
      await saving.ended;
      fill(filler, freeBytes);
      saving = new Saving({ ...order, saves: SAVES_FULL, from: saving.acked + 1 }, { timeoutMs: TIMEOUT_MS });
    } else {
      saving = new Saving({ ...order, saves: before + SAVES_FULL, paceMs: PACE_MS }, { timeoutMs: TIMEOUT_MS });
      await saving.line(`acked ${before}`);
      fill(filler, freeBytes);
    }
    await saving.ended;
    const { acked, issued } = saving;
    const whileFull = await loader.load(driver.id, directory);
    // Whoever refused may still hold it open.
    if (whileFull.kind === 'refused') await loader.end();
    rmSync(filler);
    const withRoom = await loader.load(driver.id, directory);
    return worse(whileFull, withRoom, { acked, issued });
  } finally {
    saving?.kill('SIGKILL');
    await saving?.ended;
    rmSync(filler, { force: true });
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Who refuses while there is no room has lost nothing yet; who gives something is held to it. */
function worse(whileFull: Found, withRoom: Found, known: { acked: number; issued: number }): Verdict {
  const early = judge(whileFull, known);
  const isExcused = whileFull.kind === 'refused' || early.kind === 'intact';
  return isExcused ? judge(withRoom, known) : early;
}

/** Takes everything, and gives so much back. */
function fill(path: string, freeBytes: number): void {
  const { bavail, bsize } = statfsSync(dirname(path));
  const bulkBytes = bavail * bsize - CHUNK.length;
  if (bulkBytes > 0) allocate(path, bulkBytes);
  const fd = openSync(path, 'a');
  try {
    for (let room = CHUNK.length; room >= 512; ) {
      if (writeSome(fd, CHUNK.subarray(0, room)) < room) room = Math.floor(room / 2);
    }
    ftruncateSync(fd, Math.max(0, fstatSync(fd).size - freeBytes));
    // Some file systems give room back only when that is on the disk.
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Much faster than writing. Whoever saves meanwhile may have taken some of it: the rest is found by writing. */
function allocate(path: string, bytes: number): void {
  const { status, stderr } = spawnSync('fallocate', ['-l', String(bytes), path], { encoding: 'utf8' });
  if (status !== 0 && !stderr.includes('No space left')) throw new Error(`fallocate ${path}: ${stderr}`);
}

function writeSome(fd: number, bytes: Buffer): number {
  try {
    return writeSync(fd, bytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    return 0;
  }
}
