// What was asked for on the command line. What cannot be understood is a TypeError of one line.

import { parseArgs } from 'node:util';
import { driverOf, RIVALS } from './drivers/index.js';
import { inWords } from './lab/progress.js';

const SOAK_S = { full: 30, quick: 3 } as const;

const OPTIONS = {
  help: { type: 'boolean', short: 'h', default: false },
  quick: { type: 'boolean', default: false },
  only: { type: 'string' },
  rivals: { type: 'string' },
  soak: { type: 'string' },
  json: { type: 'boolean', default: false },
  out: { type: 'string' },
  readme: { type: 'boolean', default: false },
  report: { type: 'boolean', default: false },
  compare: { type: 'boolean', default: false },
} as const;

export interface RunCommand {
  kind: 'run';
  isQuick: boolean;
  /** Ids of questions, in their order. */
  questions: readonly string[];
  rivals: readonly string[];
  soakS: number;
  isJson: boolean;
  /** Null: what was found is only printed. */
  out: string | null;
  fillsReadme: boolean;
}

export type Command =
  | { kind: 'help' }
  | RunCommand
  /** Makes pages and pictures anew from results that are there. */
  | { kind: 'report'; out: string; fillsReadme: boolean }
  | { kind: 'compare'; before: string; after: string; isJson: boolean };

export function parseArguments(args: readonly string[], questions: readonly string[], results: string): Command {
  const { values, positionals } = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  if (values.help) return { kind: 'help' };
  if (values.compare) {
    const [before, after, ...more] = positionals;
    if (before === undefined || after === undefined || more.length > 0)
      throw new TypeError(`Expected two files or folders of results after --compare, got ${positionals.length}`);
    return { kind: 'compare', before, after, isJson: values.json };
  }
  if (positionals.length > 0) throw new TypeError(`Expected only options, got '${positionals[0]}'`);
  if (values.report) return { kind: 'report', out: values.out ?? results, fillsReadme: values.readme };
  const isWhole = !values.quick && values.rivals === undefined;
  return {
    kind: 'run',
    isQuick: values.quick,
    questions: chosen(values.only, questions, '--only'),
    rivals: chosen(
      values.rivals,
      RIVALS.map(({ id }) => id),
      '--rivals',
    ),
    soakS: values.soak === undefined ? SOAK_S[values.quick ? 'quick' : 'full'] : seconds(values.soak),
    isJson: values.json,
    // What is rough or has gaps does not take the place of what is whole unless somebody says so.
    out: values.out ?? (isWhole ? results : null),
    fillsReadme: values.readme,
  };
}

function chosen(text: string | undefined, known: readonly string[], name: string): readonly string[] {
  if (text === undefined) return known;
  const wanted = text.split(',').filter((one) => one !== '');
  const unknown = wanted.find((one) => !known.includes(one));
  if (unknown !== undefined) throw new TypeError(`Expected ${name} of ${known.join(', ')}, got '${unknown}'`);
  if (wanted.length === 0) throw new TypeError(`Expected ${name} of ${known.join(', ')}, got nothing`);
  return known.filter((one) => wanted.includes(one));
}

function seconds(text: string): number {
  const value = Number(text);
  if (!(value >= 1 && Number.isFinite(value))) throw new TypeError(`Expected --soak ≥ 1 second, got '${text}'`);
  return value;
}

export function help(questions: readonly { id: string; title: string }[]): string {
  const line = (left: string, right: string) => `  ${left.padEnd(30)}${right}`;
  return [
    'npm run bench -- [options]',
    '',
    ...questions.map(({ id, title }) => line(id, title)),
    '',
    line('--quick', 'all of it roughly, in under three minutes'),
    line('--only q1,q2', 'only these questions'),
    line('--rivals a,b', 'only these beside holdfast'),
    line(
      '--soak seconds',
      `how long memory is watched; 3600 is an hour (${inWords(SOAK_S.full)}; quick ${inWords(SOAK_S.quick)})`,
    ),
    line('--json', 'print the results as JSON instead of tables'),
    line(
      '--out folder',
      'where to write results, page and charts: bench/results unless it is quick or rivals are left out',
    ),
    line('--readme', 'put the table into README.md too'),
    line('--report', 'measure nothing: page and charts anew, from the results that are there'),
    line('--compare a.json b.json', 'ratios of b to a with noise bounds; folders of results will do too'),
    '',
    'Rivals:',
    ...RIVALS.map(({ id }) => line(id, driverOf(id).how)),
  ].join('\n');
}
