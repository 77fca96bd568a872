// npm run lab -- --help

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { CAMPAIGNS } from './campaigns/index.js';
import { cleanUpOnSignals } from './clean-up.js';
import { driverOf, SUBJECTS } from './drivers/index.js';
import { machine, versionsOf } from './machine.js';
import { markdown, overview } from './markdown.js';
import { merged } from './merge.js';
import { picture } from './picture.js';
import { ProgressBar } from './progress.js';
import { type Campaign, type CampaignReport, keepsPromise, type LabReport } from './report.js';

const RESULTS = new URL('../../../bench/results/lab/', import.meta.url);
const FILE_SYSTEMS = ['ext4', 'ext4-writeback', 'xfs', 'tmpfs'];

const OPTIONS = {
  help: { type: 'boolean', short: 'h', default: false },
  only: { type: 'string' },
  fs: { type: 'string' },
  seed: { type: 'string', default: '1' },
  size: { type: 'string' },
  cuts: { type: 'string' },
  states: { type: 'string' },
  kills: { type: 'string' },
  changes: { type: 'string' },
  points: { type: 'string' },
  steps: { type: 'string' },
  times: { type: 'string' },
  short: { type: 'boolean', default: false },
  'every-bit': { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  out: { type: 'string' },
  merge: { type: 'boolean', default: false },
  readme: { type: 'boolean', default: false },
} as const;

/** What one trial of each campaign is called. */
const SIZE_OPTIONS: Readonly<Record<string, keyof typeof OPTIONS>> = {
  'power-cut': 'cuts',
  'crash-states': 'states',
  faults: 'points',
  kill: 'kills',
  'bit-rot': 'changes',
  'full-disk': 'steps',
  exit: 'times',
};

function help(): string {
  const pad = (text: string) => text.padEnd(16);
  const campaigns = CAMPAIGNS.map(({ id, summary, sizes }) => {
    return `  ${pad(id)}${summary} (--${SIZE_OPTIONS[id] ?? 'size'} ${sizes.full})`;
  });
  const subjects = SUBJECTS.map(({ id, name, promised }) => `  ${id.padEnd(22)}${name}; promises: ${promised}`);
  return [
    'npm run lab -- [campaign …] [options]      all campaigns when none is named',
    '',
    ...campaigns,
    '',
    `  ${pad('--only a,b')}only these subjects`,
    `  ${pad('--fs a,b')}only these file systems: ${FILE_SYSTEMS.join(', ')}`,
    `  ${pad('--seed n')}the same one gives the same moments and places, as far as a machine allows`,
    `  ${pad('--size n')}trials per subject and condition, whatever the campaign calls them`,
    `  ${pad('--short')}the size that the tests run`,
    `  ${pad('--every-bit')}bit-rot: every bit, byte and length of a small folder instead of samples of larger ones`,
    `  ${pad('--json')}print the report as JSON instead of a table`,
    `  ${pad('--merge a.json …')}no campaign: one report of the reports of several runs`,
    `  ${pad('--readme')}put the table into README.md and docs/durability.md too`,
    `  ${pad('--out folder')}where to write lab.md, lab.json and lab.svg: bench/results/lab when all subjects ran in full`,
    '',
    'Subjects:',
    ...subjects,
  ].join('\n');
}

function count(text: string, name: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0) throw new TypeError(`Expected --${name} to be a number, got '${text}'`);
  return value;
}

function chosen(names: readonly string[]): readonly Campaign[] {
  if (names.length === 0) return CAMPAIGNS;
  return names.map((name) => {
    const campaign = CAMPAIGNS.find(({ id }) => id === name);
    if (campaign !== undefined) return campaign;
    throw new TypeError(`Expected a campaign (${CAMPAIGNS.map(({ id }) => id).join(', ')}), got '${name}'`);
  });
}

type Values = ReturnType<typeof parsed>['values'];

function parsed() {
  return parseArgs({ options: OPTIONS, allowPositionals: true });
}

function mergeFiles(paths: readonly string[]): LabReport {
  const parts = paths.map((path) => JSON.parse(readFileSync(path, 'utf8')) as LabReport);
  const idOf = ({ id }: { id: string }) => id;
  return merged(parts, { subjects: SUBJECTS.map(idOf), campaigns: CAMPAIGNS.map(idOf) });
}

async function runAll(values: Values, positionals: readonly string[]): Promise<LabReport> {
  const drivers = values.only === undefined ? SUBJECTS : values.only.split(',').map(driverOf);
  const fileSystems = values.fs?.split(',') ?? [];
  const unknown = fileSystems.find((one) => !FILE_SYSTEMS.includes(one));
  if (unknown !== undefined) throw new TypeError(`Expected --fs of ${FILE_SYSTEMS.join(', ')}, got '${unknown}'`);
  const seed = count(values.seed, 'seed');
  const campaigns = chosen(positionals);
  const sizeOf = ({ id, sizes }: Campaign): number => {
    const option = SIZE_OPTIONS[id] ?? 'size';
    const given = values[option] ?? values.size;
    if (given !== undefined) return count(String(given), option);
    return values.short ? sizes.short : sizes.full;
  };
  const scratch = mkdtempSync(join(tmpdir(), 'holdfast-lab-'));
  // Whoever makes folders and mounts of its own makes them there.
  process.env.TMPDIR = scratch;
  cleanUpOnSignals(scratch);
  const reports: CampaignReport[] = [];
  const startedAt = new Date();
  try {
    for (const campaign of campaigns) {
      const why = campaign.whyNot();
      if (why !== null) {
        console.error(`${campaign.id}: skipped, ${why}`);
        reports.push({ campaign: campaign.id, what: campaign.summary, rows: [], skipped: [why] });
        continue;
      }
      const bar = new ProgressBar(campaign.id, process.stderr);
      const isEveryBit = values['every-bit'];
      const options = { drivers, seed, size: sizeOf(campaign), fileSystems, isEveryBit, scratch };
      reports.push(await campaign.run({ ...options, onProgress: (...at) => bar.show(...at) }));
      bar.end();
    }
  } finally {
    // What went wrong with ours is kept for whoever wants to look.
    if (isBroken(reports)) console.error(`Kept: ${scratch}`);
    else rmSync(scratch, { recursive: true, force: true });
  }
  const command = ['npm run lab --', ...process.argv.slice(2)].join(' ');
  const about = {
    date: startedAt.toISOString().slice(0, 10),
    command,
    machine: machine(),
    versions: versionsOf(drivers),
  };
  return { ...about, campaigns: reports };
}

async function main(): Promise<void> {
  const { values, positionals } = parsed();
  if (values.help) {
    console.log(help());
    return;
  }
  const report = values.merge ? mergeFiles(positionals) : await runAll(values, positionals);
  const text = markdown(report);
  console.log(values.json ? JSON.stringify(report, null, 2) : text);
  const folder = values.out ?? (values.only === undefined && !values.short ? RESULTS.pathname : null);
  if (folder !== null) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'lab.md'), text);
    writeFileSync(join(folder, 'lab.json'), `${JSON.stringify(report, null, 2)}\n`);
    writeFileSync(join(folder, 'lab.svg'), picture(report));
    console.error(`Written to ${folder}`);
  }
  if (values.readme) fillPages(report);
  if (isBroken(report.campaigns)) process.exitCode = 1;
}

const PAGES = ['README.md', 'docs/durability.md'];
const PLACE = /(<!-- lab -->\n)[\s\S]*(<!-- end of lab -->)/;

function fillPages({ campaigns, date, machine, versions }: LabReport): void {
  const used = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const about = `${date}, ${machine}. ${used.join(', ')}. The commands that made it: bench/results/lab/lab.md.`;
  const block = [...overview(campaigns), '', about, ''].join('\n');
  for (const page of PAGES) {
    const path = new URL(`../../../${page}`, import.meta.url);
    const text = readFileSync(path, 'utf8');
    if (!PLACE.test(text)) throw new Error(`${path.pathname} has no place for it: <!-- lab --> … <!-- end of lab -->`);
    writeFileSync(
      path,
      text.replace(PLACE, (_, begin: string, end: string) => `${begin}\n${block}\n${end}`),
    );
  }
}

/** Ours is to keep what it promises; what others do is for the table. */
function isBroken(campaigns: readonly CampaignReport[]): boolean {
  return campaigns.some(({ campaign, rows }) =>
    rows.some((row) => row.driver.startsWith('holdfast') && !keepsPromise(driverOf(row.driver), row, campaign)),
  );
}

main().catch((error: unknown) => {
  const isMisuse = error instanceof TypeError;
  console.error(isMisuse ? `${error.message}. See --help.` : error);
  process.exitCode = isMisuse ? 2 : 1;
});
