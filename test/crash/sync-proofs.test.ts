// Every sync in the protocol is there for a reason: with it the probe holds, without it the probe fails.

import { describe, expect, it } from 'vitest';
import { forget } from '../../src/projection/station.js';
import { Truth } from '../../src/truth.js';
import { LINES, projectLog } from '../projection/lines-life.js';
import { storeIdAt } from '../projection/support.js';
import { crashStates } from '../support/crash-states.js';
import { type Call, RecordingDisk, Stopped } from '../support/recording-disk.js';
import { syncSites } from '../support/sync-sites.js';
import { explore } from './explore.js';
import { Script, STORE, wholeLife } from './script.js';
import { cutAt, edited, gone, HIDDEN, ignoring, newest, outcome, worstCase } from './surgery.js';

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

let soundLife: boolean | undefined;

const survivesAnyCrash: Probe = (ignoreSync) => {
  if (ignoreSync === undefined) {
    soundLife ??= explore(wholeLife).violations.length === 0;
    return soundLife;
  }
  return explore(wholeLife, { isHasty: true, ignoreSync }).violations.length === 0;
};

const PROOFS: Proof[] = [
  {
    file: 'disk/publish.ts',
    site: 'publish',
    name: 'sync',
    what: 'a name never comes back without its bytes',
    probe: survivesAnyCrash,
  },
  {
    file: 'disk/publish.ts',
    site: 'publish',
    name: 'syncDirectory',
    what: 'a published file is there after a power cut',
    probe: survivesAnyCrash,
  },
  {
    file: 'journal/journal.ts',
    site: 'sync',
    name: 'syncData',
    what: 'what was flushed is there after a power cut',
    probe: survivesAnyCrash,
  },
  {
    file: 'journal/journal.ts',
    site: '#writeAside',
    name: 'syncData',
    what: 'after a mark, damage to the last commit is told from a crash by the tail alone',
    probe: (ignoreSync) => {
      const { disk } = marked(ignoreSync);
      const tail = newest(disk, '.tail');
      const rotten = edited(worstCase(disk), { [tail]: zeroLastCommit, [`${HIDDEN}/high-water`]: gone });
      return outcome(rotten) === 'HF_DAMAGED';
    },
  },
  {
    file: 'journal/high-water.ts',
    site: 'write',
    name: 'sync',
    what: 'after a mark, a tail that lost its end is told from a crash',
    probe: tailThatLostItsEndIsRefused,
  },
  {
    file: 'journal/high-water.ts',
    site: 'write',
    name: 'syncDirectory',
    what: 'the witness itself is there after a power cut',
    probe: tailThatLostItsEndIsRefused,
  },
  {
    file: 'journal/quarantine.ts',
    site: 'keepBytes',
    name: 'sync',
    what: 'what was cut off is kept for good',
    probe: cutBytesAreKept,
  },
  {
    file: 'journal/quarantine.ts',
    site: 'keepBytes',
    name: 'syncDirectory',
    what: 'what was cut off is kept under a name that stays',
    probe: cutBytesAreKept,
  },
  {
    file: 'journal/quarantine.ts',
    site: 'keepFiles',
    name: 'syncDirectory',
    what: 'a damaged file has a name at every moment of its move',
    probe: damagedBaseIsAlwaysSomewhere,
  },
  {
    file: 'journal/quarantine.ts',
    site: 'keepCopy',
    name: 'syncDirectory',
    what: 'lines that had to give way are kept under a name that stays',
    probe: editedLinesAreKept,
  },
  {
    file: 'journal/retain.ts',
    site: 'retain',
    name: 'syncDirectory',
    what: 'no tail outlives the one that voids a part of it',
    probe: voidCommitsStayVoid,
  },
  {
    file: 'journal/move-entries.ts',
    site: 'writeSegment',
    name: 'syncDirectory',
    what: 'a base never comes back without the entries it counts on',
    probe: logsSurviveAnyCrash,
  },
  {
    file: 'disk/way.ts',
    site: 'syncIfReadable',
    name: 'syncDirectory',
    what: 'a new store is found again after a power cut',
    probe: survivesAnyCrash,
  },
];

describe('each sync of the protocol', () => {
  for (const { site, name, what, probe } of PROOFS) {
    it(`${site}, ${name}: ${what}`, () => {
      expect(probe(undefined)).toBe(true);
      expect(probe(ignoring(name, site))).toBe(false);
    }, 120_000);
  }

  it('is in this list', () => {
    expect(syncSites('.', /^(disk\/node-disk|projection\/|file\/)/)).toEqual(
      PROOFS.map(({ file, name }) => `${file} ${name}`).sort(),
    );
  });
});

function editedLinesAreKept(ignoreSync: Ignore): boolean {
  const disk = recording(ignoreSync);
  const truth = new Truth(STORE, { disk });
  truth.log('events').append('first');
  projectLog(disk, truth, 1);
  disk.unlink(LINES);
  const handle = disk.open(LINES, 'create');
  const text = Buffer.from('somebody wrote something else here');
  disk.write(handle, text, 0, text.length, 0);
  disk.sync(handle);
  disk.close(handle);
  disk.syncDirectory(STORE);
  projectLog(disk, truth, 1);
  forget(storeIdAt(disk));
  for (const state of crashStates(disk)) {
    if (![...state.files().values()].some((found) => text.equals(found))) return false;
  }
  return true;
}

function logsSurviveAnyCrash(ignoreSync: Ignore): boolean {
  const story = (script: Script) => {
    script.open();
    script.append('events', ['first']);
    script.durably((truth) => truth.compact());
  };
  return explore(story, ignoreSync === undefined ? {} : { isHasty: true, ignoreSync }).violations.length === 0;
}

function marked(ignoreSync: Ignore): Script {
  const script = new Script(recording(ignoreSync));
  script.open();
  script.create('loop', { output: 'the first output' });
  script.flush();
  script.change(['loop'], (draft) => {
    draft.output = 'the last output';
  });
  script.durably((truth) => truth.mark());
  return script;
}

function recording(ignoreSync: Ignore): RecordingDisk {
  return new RecordingDisk(ignoreSync === undefined ? {} : { ignoreSync, siteDepth: 1 });
}

/** Overwrites the frame that holds the last output with zeros. */
function zeroLastCommit(bytes: Buffer): Buffer {
  const text = bytes.indexOf('the last output');
  const start = bytes.lastIndexOf(Buffer.from([0xff, 0x48, 0x46, 0xfe]), text);
  return bytes.fill(0, start, start + bytes.readUInt32LE(start + 4));
}

function tailThatLostItsEndIsRefused(ignoreSync: Ignore): boolean {
  const { disk } = marked(ignoreSync);
  const worst = worstCase(disk);
  return outcome(edited(worst, { [newest(worst, '.tail')]: cutAt(80) })) === 'HF_DAMAGED';
}

/** Two unsynced commits of which a power cut took the first. */
function torn(): RecordingDisk {
  const script = new Script(new RecordingDisk());
  script.open();
  script.create('loop', { output: '' });
  script.flush();
  for (const output of ['the last output', 'one more']) {
    script.change(['loop'], (draft) => {
      draft.output = output;
    });
  }
  return edited(script.disk, { [newest(script.disk, '.tail')]: zeroLastCommit });
}

function withHooks(disk: RecordingDisk, ignoreSync: Ignore): RecordingDisk {
  const copy = disk.clone();
  copy.ignoreSync = ignoreSync;
  copy.siteDepth = 1;
  return copy;
}

function cutBytesAreKept(ignoreSync: Ignore): boolean {
  const disk = withHooks(torn(), ignoreSync);
  const [note] = new Truth(STORE, { disk }).notes;
  if (note?.kind !== 'cut') throw new Error('Nothing was cut');
  const kept = worstCase(disk).files().get(note.kept);
  return kept !== undefined && Buffer.from(kept).includes('one more');
}

function damagedBaseIsAlwaysSomewhere(ignoreSync: Ignore): boolean {
  const script = new Script(new RecordingDisk());
  wholeLife(script);
  const base = newest(script.disk, '.base');
  const rotten = edited(script.disk, { [base]: (bytes) => bytes.fill(0x55, 100, 140) });
  const bytes = Buffer.from(rotten.files().get(base) as Uint8Array);
  const whole = rotten.clone();
  new Truth(STORE, { disk: whole });
  for (let steps = 0; steps <= whole.steps; steps++) {
    const disk = withHooks(rotten, ignoreSync);
    disk.stopAfter(steps);
    try {
      new Truth(STORE, { disk });
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
    }
    for (const state of crashStates(disk)) {
      if (![...state.files().values()].some((found) => bytes.equals(found))) return false;
    }
  }
  return true;
}

function voidCommitsStayVoid(ignoreSync: Ignore): boolean {
  const whole = voided(ignoreSync, null);
  const right = whole.states.at(-1);
  for (let stop = whole.disk.steps; stop > 0; stop--) {
    const { disk } = voided(ignoreSync, stop);
    // Only while the last compaction deletes are there three bases' worth of files.
    if (disk.calls.at(-1)?.name === 'link') return true;
    for (const state of crashStates(disk)) {
      const base = newest(state, '.base');
      const rotten = edited(state, { [base]: (bytes) => bytes.fill(0x55, 100, 140) });
      if (outcome(rotten) !== right) return false;
    }
  }
  return true;
}

/** Commits 2 and 3 were cut and others took their numbers; then two compactions, the second of which deletes. */
function voided(ignoreSync: Ignore, stop: number | null): Script {
  const script = new Script(withHooks(torn(), ignoreSync));
  if (stop !== null) script.disk.stopAfter(stop);
  const save = (output: string) =>
    script.change(['loop'], (draft) => {
      draft.output = output;
    });
  try {
    script.states.push('{"loop":{"output":""}}');
    script.open();
    save('second');
    script.durably((truth) => truth.compact());
    // Accepted beyond the high-water mark: the next tail begins before it and takes it over.
    save('third');
    script.kill();
    script.open();
    save('fourth');
    script.durably((truth) => truth.compact());
  } catch (error) {
    if (!(error instanceof Stopped)) throw error;
  }
  return script;
}
