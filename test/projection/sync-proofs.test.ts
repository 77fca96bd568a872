// Every sync of publishing is there for a reason: with it the probe holds, without it the probe fails.

import { describe, expect, it } from 'vitest';
import { Places } from '../../src/journal/places.js';
import { importCandidate } from '../../src/projection/inspect.js';
import { readRecord } from '../../src/projection/record.js';
import { compact, forget } from '../../src/projection/station.js';
import { Truth } from '../../src/truth.js';
import { ignoring, outcome } from '../crash/surgery.js';
import { crashStates, killState } from '../support/crash-states.js';
import { type Call, RecordingDisk, Stopped } from '../support/recording-disk.js';
import { syncSites } from '../support/sync-sites.js';
import { explore, type Options, publishIn, removal, runUntil, type Story } from './crash-life.js';
import { exploreLines } from './lines-life.js';
import { emptyStore, ID, isObject, newPress, STORE, storeIdAt } from './support.js';

type Ignore = ((call: Call) => boolean) | undefined;

/** True when what the sync is there for holds. */
type Probe = (ignoreSync: Ignore) => boolean;

interface Proof {
  file: string;
  site: string;
  name: 'sync' | 'syncData' | 'syncDirectory';
  what: string;
  probe: Probe;
}

const holds =
  (story: Story, options: Options = {}): Probe =>
  (ignoreSync) =>
    explore(story, { ...options, ignoreSync }).violations.length === 0;

const publications =
  (name: string, count: number): Story =>
  (life) => {
    const press = newPress(life.disk);
    for (let n = 1; n <= count; n++) publishIn(life, press, name, n);
  };

const linesHold: Probe = (ignoreSync) => exploreLines(ignoreSync).violations.length === 0;

const PROOFS: Proof[] = [
  {
    file: 'stage.ts',
    site: 'put',
    name: 'sync',
    what: 'a name never comes back without its bytes',
    probe: holds(publications('loop', 2)),
  },
  {
    file: 'publish.ts',
    site: '#finish',
    name: 'syncDirectory',
    what: 'what was reported as published is there after a power cut',
    probe: holds(publications('loop', 2)),
  },
  {
    file: 'directories.ts',
    site: 'makeDirectories',
    name: 'syncDirectory',
    what: 'the folders of a published file are there after a power cut',
    probe: holds(publications('a/b/c', 1)),
  },
  {
    file: 'record-writer.ts',
    site: '#write',
    name: 'syncData',
    what: 'a file never gets its name before it is known to be ours',
    probe: holds(publications('loop', 3)),
  },
  {
    file: 'record-writer.ts',
    site: '#replace',
    name: 'syncDirectory',
    what: 'the record that entries go to is the one that is found',
    probe: holds(publications('loop', 3)),
  },
  {
    file: 'publish.ts',
    site: '#announce',
    name: 'syncDirectory',
    what: 'the version before is not forgotten while a power cut may still bring it back',
    probe: holds(publications('loop', 2), { goOnEvery: 1, goOnWith: [1] }),
  },
  {
    file: 'publish.ts',
    site: '#leave',
    name: 'syncDirectory',
    what: 'nor when the new one is found in place',
    probe: holds(publications('loop', 2), { goOnEvery: 1, goOnWith: [0] }),
  },
  {
    file: 'remove.ts',
    site: 'remove',
    name: 'syncDirectory',
    what: 'a removed file does not come back as a document to be imported',
    probe: removedStaysRemoved,
  },
  {
    file: 'lines.ts',
    site: '#append',
    name: 'syncData',
    what: 'lines that were recorded are there after a power cut',
    probe: linesHold,
  },
  {
    file: 'lines.ts',
    site: '#writeAnew',
    name: 'sync',
    what: 'new lines never get the name before their bytes',
    probe: linesHold,
  },
  {
    file: 'lines.ts',
    site: '#writeAnew',
    name: 'syncDirectory',
    what: 'lines that were recorded have their name',
    probe: linesHold,
  },
  {
    file: 'station.ts',
    site: 'compact',
    name: 'syncDirectory',
    what: 'a base never asks for a tail that a power cut may still take',
    probe: baseAsksForDurableTails,
  },
];

describe('each sync of publishing', () => {
  for (const { site, name, what, probe } of PROOFS) {
    it(`${site}, ${name}: ${what}`, () => {
      expect(probe(undefined)).toBe(true);
      expect(probe(ignoring(name, site))).toBe(false);
    }, 120_000);
  }

  it('is in this list', () => {
    expect(syncSites('projection')).toEqual(PROOFS.map(({ file, name }) => `${file} ${name}`).sort());
  });
});

function removedStaysRemoved(ignoreSync: Ignore): boolean {
  const places = new Places(STORE);
  const { disk } = runUntil(removal, emptyStore(), null, ignoreSync);
  for (const state of crashStates(disk)) {
    const edition = readRecord(state, places, ID).editions.get('loop');
    if (importCandidate(state, places, { name: 'loop', edition, check: isObject }).kind === 'value') return false;
  }
  return true;
}

/** The journal has just named a new tail and not yet synced the name when a base is written. */
function baseAsksForDurableTails(ignoreSync: Ignore): boolean {
  const rotating = rotated(null);
  const stop = rotating.calls.findLastIndex(({ name, to }) => name === 'link' && to?.endsWith('.tail')) + 1;
  const start = killState(rotated(stop));
  const storeId = storeIdAt(start);
  const base = (disk: RecordingDisk) => {
    Object.assign(disk, { ignoreSync, siteDepth: 1 });
    try {
      compact(
        { directory: STORE, storeId, owner: 1, number: 50, toSeq: 1, timeMs: 0 },
        { disk, critical: (fn) => fn(), isNewest: () => true },
      );
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
    } finally {
      if (!disk.isStopped) forget(storeId);
    }
    return disk;
  };
  const total = base(start.clone()).steps;
  for (let steps = 0; steps <= total; steps++) {
    const disk = start.clone();
    disk.stopAfter(steps);
    base(disk);
    for (const state of crashStates(disk)) if (outcome(state) !== '{"loop":{"n":1}}') return false;
    forget(storeId);
  }
  return true;
}

function rotated(stop: number | null): RecordingDisk {
  const disk = new RecordingDisk();
  if (stop !== null) disk.stopAfter(stop);
  try {
    const truth = new Truth(STORE, { disk });
    truth.doc('loop', { initial: { n: 1 } });
    truth.rotate();
  } catch (error) {
    if (!(error instanceof Stopped)) throw error;
  }
  return disk;
}
