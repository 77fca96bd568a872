// SIGKILL at random moments, again and again on the same folder. What the next process finds is held against what the
// killed one had said; a subject whose folder is no longer whole begins again in a new one.

import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { sleep } from '../../../test/support/process-child.js';
import { type Driver, type Found, judge, type Verdict } from '../contract.js';
import { mapInLanes } from '../lanes.js';
import { type Campaign, type CampaignOptions, type Row, RowCounter } from '../report.js';
import { randomOf } from '../seed.js';
import { loadApart, Saving } from '../subject.js';

const LIFE_MS = { min: 2, max: 150 } as const;

export const kill: Campaign = {
  id: 'kill',
  summary: 'SIGKILL at random moments, again and again on the same folder',
  sizes: { full: 150, short: 2 },
  whyNot: () => null,
  async run(options) {
    const { drivers, size } = options;
    let done = 0;
    const rows = await mapInLanes(drivers, (driver) =>
      killAgainAndAgain(driver, options, () => options.onProgress(++done, drivers.length * size, driver.id)),
    );
    const what =
      `Saves one after the other, SIGKILL ${LIFE_MS.min} to ${LIFE_MS.max} ms after the first could begin; ` +
      'the next process on the same folder says what it finds, and goes on from there.';
    return { campaign: kill.id, what, rows, skipped: [] };
  },
};

/** What a killed process had said: it is what the next one is held against. */
interface Said {
  acked: number;
  issued: number;
  failures: readonly string[];
}

const NOTHING: Said = { acked: 0, issued: 0, failures: [] };

async function killAgainAndAgain(
  driver: Driver,
  { seed, size, scratch }: CampaignOptions,
  onKill: () => void,
): Promise<Row> {
  const random = randomOf(seed, 'kill', driver.id);
  const counter = new RowCounter(driver);
  const newFolder = () => mkdtempSync(join(scratch, `kill-${driver.id}-`));
  let folder = newFolder();
  let said = NOTHING;
  const judgeNext = (found: Found): boolean => {
    const verdict = verdictOn(found, said);
    counter.add(verdict, `kill ${counter.row.trials + 1}, seed ${seed}:`);
    onKill();
    return verdict.kind === 'intact' || verdict.kind === 'lost';
  };
  for (let kills = 0; kills < size; kills++) {
    let saving = new Saving({ driver: driver.id, directory: folder, seed: seed + kills });
    let found = await saving.foundOrRefused();
    if (kills > 0 && !judgeNext(found)) {
      await saving.end();
      rmSync(folder, { recursive: true });
      folder = newFolder();
      saving = new Saving({ driver: driver.id, directory: folder, seed: seed + kills });
      found = await saving.foundOrRefused();
    }
    await sleep(LIFE_MS.min + random() * (LIFE_MS.max - LIFE_MS.min));
    await saving.end();
    said = saidBy(saving, found);
  }
  judgeNext(await loadApart(driver.id, folder));
  rmSync(folder, { recursive: true });
  return counter.row;
}

function saidBy({ acked, issued, failures }: Saving, found: Found): Said {
  const began = found.kind === 'intact' ? found.n : 0;
  return { acked: Math.max(began, acked), issued: Math.max(began, issued), failures };
}

/** Nothing else goes wrong here: a save that fails is the doing of an earlier kill. */
function verdictOn(found: Found, said: Said): Verdict {
  const verdict = judge(found, said);
  const [failure] = said.failures;
  if (failure === undefined || verdict.kind !== 'intact') return verdict;
  return { kind: 'damaged', message: `a save ${failure}` };
}
