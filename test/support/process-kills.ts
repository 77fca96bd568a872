// Kills at random moments, one after another on the same store: each start finds what the last one left, and goes on.

import { sleep, start } from './process-child.js';
import { fileFlaws, flaws, heard, saver, sharedNowMs } from './process-saver.js';
import { randomFrom } from './random.js';

export interface KillReport {
  kills: number;
  /** Kills before the store was open. */
  early: number;
  steps: number;
  flushed: number;
  /** For each kill: how many of the steps that had returned were not there afterwards. */
  missing: number[];
  /** For each kill after which some were: how long before it the oldest of them had returned. */
  missingMs: number[];
  openMs: number[];
  wrong: string[];
}

export async function killAgainAndAgain(directory: string, kills: number, seed: number): Promise<KillReport> {
  const random = randomFrom(seed);
  const report: KillReport = {
    kills,
    early: 0,
    steps: 0,
    flushed: 0,
    missing: [],
    missingMs: [],
    openMs: [],
    wrong: [],
  };
  let last = { issued: 0, returned: 0, flushed: 0, endedAtMs: 0, returnedAtMs: new Map<number, number>() };
  for (let kill = 0; kill <= kills; kill++) {
    const isLast = kill === kills;
    const pace = random() < 0.5 ? 'busy' : 'irregular';
    const child = start(saver({ directory, seed: seed + kill, pace, isChecking: isLast }));
    let killedAtMs = 0;
    if (!isLast) {
      // One in ten before or while it opens.
      if (random() < 0.9) await child.line('found');
      await sleep(random() * 250);
      killedAtMs = sharedNowMs();
      child.kill('SIGKILL');
    }
    const { stderr, isHung } = await child.ended;
    const said = heard(child.lines);
    const problem = (text: string) => report.wrong.push(`kill ${kill}: ${text}`);
    if (isHung) problem('it hung');
    if (stderr !== '') problem(stderr);
    for (const code of said.faults) problem(`fault ${code}`);
    if (said.openedMs !== null) report.openMs.push(said.openedMs);
    if (said.found === null) report.early++;
    else {
      const { found } = said;
      for (const flaw of flaws(found)) problem(flaw);
      const { n } = found.list;
      if (n < last.flushed) problem(`${last.flushed} was flushed, found ${n}`);
      if (n > last.issued) problem(`${last.issued} was issued, found ${n}`);
      report.missing.push(Math.max(0, last.returned - n));
      const lostAtMs = last.returnedAtMs.get(n + 1);
      if (lostAtMs !== undefined) report.missingMs.push(last.endedAtMs - lostAtMs);
      report.steps += Math.max(0, said.returned - n);
      if (said.flushed > 0) report.flushed++;
      last = {
        issued: Math.max(n, said.issued),
        returned: Math.max(n, said.returned),
        flushed: Math.max(n, said.flushed),
        // It may have lived on a little after the signal was sent.
        endedAtMs: Math.max(killedAtMs, said.returnedAtMs.get(said.returned) ?? 0),
        returnedAtMs: said.returnedAtMs,
      };
    }
    for (const flaw of fileFlaws(directory, last.issued)) problem(flaw);
  }
  return report;
}

export function show({ kills, early, steps, missing, missingMs, openMs }: KillReport): string {
  const lossy = missing.filter((count) => count > 0);
  const sorted = [...openMs].sort((a, b) => a - b);
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]?.toFixed(0);
  return (
    `${kills} kills (${early} before the store was open), ${steps} steps. Steps that had returned, were not flushed and ` +
    `are missing: after ${lossy.length} kills, at most ${Math.max(0, ...missing)}, ${lossy.reduce((a, b) => a + b, 0)} in all, ` +
    `the oldest of them ${Math.max(0, ...missingMs).toFixed(2)} ms before the kill. ` +
    `Opening: median ${at(0.5)} ms, 90 % ${at(0.9)} ms, longest ${at(1)} ms.`
  );
}
