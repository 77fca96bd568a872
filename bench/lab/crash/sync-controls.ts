// Does the lab notice a missing sync? Each kind of sync that holdfast makes is left out of the recording in turn.

import { holdfastStore } from '../drivers/holdfast.js';
import type { LoaderPool } from '../loader-pool.js';
import { type Control, RowCounter } from '../report.js';
import { check, seen, violations, withRecording } from './check.js';
import { emptyRoot, type Recording } from './record.js';
import { Replay, type Sync } from './replay.js';

interface Exception {
  pattern: RegExp;
  expected: string;
  /** Null where it depends on the moment at which the recording ends. */
  isNoticed: boolean | null;
}

/** Syncs that acknowledged saves do not hang on, and why they are made all the same. Every other must be noticed. */
const EXCEPTIONS: readonly Exception[] = [
  {
    pattern: /high-water$/,
    expected: 'not noticed: it tells damage from a crash, and here is no damage',
    isNoticed: false,
  },
  {
    pattern: /tmp\/file/,
    expected: 'not noticed: the JSON file is a view of the truth, and is made anew from it',
    isNoticed: false,
  },
  { pattern: /^fsync \/$/, expected: 'not noticed: the folder was there before', isNoticed: false },
  {
    pattern: /^fdatasync .*projections/,
    expected: 'noticed if a JSON file was replaced after it: nobody else must seem to have written that',
    isNoticed: null,
  },
];

/** Enough for what is durable at each step, where a single sync shows. */
const SINGLE_SIZE = 80;

export interface SyncControlOptions {
  size: number;
  seed: number;
  scratch: string;
  pool: LoaderPool;
  /** Also each sync alone. Only those behind which something is acknowledged before the next one can be noticed. */
  isEach?: boolean;
}

export async function controlSyncs({ isEach = false, ...options }: SyncControlOptions): Promise<Control[]> {
  return withRecording(holdfastStore, options, async (recording, scratch) => {
    const without = async (ignoreSync: (sync: Sync) => boolean, size: number) => {
      const counter = new RowCounter(holdfastStore);
      await check(counter, holdfastStore, recording, { ...options, size, scratch, model: 'posix', ignoreSync });
      return counter.row;
    };
    const syncs = syncsOf(recording);
    const controls: Control[] = [];
    for (const group of new Set(syncs.map(groupOf))) {
      const { expected = 'noticed', isNoticed = true } = EXCEPTIONS.find(({ pattern }) => pattern.test(group)) ?? {};
      const row = await without((sync) => groupOf(sync) === group, options.size);
      const all = syncs.filter((sync) => groupOf(sync) === group);
      let noticed = 0;
      for (const one of isEach ? all : [])
        if (violations(await without(({ ordinal }) => ordinal === one.ordinal, SINGLE_SIZE)) > 0) noticed++;
      controls.push({
        what: `holdfast without ${group}`,
        expected,
        seen: `${seen(row)}${isEach ? `; of ${all.length} left out one at a time ${noticed} noticed` : ''}`,
        isMet: isNoticed === null || violations(row) > 0 === isNoticed,
      });
    }
    return controls;
  });
}

function syncsOf({ base, lives }: Recording): Sync[] {
  const replay = new Replay({ base, root: emptyRoot() });
  for (const life of lives) for (const _ of replay.run(life));
  return replay.syncs;
}

/** 'fdatasync /s/.holdfast/tmp/N.tail.*': what a trace shows of the place in the source. */
export function groupOf({ call, path }: Pick<Sync, 'call' | 'path'>): string {
  return `${call} ${path.replaceAll(/\d{10}/g, 'N').replaceAll(/\.[0-9a-f]{16}\b/g, '.*')}`;
}
