// The report as a page: one table of everything, then each campaign by condition.

import { driverOf, SUBJECTS } from './drivers/index.js';
import {
  type CampaignReport,
  isRefusalRight,
  type LabReport,
  labelsOf,
  type Outcome,
  type Row,
  summed,
} from './report.js';

export function markdown(report: LabReport): string {
  const { date, command, machine, versions, campaigns } = report;
  const used = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return [
    '# What survives',
    '',
    `${date}, ${machine}. Made by \`${command}\`.`,
    ...(used.length > 0 ? ['', `Versions: ${used.join(', ')}.`] : []),
    '',
    ...overview(campaigns),
    '',
    ...campaigns.flatMap(details),
    '## How each one was used',
    '',
    '| subject | promises | |',
    '|---|---|---|',
    ...driversIn(campaigns).map((id) => {
      const { name, promised, how } = driverOf(id);
      return `| ${name} | ${promised} | ${how} |`;
    }),
    '',
  ].join('\n');
}

/** The one table that goes into the README. */
export function overview(campaigns: readonly CampaignReport[]): string[] {
  const ran = campaigns.filter(({ rows }) => rows.length > 0);
  return [
    '✓: how often it was tried, and always right. Else: *lost*, a whole state that is older than what was acknowledged; *gone*,',
    'nothing is there; *damaged*, it cannot be read; *wrong*, a state that was never saved is given without a word. In bit-rot a',
    'refusal is right, and lost means an old state without a word. In exit, lost is only the last save, which nobody had waited',
    'for. Who promises less is not broken by losing what it did not promise.',
    '',
    `| | promises | ${ran.map(({ campaign }) => campaign).join(' | ')} |`,
    `|---|---|${'---|'.repeat(ran.length)}`,
    ...driversIn(ran).map((id) => {
      const { name, promised } = driverOf(id);
      return `| ${name} | ${promised} | ${ran.map((one) => cell(one, id)).join(' | ')} |`;
    }),
  ];
}

/** Right every time: how often. Else what went wrong how often. To refuse what rotted is right. */
function cell({ campaign, rows }: CampaignReport, driver: string): string {
  const own = rows.filter((row) => row.driver === driver);
  if (own.length === 0) return '–';
  const { trials, outcomes } = summed(own);
  const bad = BRIEF.filter(([kind]) => outcomes[kind] > 0 && !(kind === 'damaged' && isRefusalRight(campaign)));
  if (bad.length === 0) return `✓ ${number(trials)}`;
  return `${bad.map(([kind, name]) => `${number(outcomes[kind])} ${name}`).join(', ')} of ${number(trials)}`;
}

const BRIEF: readonly [Outcome, string][] = [
  ['lost', 'lost'],
  ['missing', 'gone'],
  ['damaged', 'damaged'],
  ['wrong', 'wrong'],
];

function details({ campaign, what, rows, skipped, controls = [] }: CampaignReport): string[] {
  const labels = labelsOf(campaign);
  const kinds = Object.keys(labels) as Outcome[];
  const line = (row: Row) => {
    const counts = kinds.map((kind) => {
      const saves = kind === 'lost' && row.savesLost > 0 ? ` (${number(row.savesLost)} saves)` : '';
      return `${number(row.outcomes[kind])}${saves}`;
    });
    return `| ${driverOf(row.driver).name} | ${row.condition} | ${number(row.trials)} | ${counts.join(' | ')} |`;
  };
  const table =
    rows.length === 0
      ? []
      : [
          `| | | trials | ${kinds.map((kind) => labels[kind]).join(' | ')} |`,
          `|---|---|${'---:|'.repeat(kinds.length + 1)}`,
          ...rows.map(line),
          '',
        ];
  const checks = controls.map((one) => `| ${one.what} | ${one.expected} | ${one.seen} |`);
  const controlTable = checks.length === 0 ? [] : ['| control | must show | showed |', '|---|---|---|', ...checks, ''];
  const notes = skipped.map((why) => `Not done: ${why}.`);
  return [`## ${campaign}`, '', what, '', ...table, ...controlTable, ...(notes.length > 0 ? [...notes, ''] : [])];
}

/** In the order of the tables. */
export function driversIn(campaigns: readonly CampaignReport[]): string[] {
  const there = new Set(campaigns.flatMap(({ rows }) => rows.map(({ driver }) => driver)));
  return SUBJECTS.map(({ id }) => id).filter((id) => there.has(id));
}

export function number(value: number): string {
  return value.toLocaleString('en');
}
