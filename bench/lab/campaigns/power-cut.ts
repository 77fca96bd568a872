// Real file systems that lose their power under a subject that saves.
//
// Not modelled: a disk that loses what it was given. What reached the device before the cut stays there.

import { whyNoCuts } from '../../../test/support/process-means.js';
import { type DiskOptions, type FileSystem, PowerCutDisk } from '../../../test/support/process-mounts.js';
import { mapInLanes } from '../lanes.js';
import { type Campaign, notChosen, type Row } from '../report.js';
import { PowerCutTrials } from './power-cut-trials.js';

/** A subject that is cut off again and again before it could clean up must not be refused for lack of room. */
const imageBytes = 1024 * 1024 * 1024;

const CONDITIONS: Record<string, { fileSystem: FileSystem; disk: DiskOptions }> = {
  ext4: { fileSystem: 'ext4', disk: { imageBytes } },
  // Neither waits for data before it commits names and sizes, nor guesses that a rename meant a sync.
  'ext4-writeback': { fileSystem: 'ext4', disk: { imageBytes, mountOptions: ['data=writeback', 'noauto_da_alloc'] } },
  xfs: { fileSystem: 'xfs', disk: { imageBytes } },
};

export const powerCut: Campaign = {
  id: 'power-cut',
  summary: 'the file system loses its power at random moments, also during recovery (root, loop devices)',
  sizes: { full: 200, short: 1 },
  whyNot: whyNoCuts,
  async run(options) {
    const { drivers, fileSystems, size, onProgress } = options;
    const all = Object.entries(CONDITIONS);
    const chosen = all.filter(([name]) => fileSystems.length === 0 || fileSystems.includes(name));
    const total = chosen.length * drivers.length * size;
    let done = 0;
    const runOn = async ([condition, { fileSystem, disk: diskOptions }]: (typeof all)[number]) => {
      const rows: Row[] = [];
      const disk = await PowerCutDisk.make(fileSystem, diskOptions);
      try {
        for (const driver of drivers) {
          const trials = new PowerCutTrials(driver, condition, disk, options);
          rows.push(await trials.run(() => onProgress(++done, total, `${driver.id} on ${condition}`)));
        }
      } finally {
        await disk.unmount();
      }
      return rows;
    };
    // One disk knows nothing of the others.
    const rows = (await mapInLanes(chosen, runOn, chosen.length)).flat();
    const skipped = all.filter((one) => !chosen.includes(one)).map(([name]) => notChosen(name));
    const what =
      'The file system was shut down without writing out its log, at a random moment while the subject saved and others ' +
      'synced their files, or nobody did; in one trial of three once more while the next process was opening. Then it was ' +
      'mounted again and loaded.';
    return { campaign: powerCut.id, what, rows, skipped };
  },
};
