// What a campaign hands in: one row per subject and condition, counts by outcome.

import type { Driver, Verdict } from './contract.js';

export type Outcome = Verdict['kind'];

export interface Row {
  driver: string;
  /** The file system, the model, the kind of fault; empty when there is only one. */
  condition: string;
  trials: number;
  outcomes: Record<Outcome, number>;
  /** Acknowledged saves that were gone, in all trials. */
  savesLost: number;
  /** The worst of each kind, in words, for whoever wants to look. */
  examples: string[];
}

/** For `skipped`: a condition that was left out on the command line. */
export function notChosen(condition: string): string {
  return `${condition}: not chosen`;
}

export interface CampaignReport {
  campaign: string;
  /** One line: what was done to the subjects. */
  what: string;
  rows: Row[];
  /** What was not done, and why. */
  skipped: string[];
  /** Where the answer is known beforehand: whether the lab gives it. */
  controls?: Control[];
}

export interface Control {
  what: string;
  expected: string;
  seen: string;
  isMet: boolean;
}

export interface LabReport {
  date: string;
  command: string;
  machine: string;
  /** Of each package that was put to the test. */
  versions: Record<string, string>;
  campaigns: CampaignReport[];
}

export interface CampaignOptions {
  drivers: readonly Driver[];
  seed: number;
  /** Trials per subject and condition. */
  size: number;
  /** Empty for all. */
  fileSystems: readonly string[];
  /** Of bit-rot, instead of samples: all there is of a small folder. @default false */
  isEveryBit?: boolean;
  /** Folders of its own are made here. */
  scratch: string;
  /** Called after each trial. */
  onProgress(done: number, total: number, what: string): void;
}

export interface Campaign {
  id: string;
  /** For --help. */
  summary: string;
  /** Trials per subject and condition, and in the short form that tests run. */
  sizes: { full: number; short: number };
  /** Null when it can run here. */
  whyNot(): string | null;
  run(options: CampaignOptions): Promise<CampaignReport>;
}

/** Of each kind. */
const EXAMPLES_MAX = 3;

export class RowCounter {
  readonly row: Row;

  constructor(driver: Driver, condition = '') {
    const outcomes = { intact: 0, lost: 0, missing: 0, damaged: 0, wrong: 0 };
    this.row = { driver: driver.id, condition, trials: 0, outcomes, savesLost: 0, examples: [] };
  }

  add(verdict: Verdict, what: string): void {
    this.row.trials++;
    this.row.outcomes[verdict.kind]++;
    if (verdict.kind === 'lost') this.row.savesLost += verdict.saves;
    const { kind, ...more } = verdict;
    const known = this.row.examples.filter((example) => example.startsWith(`${kind}:`)).length;
    if (kind === 'intact' || known >= EXAMPLES_MAX) return;
    this.row.examples.push(`${kind}: ${what} ${JSON.stringify(more)}`);
  }
}

export function summed(rows: readonly Row[]): { trials: number; outcomes: Record<Outcome, number> } {
  const outcomes = { intact: 0, lost: 0, missing: 0, damaged: 0, wrong: 0 };
  let trials = 0;
  for (const row of rows) {
    trials += row.trials;
    for (const kind of Object.keys(outcomes) as Outcome[]) outcomes[kind] += row.outcomes[kind];
  }
  return { trials, outcomes };
}

/** Where the subject's files are changed behind its back, to refuse them is right. */
const REFUSALS_ARE_RIGHT = new Set(['bit-rot']);

export function isRefusalRight(campaign: string): boolean {
  return REFUSALS_ARE_RIGHT.has(campaign);
}

const LABELS: Readonly<Record<Outcome, string>> = {
  intact: 'intact',
  lost: 'lost acknowledged saves',
  missing: 'nothing there',
  damaged: 'damaged',
  wrong: 'wrong in silence',
};

/** What the outcomes are called in this campaign. */
export function labelsOf(campaign: string): Readonly<Record<Outcome, string>> {
  if (campaign === 'exit') return { ...LABELS, lost: 'without the last save' };
  if (!isRefusalRight(campaign)) return LABELS;
  return { ...LABELS, intact: 'right', lost: 'old in silence', missing: 'nothing, in silence', damaged: 'refused' };
}

/** Does a subject keep its own promise? 'lost' is no failure of one that promised no more than whole states. */
export function keepsPromise(driver: Driver, { outcomes }: Row, campaign: string): boolean {
  const { promised, savesAtExit = false, detectsRot = false } = driver;
  const { missing, damaged, wrong } = outcomes;
  if (isRefusalRight(campaign)) return !detectsRot || outcomes.lost + missing + wrong === 0;
  // At exit it is about a save that was not acknowledged.
  const lost = campaign === 'exit' && !savesAtExit ? 0 : outcomes.lost;
  if (promised === 'neither') return true;
  if (promised === 'atomic') return damaged + wrong === 0;
  return lost + missing + damaged + wrong === 0;
}
