// Parts of one run: long campaigns are run side by side, or one after the other on different days.

import { type CampaignReport, type LabReport, notChosen } from './report.js';

/** Rows of the same campaign, subject and condition may not come twice: whose are they? */
export function merged(
  parts: readonly LabReport[],
  order: { subjects: readonly string[]; campaigns: readonly string[] },
): LabReport {
  const [first] = parts;
  if (first === undefined) throw new TypeError('Expected at least one report to merge');
  const byId = new Map<string, CampaignReport>();
  for (const campaign of parts.flatMap(({ campaigns }) => campaigns)) {
    const known = byId.get(campaign.campaign);
    byId.set(campaign.campaign, known === undefined ? campaign : joined(known, campaign));
  }
  const machines = new Set(parts.map(({ machine }) => machine));
  if (machines.size > 1) throw new TypeError(`Expected parts of one machine, got ${[...machines].join('; ')}`);
  const all = [...byId.values()].sort(by(order.campaigns, ({ campaign }) => campaign));
  const campaigns = all.map(({ rows, skipped, ...rest }) => ({
    ...rest,
    rows: rows.toSorted(by(order.subjects, ({ driver }) => driver)),
    // What one part did not do another may have done.
    skipped: skipped.filter((why) => !rows.some(({ condition }) => why === notChosen(condition))),
  }));
  return {
    date: parts.map(({ date }) => date).sort()[0] as string,
    command: parts.map(({ command }) => command).join('`, `'),
    machine: first.machine,
    versions: Object.assign({}, ...parts.map(({ versions }) => versions)) as Record<string, string>,
    campaigns,
  };
}

function by<T>(order: readonly string[], idOf: (one: T) => string): (a: T, b: T) => number {
  return (a, b) => order.indexOf(idOf(a)) - order.indexOf(idOf(b));
}

function joined(one: CampaignReport, other: CampaignReport): CampaignReport {
  const keys = new Set(one.rows.map(({ driver, condition }) => `${driver}/${condition}`));
  const twice = other.rows.find(({ driver, condition }) => keys.has(`${driver}/${condition}`));
  if (twice !== undefined) throw new TypeError(`${one.campaign} of ${twice.driver} is in two parts`);
  const controls = [...(one.controls ?? []), ...(other.controls ?? [])];
  const distinct = controls.filter(({ what }, at) => controls.findIndex((each) => each.what === what) === at);
  return {
    ...one,
    rows: [...one.rows, ...other.rows],
    skipped: [...new Set([...one.skipped, ...other.skipped])],
    ...(distinct.length > 0 && { controls: distinct }),
  };
}
