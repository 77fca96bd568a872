// `holdfast repair`: what is wrong, what is lost, what will be kept; then does it.

import { commandLine } from '../../command-line.js';
import { pathOf } from '../../mend/home.js';
import { isWhole, type Kept, type Leftover, planRepair, type RepairPlan } from '../../mend/plan.js';
import { repair as mend, type Repaired } from '../../mend/repair.js';
import { type Command, EXIT } from '../command.js';
import { shownPath } from '../shown.js';
import type { Terminal } from '../terminal.js';
import { isConfirmed, sayKept, TAKEOVER, takeWords, YES } from '../writing.js';

export const repair: Command = {
  name: 'repair',
  usage: 'DIR|FILE',
  summary: 'Says what is damaged, lost and kept; then makes the store one that opens',
  options: { ...YES, ...TAKEOVER },
  examples: [
    ['holdfast repair .agent', 'Shows what would be done and asks. In a pipe it only shows it.'],
    ['holdfast repair .agent --yes', 'Does it. What is damaged is kept in quarantine.'],
    ['holdfast repair state.json', 'The document of openDoc, or the loop, whose file this is.'],
  ],
  run: async (words, terminal) => {
    const [path = ''] = takeWords(words, 'DIR');
    const plan = await planRepair(path);
    if (isWhole(plan)) {
      terminal.line(`${terminal.paint('green', 'sound')}  ${shownPath(path)}: there is nothing to repair.`);
      return EXIT.sound;
    }
    sayPlan(terminal, path, plan);
    if (!canHelp(plan)) return isHarmless(plan) ? EXIT.sound : EXIT.damaged;
    terminal.line();
    if (!(await isConfirmed(terminal, words))) return isHarmless(plan) ? EXIT.sound : EXIT.damaged;
    const done = await mend(path, { takeover: words.values.takeover === true });
    sayDone(terminal, plan, done);
    return done.unreadable.length > 0 ? EXIT.damaged : EXIT.sound;
  },
};

/** Nothing that was saved is in danger: the next program that opens the store does the same without being asked. */
function isHarmless({ damage, files }: RepairPlan): boolean {
  return damage === null && files.every(({ kind }) => kind !== 'unknown');
}

/** False when everything that is wrong is for a person to decide. */
function canHelp({ damage, leftovers, files }: RepairPlan): boolean {
  const isOurs = (file: RepairPlan['files'][number]) =>
    file.kind === 'unknown' ? file.backup !== null : file.kind !== 'drifted' && file.kind !== 'ahead';
  return damage !== null || leftovers.length > 0 || files.some(isOurs);
}

function sayPlan(terminal: Terminal, path: string, plan: RepairPlan): void {
  const { paint } = terminal;
  const store = shownPath(path);
  const { damage, keeps, leftovers, files, directory } = plan;
  if (damage !== null) {
    terminal.line(`${paint('red', 'damaged')}  ${store}`);
    for (const problem of damage.problems) terminal.line(`  ${problem}`);
    if (damage.lost !== null) {
      const { from, to } = damage.lost;
      const which =
        from === to ? `commit ${from}` : `commits ${from} to ${to} (${(to - from + 1).toLocaleString('en')})`;
      terminal.line(`  broken: ${which}; what can still be used of them is counted below`);
    }
    terminal.line(`  everything up to commit ${damage.soundSeq} is whole`);
    terminal.line();
    terminal.line(paint('bold', 'Will be kept'));
    if (keeps.length === 0) terminal.line('  nothing: the store will be empty');
    const width = Math.max(...keeps.map(({ name }) => name.length));
    for (const one of keeps) terminal.line(`  ${one.name.padEnd(width)}  ${keptText(terminal, one)}`);
    terminal.line();
    terminal.line('Every file of the damaged journal goes to quarantine; a new one begins with what is kept.');
  } else
    terminal.line(
      `${paint('yellow', canHelp(plan) ? 'to mend' : 'to decide')}  ${store}: nothing that was saved is lost`,
    );
  for (const leftover of leftovers) terminal.line(`  ${leftoverText(leftover)}`);
  for (const file of files) terminal.line(`  ${fileText(directory, file)}`);
}

function keptText({ paint }: Terminal, { kind, version, knownVersion, lostEntries }: Kept): string {
  if (version === 0) return paint('red', 'nothing of it can be read');
  const gaps = lostEntries > 0 ? paint('red', `, ${lostEntries.toLocaleString('en')} in between are lost`) : '';
  if (kind === 'log') return `entries: ${version.toLocaleString('en')} of ${knownVersion.toLocaleString('en')}${gaps}`;
  return version === knownVersion
    ? `version ${version}, the newest`
    : `version ${version} of ${paint('yellow', `${knownVersion}`)}`;
}

function leftoverText(leftover: Leftover): string {
  switch (leftover.kind) {
    case 'cut':
      return `${leftover.file} from byte ${leftover.offset}: a crash cut off what was never acknowledged; goes to quarantine`;
    case 'base-damaged':
      return `${leftover.file} is damaged: the older base and the tails have everything; goes to quarantine`;
    case 'fenced':
      return `${leftover.file} is of a process that had lost the store, and acknowledged nothing; goes to quarantine`;
    default:
      return leftover satisfies never;
  }
}

function fileText(home: string, file: RepairPlan['files'][number]): string {
  const path = shownPath(file.path);
  switch (file.kind) {
    case 'missing':
      return `${path} is missing: written anew from what is saved`;
    case 'empty':
      return `${path} is empty: written anew from what is saved`;
    case 'unparseable':
      return `${path} is cut or damaged: written anew from what is saved, and kept in quarantine`;
    case 'refused':
      return `${path} holds neither an object nor an array: written anew from what is saved, and kept in quarantine`;
    case 'ahead':
      return `${path} holds version ${file.version}, which is more than can be kept: it stays.${choices(home, file.name)}`;
    case 'drifted':
      return `${path} was changed by somebody else: it stays.${choices(home, file.name)}`;
    case 'unknown':
      return file.backup === null
        ? `${path} cannot be read, nothing of it is saved, and it has no backup: mend it, or move it away`
        : `${path} cannot be read, and nothing of it is saved: ${shownPath(file.backup)} takes its place`;
    default:
      return file satisfies never;
  }
}

function choices(home: string, name: string): string {
  const adopt = commandLine('adopt', shownPath(home), name);
  const restore = commandLine('restore', shownPath(home), name, '--to saved');
  return `\n    to take it over:   ${adopt}\n    to write it anew:  ${restore}`;
}

function sayDone(terminal: Terminal, { directory, files }: RepairPlan, done: Repaired): void {
  terminal.line(`${terminal.paint('green', 'repaired')}  ${shownPath(pathOf(directory))} opens again.`);
  for (const { name, backup } of done.putBack) terminal.line(`  ${name} is as in ${shownPath(backup)}`);
  for (const { name, path } of done.drifted) {
    const ahead = files.find((file) => file.name === name && file.kind === 'ahead');
    terminal.line(`  ${fileText(directory, ahead ?? { kind: 'drifted', name, path })}`);
  }
  for (const file of done.unreadable) terminal.line(`  ${fileText(directory, file)}`);
  sayKept(terminal, done.kept);
}
