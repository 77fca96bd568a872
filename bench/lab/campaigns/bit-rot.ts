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
import { type Driver, judge } from '../contract.js';
import { FolderCopy, memoryFolder } from '../folder-copy.js';
import { inLanes, LANES } from '../lanes.js';
import { Loader } from '../loader-pool.js';
import { PutBack } from '../put-back.js';
import { type Campaign, RowCounter } from '../report.js';
import { type Change, changed, changesOf, showChange } from '../rot.js';
import { Saving } from '../subject.js';

interface Condition {
  name: string;
  /** The only or the last version that is saved, and one from before. */
  newest: number;
  older?: number;
  isClosed: boolean;
  /** Not a sample. */
  isEveryBit?: boolean;
}

const SAMPLED: readonly Condition[] = [
  { name: 'closed', older: 4, newest: 8, isClosed: true },
  { name: 'left open, killed', older: 4, newest: 8, isClosed: false },
];
/** The smallest of the states. */
const SMALL = 69;
const EXHAUSTIVE: readonly Condition[] = [
  { name: 'one small version, every bit', newest: SMALL, isClosed: true, isEveryBit: true },
];

/** Before a folder is copied: what a crash does to one that is busy is for other campaigns. */
const REST_MS = 700;
const PUT_BACK_EVERY = 10;

interface Kept {
  files: ReadonlyMap<string, Buffer>;
  older: ReadonlyMap<string, Buffer>;
  copy: FolderCopy;
}

export const bitRot: Campaign = {
  id: 'bit-rot',
  summary: 'one file of a folder at rest is flipped, zeroed, cut, emptied, deleted or put back from before',
  sizes: { full: 3000, short: 40 },
  whyNot: () => null,
  async run(options) {
    const { drivers, seed, size, onProgress } = options;
    const conditions = options.isEveryBit === true ? EXHAUSTIVE : SAMPLED;
    const scratch = memoryFolder(options.scratch);
    const loaders = Array.from({ length: LANES }, () => new Loader());
    const rows: RowCounter[] = [];
    const skipped: string[] = [];
    let done = 0;
    // Of every bit nobody knows beforehand how many they are.
    let total = options.isEveryBit === true ? 0 : drivers.length * conditions.length * size;
    try {
      for (const driver of drivers) {
        for (const condition of conditions) {
          const kept = await saveAndRest(driver, condition, seed, scratch);
          if (typeof kept === 'string') {
            skipped.push(`${driver.id}, ${condition.name}: ${kept}`);
            continue;
          }
          const row = new RowCounter(driver, condition.name);
          rows.push(row);
          const most = condition.isEveryBit ? Number.POSITIVE_INFINITY : size;
          const changes = changesOf(kept.files, kept.older, most, randomFrom(seed + rows.length));
          if (condition.isEveryBit) total += changes.length;
          await changeAll({ driver, newest: condition.newest, kept, changes, loaders, row, scratch }, () =>
            onProgress(++done, total, `${driver.id}, ${condition.name}`),
          );
        }
      }
    } finally {
      for (const loader of loaders) await loader.end();
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
  { older, newest, isClosed }: Condition,
  seed: number,
  scratch: string,
): Promise<Kept | string> {
  const directory = join(scratch, 'pristine');
  rmSync(directory, { recursive: true, force: true });
  const from = older === undefined ? newest : 1;
  const holdsAt = older === undefined ? [newest] : [older, newest];
  const saving = new Saving({ driver: driver.id, directory, seed, from, saves: newest - from + 1, holdsAt });
  let before: FolderCopy | null = null;
  if (older !== undefined) {
    await saving.line(`holding ${older}`);
    await sleep(REST_MS);
    if (existsSync(directory)) before = FolderCopy.of(directory);
    saving.goOn();
  }
  await saving.line(`holding ${newest}`);
  await sleep(REST_MS);
  if (isClosed) saving.goOn();
  else saving.kill('SIGKILL');
  const { code, stderr } = await saving.ended;
  if (saving.acked !== newest || (isClosed && code !== 0))
    return `it did not save version ${newest}: ${stderr.trim().split('\n').at(-1)}`;
  const copy = FolderCopy.of(directory);
  return { files: copy.files, older: before?.files ?? new Map(), copy };
}

interface Trials {
  driver: Driver;
  newest: number;
  kept: Kept;
  changes: readonly Change[];
  loaders: readonly Loader[];
  row: RowCounter;
  scratch: string;
}

async function changeAll({ driver, newest, kept, changes, loaders, row, scratch }: Trials, onTrial: () => void) {
  const folderBytes = [...kept.files.values()].reduce((sum, { length }) => sum + length, 0);
  const onVerdict = row.add.bind(row);
  const putBacks = loaders.map((loader) => new PutBack({ driver: driver.id, newest, loader, folderBytes, onVerdict }));
  const tryOne = async ([number, change]: [number, Change], lane: number) => {
    const [loader, putBack] = [loaders[lane] as Loader, putBacks[lane] as PutBack];
    const directory = join(scratch, `trial-${number}`);
    const { file } = change;
    const bytes = kept.files.get(file) ?? null;
    kept.copy.restore(directory);
    FolderCopy.put(directory, file, changed(change, bytes ?? Buffer.alloc(0), kept.older.get(file)));
    const verdict = judge(await loader.load(driver.id, directory), { acked: newest, issued: newest });
    onTrial();
    if (verdict.kind === 'damaged' && number % PUT_BACK_EVERY === 0)
      return putBack.add({ directory, file, bytes, verdict, change: showChange(change) });
    row.add(verdict, showChange(change));
    rmSync(directory, { recursive: true, force: true });
  };
  await inLanes(changes.entries(), tryOne, loaders.length);
  for (const putBack of putBacks) await putBack.end();
}
