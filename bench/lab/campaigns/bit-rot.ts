// A folder at rest, one file of it changed, and then loaded. What the subject saved last is known, so every other answer
// is wrong: an older state and nothing at all as well, if they come without a word. To refuse is right, and must harm
// nothing: for some, the file is put back as it was, and everything has to be there again.
//
// Older copies are put back one file at a time: an older copy of the whole folder is no damage that anybody could see, and
// neither is an empty folder. So a subject with a single file is spared both.

import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { sleep } from '../../../test/support/process-child.js';
import { randomFrom } from '../../../test/support/random.js';
import { type Driver, judge, type Verdict } from '../contract.js';
import { FolderCopy, memoryFolder } from '../folder-copy.js';
import { inLanes, LANES } from '../lanes.js';
import { type Loader, LoaderPool } from '../loader-pool.js';
import { type Campaign, type CampaignOptions, RowCounter } from '../report.js';
import { type Change, changed, changesOf, showChange } from '../rot.js';
import { Saving } from '../subject.js';

const CONDITIONS = ['closed', 'left open, killed'] as const;

type Condition = (typeof CONDITIONS)[number];

const OLDER = 4;
const NEWEST = 8;
/** Before a folder is copied: what a crash does to one that is busy is for other campaigns. */
const REST_MS = 700;
const PUT_BACK_EVERY = 10;

interface Kept {
  files: FolderCopy;
  older: FolderCopy;
}

export const bitRot: Campaign = {
  id: 'bit-rot',
  summary: 'one file of a folder at rest is flipped, zeroed, cut, emptied, deleted or put back from before',
  sizes: { full: 3000, short: 40 },
  whyNot: () => null,
  async run(options) {
    const { drivers, size, onProgress } = options;
    const total = drivers.length * CONDITIONS.length * size;
    const scratch = memoryFolder(options.scratch);
    const pool = new LoaderPool(LANES);
    const rows: RowCounter[] = [];
    const skipped: string[] = [];
    let done = 0;
    try {
      for (const driver of drivers) {
        for (const condition of CONDITIONS) {
          const row = new RowCounter(driver, condition);
          const kept = await saveAndRest(driver, condition, options, scratch);
          if (typeof kept === 'string') {
            skipped.push(`${driver.id}, ${condition}: ${kept}`);
            continue;
          }
          rows.push(row);
          const changes = changesOf(kept.files.files, kept.older.files, size, randomFrom(options.seed + rows.length));
          await inLanes(changes.entries(), async ([number, change]) => {
            const directory = join(scratch, `${rows.length}-${number}`);
            const isPutBack = number % PUT_BACK_EVERY === 0;
            const verdict = await pool.use((loader) => tryOne({ driver, kept, change, directory, isPutBack, loader }));
            row.add(verdict, showChange(change));
            rmSync(directory, { recursive: true, force: true });
            onProgress(++done, total, `${driver.id}, ${condition}`);
          });
        }
      }
    } finally {
      await pool.end();
      rmSync(scratch, { recursive: true, force: true });
    }
    return {
      campaign: 'bit-rot',
      what:
        'One file of a folder at rest was changed before it was loaded. Damaged: refused with an error, as it should ' +
        'be. Lost, missing and wrong: an older state, nothing, or one that was never saved, without a word.',
      rows: rows.map(({ row }) => row),
      skipped,
    };
  },
};

/** What the subject keeps after its last version, and what it kept some versions before; or why there is nothing. */
async function saveAndRest(
  driver: Driver,
  condition: Condition,
  { seed }: CampaignOptions,
  scratch: string,
): Promise<Kept | string> {
  const directory = join(scratch, 'pristine');
  rmSync(directory, { recursive: true, force: true });
  const order = { driver: driver.id, directory, seed, from: 1, saves: NEWEST, holdsAt: [OLDER, NEWEST] };
  const saving = new Saving(order);
  await saving.line(`holding ${OLDER}`);
  await sleep(REST_MS);
  const older = existsSync(directory) ? FolderCopy.of(directory) : null;
  saving.goOn();
  await saving.line(`holding ${NEWEST}`);
  await sleep(REST_MS);
  if (condition === 'closed') saving.goOn();
  else saving.kill('SIGKILL');
  const { code, stderr } = await saving.ended;
  if (older === null || saving.acked !== NEWEST || (condition === 'closed' && code !== 0))
    return `it did not save ${NEWEST} versions: ${stderr.trim().split('\n').at(-1)}`;
  return { files: FolderCopy.of(directory), older };
}

interface Trial {
  driver: Driver;
  kept: Kept;
  change: Change;
  directory: string;
  isPutBack: boolean;
  loader: Loader;
}

async function tryOne({ driver, kept, change, directory, isPutBack, loader }: Trial): Promise<Verdict> {
  const { file } = change;
  const pristine = kept.files.files.get(file) ?? Buffer.alloc(0);
  kept.files.restore(directory);
  FolderCopy.put(directory, file, changed(change, pristine, kept.older.files.get(file)));
  const found = await loader.load(driver.id, directory);
  const verdict = judge(found, { acked: NEWEST, issued: NEWEST });
  if (verdict.kind !== 'damaged' || !isPutBack) return verdict;
  // Whoever refused may still hold it open.
  await loader.end();
  FolderCopy.put(directory, file, pristine);
  const again = await loader.load(driver.id, directory);
  if (again.kind === 'intact' && again.n === NEWEST) return verdict;
  return { kind: 'wrong', why: `refusing it destroyed it: ${verdict.message}, then ${JSON.stringify(again)}` };
}
