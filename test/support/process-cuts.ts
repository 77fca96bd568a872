// Power cuts at random moments, one after another on the same file system: a program saves at an irregular pace, the disk
// goes away under it, comes back, and is looked at. Now and then it goes away again while the store is recovering.

import { join } from 'node:path';
import { sleep, start } from './process-child.js';
import { type FileSystem, PowerCutDisk } from './process-mounts.js';
import { fileFlaws, flaws, heard, saver } from './process-saver.js';
import { randomFrom } from './random.js';

export interface CutReport {
  fileSystem: FileSystem;
  cuts: number;
  /** Of these, cuts while a program was opening what the last one had left. */
  whileOpening: number;
  steps: number;
  /** Acknowledged before some cut, and looked for after it. */
  flushed: number;
  wrong: string[];
}

/** Only cuts that hit a store after it was opened count. */
export async function cutAgainAndAgain(fileSystem: FileSystem, cuts: number, seed: number): Promise<CutReport> {
  const random = randomFrom(seed);
  const report: CutReport = { fileSystem, cuts: 0, whileOpening: 0, steps: 0, flushed: 0, wrong: [] };
  const disk = await PowerCutDisk.make(fileSystem);
  try {
    const directory = join(disk.path, 'store');
    let last = { issued: 0, flushed: 0 };
    for (let round = 0; report.cuts < cuts; round++) {
      const problem = (text: string) => report.wrong.push(`round ${round}: ${text}`);
      const isEarly = round > 0 && random() < 0.3;
      const child = start(saver({ directory, seed: seed + round, pace: 'irregular' }));
      try {
        if (isEarly) await sleep(40 + random() * 100);
        else {
          await child.line('found');
          await sleep(random() * 400);
        }
        await disk.cut();
        // What it hears from now on is a dead disk: what it still acknowledges would be a lie.
        await sleep(random() * 30);
      } finally {
        child.kill('SIGKILL');
        const { isHung } = await child.ended;
        if (isHung) problem('it hung');
      }
      await disk.restart();
      const said = heard(child.lines);
      const found = said.found?.list.n ?? 0;
      if (said.found !== null) {
        for (const flaw of flaws(said.found)) problem(`before the cut: ${flaw}`);
        if (found < last.flushed) problem(`${last.flushed} was flushed, found ${found}`);
        if (found > last.issued) problem(`${last.issued} was issued, found ${found}`);
        // What lay beyond the last flush may be gone for good: from here on it counts from what was found.
        last = { issued: Math.max(found, said.issued), flushed: Math.max(last.flushed, said.flushed) };
        report.steps += Math.max(0, said.returned - found);
      }
      report.cuts++;
      if (said.openedMs === null) report.whileOpening++;
      if (said.flushed > 0) report.flushed++;
      for (const flaw of fileFlaws(directory, last.issued)) problem(flaw);
    }
    const checker = start(saver({ directory, seed, pace: 'busy', isChecking: true }));
    const { stderr } = await checker.ended;
    const { found } = heard(checker.lines);
    if (found === null) report.wrong.push(`it does not open any more: ${stderr}`);
    else {
      report.wrong.push(...flaws(found));
      if (found.list.n < last.flushed) report.wrong.push(`${last.flushed} was flushed, found ${found.list.n}`);
      if (found.list.n > last.issued) report.wrong.push(`${last.issued} was issued, found ${found.list.n}`);
    }
    return report;
  } finally {
    await disk.unmount();
  }
}

export function show({ fileSystem, cuts, whileOpening, steps, flushed, wrong }: CutReport): string {
  return (
    `${fileSystem}: ${cuts} cuts (${whileOpening} while opening), ${steps} steps; ` +
    `after ${flushed} cuts something acknowledged was looked for; ${wrong.length} wrong`
  );
}
