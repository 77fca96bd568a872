// Every sync of writing files is there for a reason: with it the probe holds, without it the probe fails.

import { describe, expect, it } from 'vitest';
import { emptyReport } from '../../src/file/recover.js';
import { replaceFiles } from '../../src/file/transaction.js';
import { crashStates } from '../support/crash-states.js';
import { type Call, faultOf, RecordingDisk } from '../support/recording-disk.js';
import { syncSites } from '../support/sync-sites.js';
import {
  A,
  allOrNone,
  asFileDisk,
  B,
  contentOf,
  explore,
  type Life,
  type Options,
  oldFiles,
  recoverIn,
  runUntil,
  type Story,
  TARGETS,
  type TestDisk,
  toolsFor,
  versionIn,
  write,
  writeAll,
} from './life.js';

type Ignore = ((call: Call) => boolean) | undefined;

/** True when what the sync is there for holds. */
type Probe = (ignoreSync: Ignore) => Promise<boolean>;

interface Proof {
  file: string;
  /** The function it is in, and the one that called that where it matters. */
  site: string;
  name: 'sync' | 'syncDirectory';
  what: string;
  probe: Probe;
}

const holds =
  (story: Story, options: Options = {}, judge = allOrNone): Probe =>
  async (ignoreSync) =>
    (await explore(story, { ...options, ignoreSync, isHasty: true }, judge)).violations.length === 0;

const FIRST = TARGETS[0] as string;

const writeOne: Story = async (life) => {
  write(life.disk, FIRST, contentOf(FIRST, 'new') as string);
  life.isAcknowledged = true;
};

const isOneVersion = async (disk: TestDisk, { isAcknowledged }: Life) => {
  const found = Buffer.from(disk.files().get(FIRST) ?? 'MISSING').toString();
  if (found === contentOf(FIRST, 'new')) return null;
  return found === contentOf(FIRST, 'old') && !isAcknowledged ? null : `found ${found}`;
};

/** Made by the program, one inside the other. */
const FOLDERS = ['/work/outputs', '/work/outputs/today'];

const PROOFS: Proof[] = [
  {
    file: 'replace.ts',
    site: 'replaceFile',
    name: 'syncDirectory',
    what: 'what was acknowledged is there after a power cut',
    probe: holds(writeOne, {}, isOneVersion),
  },
  {
    file: '../projection/stage.ts',
    site: 'put<fill<stageFile',
    name: 'sync',
    what: 'a name never comes back without its bytes',
    probe: holds(writeAll),
  },
  {
    file: '../projection/stage.ts',
    site: 'put<fill<writeRecord',
    name: 'sync',
    what: 'neither do pointer and intent',
    probe: holds(writeAll),
  },
  {
    file: 'transaction.ts',
    site: '#stage',
    name: 'syncDirectory',
    what: 'whoever finds the intent finds all that it speaks of, and whoever comes to a directory finds the intent',
    probe: holds(writeAll),
  },
  {
    file: 'transaction.ts',
    site: '#decide',
    name: 'syncDirectory',
    what: 'no file is replaced before the decision is for good',
    probe: holds(writeAll),
  },
  {
    file: 'transaction.ts',
    site: '#takeBack',
    name: 'syncDirectory',
    what: 'a decision that could not be synced does not come back when what it needs is gone',
    probe: takenBackStaysSo,
  },
  {
    file: 'complete.ts',
    site: 'complete',
    name: 'syncDirectory',
    what: 'the intent goes only when all that it says is for good',
    probe: holds(writeAll),
  },
  {
    file: 'complete.ts',
    site: 'dropIntent',
    name: 'syncDirectory',
    what: 'what is written afterwards does not meet an intent that comes back',
    probe: laterWriteStays,
  },
  {
    file: 'complete.ts',
    site: 'examine',
    name: 'sync',
    what: 'a file whose writer did not sync it is not taken for a changed one',
    probe: (ignoreSync) => holds(writeAll, { files: withUnsynced() }, oldMayBeTorn)(ignoreSync),
  },
  {
    file: '../disk/way.ts',
    site: 'syncIfReadable<syncWay',
    name: 'syncDirectory',
    what: 'a file in a folder that was just made is found by its path',
    probe: inNewFolders(async ({ disk }, paths) => {
      for (const path of paths) write(disk, path, 'new');
    }),
  },
  {
    file: '../disk/way.ts',
    site: 'syncIfReadable<syncWay',
    name: 'syncDirectory',
    what: 'and so are several',
    probe: inNewFolders(async ({ disk }, paths) => {
      const files = paths.map((target) => ({ target, bytes: Buffer.from('new'), mode: 0o644 }));
      await replaceFiles(toolsFor(disk), files, emptyReport());
    }),
  },
  {
    file: '../disk/way.ts',
    site: 'syncIfReadable<syncWay',
    name: 'syncDirectory',
    what: 'also in one that took the place of another',
    probe: inNewFolders(async ({ disk }, paths) => {
      for (const path of paths) write(disk, path, 'old');
      disk.rename(FOLDERS[0] as string, '/work/moved-away');
      for (const folder of FOLDERS) disk.makeDirectory(folder);
      for (const path of paths) write(disk, path, 'new');
    }),
  },
  {
    file: 'recover.ts',
    site: 'carryOn',
    name: 'syncDirectory',
    what: 'recovery after a kill rests on nothing that a power cut may take',
    probe: holds(writeAll, { interruptEvery: 1, isKillOnly: true }),
  },
];

/** By function, and by its caller where a site names one. */
function ignoring(name: string, site: string): (call: Call) => boolean {
  return (call) => call.name === name && (call.site === site || call.site.startsWith(`${site}<`));
}

describe('each sync of writing files', () => {
  for (const { site, name, what, probe } of PROOFS) {
    it(`${site}, ${name}: ${what}`, async () => {
      expect(await probe(undefined)).toBe(true);
      expect(await probe(ignoring(name, site))).toBe(false);
    }, 300_000);
  }

  it('is in this list', () => {
    const own = PROOFS.filter(({ file }) => !file.startsWith('..'));
    expect(syncSites('file')).toEqual(own.map(({ file, name }) => `${file} ${name}`).sort());
  });
});

/** Whatever is then kept of names, what was acknowledged in folders that the program made itself is there. */
function inNewFolders(story: (life: Life, paths: readonly string[]) => Promise<void>): Probe {
  const paths = FOLDERS.map((folder) => `${folder}/file`);
  return async (ignoreSync) => {
    const { disk } = await runUntil(
      async (life) => {
        for (const folder of FOLDERS) life.disk.makeDirectory(folder);
        await story(life, paths);
      },
      { steps: null, ignoreSync },
    );
    const isThere = (state: RecordingDisk) => paths.every((path) => state.files().get(path)?.toString() === 'new');
    return [...crashStates(disk, { random: 200 })].every(isThere);
  };
}

/** The sync of the decision fails; what is then left must be all old, whatever a power cut makes of it. */
async function takenBackStaysSo(ignoreSync: Ignore): Promise<boolean> {
  const story: Story = async (life) => {
    life.disk.siteDepth = 3;
    life.disk.inject = (call) => (call.site.startsWith('#decide') ? faultOf('EIO', call) : undefined);
    await expect(writeAll(life)).rejects.toMatchObject({ code: 'HF_IO' });
    life.disk.inject = undefined;
  };
  const { disk } = await runUntil(story, { steps: null, ignoreSync });
  if (versionIn(disk) !== 'old') return false;
  for (const state of crashStates(disk, { random: 200 })) {
    for (const directory of [A, B]) {
      const copy = asFileDisk(state.clone());
      const { conflicts } = await recoverIn(copy, directory);
      if (conflicts.length > 0 || versionIn(copy) === 'mixed') return false;
    }
  }
  return true;
}

/** A file in the second directory is written again, with what it held before. */
async function laterWriteStays(ignoreSync: Ignore): Promise<boolean> {
  const target = `${B}/one`;
  const before = contentOf(target, 'old') as string;
  const { disk } = await runUntil(
    async (life) => {
      await writeAll(life);
      write(life.disk, target, before);
    },
    { steps: null, ignoreSync },
  );
  for (const state of crashStates(disk, { random: 200 })) {
    const copy = asFileDisk(state.clone());
    const { conflicts } = await recoverIn(copy, A);
    if (conflicts.length > 0) return false;
    if (Buffer.from(copy.files().get(target) ?? '').toString() !== before) return false;
  }
  return true;
}

/** The old version of one file was written by a program that does not sync. */
function withUnsynced(): RecordingDisk {
  const files = oldFiles();
  const bytes = Buffer.from(files.get(FIRST) as Uint8Array);
  files.set(FIRST, Buffer.from('what it held yesterday'));
  const disk = RecordingDisk.fromFiles(files);
  const handle = disk.open(FIRST, 'write');
  disk.write(handle, bytes, 0, bytes.length, 0);
  disk.close(handle);
  return disk.afterKill();
}

/** Before it is synced a power cut may leave anything of it; that is not for us to judge. A conflict is. */
async function oldMayBeTorn(disk: TestDisk, life: Life, directory: string): Promise<string | null> {
  const { conflicts } = await recoverIn(disk, directory);
  if (conflicts.length > 0) return JSON.stringify(conflicts);
  return life.isAcknowledged && versionIn(disk) !== 'new' ? 'lost' : null;
}
